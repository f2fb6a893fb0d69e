"""Jobs in namespaces: what is hidden from them, and that it stays so."""

import asyncio
import os
import pwd
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from typer.testing import CliRunner

from cli.installation import runner
from files.process_start import process_start
from fleet.client import RunnerClient
from fleet.executors import namespaces
from fleet.executors.hidden_folders import HiddenFolders
from fleet.executors.process import Command, Group, run_command
from fleet.executors.workspace import Slot
from fleet.job import read_job
from fleet.job_run import JobRun
from fleet.state import JobStore
from tests.fleet.conftest import LIMITS
from tests.fleet.job_users import OTHER, needs_namespaces, needs_root, other_user
from tests.fleet.jobs import archive, payload
from tests.fleet.server import ProtocolServer
from tests.waiting import comes_true

pytestmark = needs_namespaces
Run = Callable[[dict[str, Any]], Awaitable[None]]
PYTHON = Path("/usr/bin/python3")
"""An interpreter that everybody may start."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The folder of a server with a secret, and with the folders of jobs in it."""
    home = tmp_path / "home"
    (home / "runner" / "builds").mkdir(parents=True)
    (home / "secret").write_text("of the server")
    return home


@pytest.fixture
def rights(home: Path) -> HiddenFolders:
    return HiddenFolders((home,), (home / "runner" / "builds",))


@pytest.fixture
def run_job(client: RunnerClient, store: JobStore, home: Path, rights: HiddenFolders) -> Run:
    async def run(job: dict[str, Any]) -> None:
        slot = Slot(home / "runner" / "builds", "abcdefghi", 0, rights=rights)
        await JobRun(read_job(job), slot, client, store, LIMITS).run()

    return run


async def test_a_job_finds_no_way_to_what_is_hidden(server: ProtocolServer, run_job: Run, home: Path) -> None:
    up = "/".join([".."] * 5)
    ways = [
        f"cat {home}/secret",
        f"cat {up}/secret",
        f"ls -A {home} | grep -v '^runner$'",
        f"umount {home}",
        f"umount -l {home}",
        f"unshare -Urm umount {home}",
        f"unshare -Urm mount --bind /proc/self/cwd/{up} /mnt && cat /mnt/secret",
        f"touch {home}/new",
        f"kill -0 {os.getpid()}",
        f"cat /proc/{os.getpid()}/environ",
    ]
    alone = "test $(ls -d /proc/[0-9]* | wc -l) -lt 8 && echo alone"
    await run_job(payload([*(f"if {way}; then echo FOUND $LINENO; fi" for way in ways), alone, "touch mine"]))
    log = server.logs[1].decode()
    assert server.finals[1]["state"] == "success"
    assert "\nFOUND" not in log
    assert "of the server" not in log
    assert "\nalone\n" in log
    assert sorted(await asyncio.to_thread(os.listdir, home)) == ["runner", "secret"]


async def test_links_of_a_job_lead_the_runner_nowhere(server: ProtocolServer, run_job: Run, home: Path) -> None:
    script = [
        f"ln -s {home} folder",
        f"ln -s {home}/secret link",
        f"ln -sf {home}/secret $RUNNER_TEMP_PROJECT_DIR/step_after_script.sh",
        f"ln -sf {home}/secret $RUNNER_TEMP_PROJECT_DIR/artifacts-0",
    ]
    asked = [archive("link", "folder/secret", artifact_type="dotenv", artifact_format="gzip"), archive("folder/*")]
    await run_job(payload(script, after_script=["echo after"], artifacts=asked))
    assert b"after\n" in server.logs[1]
    assert await asyncio.to_thread((home / "secret").read_text) == "of the server"
    assert all(b"of the server" not in upload.content for upload in server.uploads[1])


@pytest.mark.parametrize(("command", "status"), [("exit 7", 7), ("kill -TERM $$", 143), ("kill -KILL $$", 137)])
async def test_it_ends_as_the_command_ends(rights: HiddenFolders, tmp_path: Path, command: str, status: int) -> None:
    lines = bytearray()
    ran = Command(("sh", "-c", f"pwd; {command}"), tmp_path, {"PATH": os.environ["PATH"]}, rights)
    assert await run_command(ran, lines.extend, lambda _: None) == status
    assert lines == f"{tmp_path}\n".encode()


async def test_what_hides_has_nothing_of_the_environment_of_the_job(rights: HiddenFolders, tmp_path: Path) -> None:
    """`LD_PRELOAD` there would run before anything is hidden."""
    groups: list[Group] = []
    lines = bytearray()
    environment = {"PATH": os.environ["PATH"], "LD_PRELOAD": "", "OF_THE_JOB": "x=y"}
    script = "echo $OF_THE_JOB; tr '\\0' ' ' < /proc/1/environ; echo; sleep 1000"
    ran = Command(("sh", "-c", script), tmp_path, environment, rights)
    task = asyncio.create_task(run_command(ran, lines.extend, groups.append))
    await comes_true(lambda: lines.count(b"\n") == 2)
    of_the_job, of_the_first = lines.decode().splitlines()
    assert of_the_job == "x=y"
    assert not {"PATH", "LD_PRELOAD", "OF_THE_JOB"} & {word.partition("=")[0] for word in of_the_first.split()}
    assert not environment.keys() & psutil.Process(groups[0].id).environ().keys()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_nothing_of_it_outlives_what_started_it(rights: HiddenFolders, tmp_path: Path) -> None:
    groups: list[Group] = []
    ran = Command(("sh", "-c", "setsid sleep 1000 & sleep 1000"), tmp_path, {"PATH": os.environ["PATH"]}, rights)
    task = asyncio.create_task(run_command(ran, lambda _: None, groups.append))
    await comes_true(lambda: bool(groups))
    outer = psutil.Process(groups[0].id)
    await comes_true(lambda: [process.name() for process in outer.children(recursive=True)].count("sleep") == 2)
    inner = outer.children(recursive=True)
    outer.kill()
    await comes_true(lambda: not any(process_start(process.pid) for process in inner))
    assert await task == -9


@needs_root
@pytest.mark.skipif(not PYTHON.exists(), reason="there is no interpreter here that another user can start")
def test_an_ordinary_user_needs_no_rights_for_it() -> None:
    with other_user() as user:
        home, script = user.home / "home", user.home / "namespaces.py"
        subprocess.run(["install", "-d", "-o", OTHER, home, home / "builds"], check=True)
        (home / "secret").write_text("of the server")
        script.write_bytes(Path(namespaces.__file__).read_bytes())
        places = ["--hide", str(home), "--show", str(home / "builds"), "--environment", "0"]
        inner = ["/bin/sh", "-c", "id -u; ls -A ..; touch made; umount .."]
        ran = subprocess.run(
            [PYTHON, "-I", "-S", str(script), *places, "--", *inner],
            input=b"PATH=/usr/bin:/bin\0",
            capture_output=True,
            check=False,
            cwd=home / "builds",
            user=OTHER,
            group=user.gid,
            extra_groups=[],
        )
        assert ran.stdout.decode() == f"{pwd.getpwnam(OTHER).pw_uid}\nbuilds\n", ran.stderr
        assert ran.returncode == 32  # of `umount`
        assert (home / "builds" / "made").stat().st_uid == user.uid


def test_what_cannot_be_entered_says_why(tmp_path: Path) -> None:
    words = ["--hide", str(tmp_path / "none"), "--environment", "0", "--", "/bin/true"]
    command = [sys.executable, "-I", "-S", namespaces.__file__, *words]
    ran = subprocess.run(command, input="", capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (126, f"[Errno 2] mount on {tmp_path}/none: No such file or directory\n")


def test_a_runner_takes_one_of_both_ways(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text('[[runners]]\nurl = "http://127.0.0.1:1"\ntoken = "glrt-abcdefghi"\n')
    words = ["run", "--config", str(config), "--user", OTHER, "--hide", str(tmp_path)]
    result = CliRunner().invoke(runner.app, words)
    assert (result.exit_code, "Give --user or --hide" in result.stderr) == (2, True)
