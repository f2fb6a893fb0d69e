"""Jobs that run as another user: what they may not read, and what the runner does not do for them."""

import asyncio
import os
import signal
import stat
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from typer.testing import CliRunner

from cli.installation import runner
from domain.errors import Invalid, NotFound, Refused, Unavailable
from fleet.client import RunnerClient
from fleet.executors.files import make_place, new_file
from fleet.executors.hands import Hands
from fleet.executors.job_user import JobUser
from fleet.executors.workspace import Slot
from fleet.job import read_job
from fleet.job_run import JobRun
from fleet.state import JobStore
from tests.fleet.conftest import LIMITS
from tests.fleet.job_users import OTHER, needs_root, other_user
from tests.fleet.jobs import archive, payload
from tests.fleet.runner_process import ROOT
from tests.fleet.server import ProtocolServer
from tests.waiting import comes_true

pytestmark = needs_root

Run = Callable[[dict[str, Any]], Awaitable[None]]


@pytest.fixture
def user() -> Iterator[JobUser]:
    with other_user() as found:
        yield found


@pytest.fixture
async def hands(user: JobUser) -> AsyncIterator[Hands]:
    opened = Hands(user)
    yield opened
    opened.close()


@pytest.fixture
def secret() -> Iterator[Path]:
    """What only the user of the tests can read, in a folder that anybody may enter."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # pytest's own folders are closed to others
        Path(folder).chmod(0o755)
        path = Path(folder) / "secret"
        path.touch(0o600)
        path.write_text("of the server")
        yield path


def is_untouched(secret: Path) -> bool:
    found = secret.stat()
    return (secret.read_text(), found.st_uid, stat.S_IMODE(found.st_mode)) == ("of the server", os.geteuid(), 0o600)


@pytest.fixture
def run_as_other(client: RunnerClient, store: JobStore, user: JobUser) -> Run:
    async def run(job: dict[str, Any]) -> None:
        slot = Slot(user.home / "builds", "abcdefghi", 0, rights=user)
        await JobRun(read_job(job), slot, client, store, LIMITS).run()

    return run


def log(server: ProtocolServer) -> str:
    return server.logs[1].decode()


async def test_a_job_is_the_user_in_every_way(server: ProtocolServer, run_as_other: Run, user: JobUser) -> None:
    script = [
        'echo "I am $(id -un):$(id -g):$(id -G) $USER $LOGNAME $HOME"',
        "umask",
        "touch made",
        "stat -c %U:%a made",
    ]
    await run_as_other(payload(script))
    home = f"{user.home}/builds/abcdefghi/0/"
    assert f"I am {OTHER}:{user.gid}:{user.gid} {OTHER} {OTHER} {home}" in log(server)
    assert "\n0022\n" in log(server)
    assert f"\n{OTHER}:644\n" in log(server)
    assert server.finals[1]["state"] == "success"


async def test_a_job_reads_neither_files_nor_the_environment_of_its_runner(
    server: ProtocolServer, run_as_other: Run, secret: Path, store: JobStore
) -> None:
    places = [secret, f"/proc/{os.getpid()}/environ", f"/proc/{os.getpid()}/mem", store.jobs, store.logs]
    reads = [f"if head -c 1 {place} || ls {place}/; then echo READ {place}; fi" for place in places]
    await run_as_other(payload([*reads, f"kill -0 {os.getpid()} || echo not mine to end", "echo tried"]))
    assert "tried\n" in log(server)
    assert "\nnot mine to end\n" in log(server)
    assert "\nREAD" not in log(server)


async def test_links_of_a_job_lead_the_runner_nowhere(server: ProtocolServer, run_as_other: Run, secret: Path) -> None:
    job = payload(
        [
            f"ln -s {secret} link",
            f"ln -s {secret.parent} folder",
            f"ln -sf {secret} $RUNNER_TEMP_PROJECT_DIR/step_after_script.sh",
            *(f"ln -sf {secret} $RUNNER_TEMP_PROJECT_DIR/artifacts-{number}" for number in range(3)),
        ],
        after_script=["echo after"],
        artifacts=[
            archive("link", artifact_type="dotenv", artifact_format="gzip"),
            archive("folder/secret", artifact_type="metrics", artifact_format="raw"),
            archive("folder/secret", "folder/*"),
        ],
    )
    await run_as_other(job)
    assert "after\n" in log(server)
    assert is_untouched(secret)
    assert all(b"of the server" not in upload.content for upload in server.uploads[1])


async def test_what_takes_the_place_of_a_file_is_not_opened(hands: Hands, user: JobUser, secret: Path) -> None:
    place = user.home / "file"
    await hands.do(new_file, place, "made")
    with hands.open(place, os.O_RDONLY) as opened:
        assert opened.read() == b"made"
    await hands.do(place.unlink)
    await hands.do(place.symlink_to, secret)
    with pytest.raises(OSError, match="symbolic links"):
        hands.open(place, os.O_WRONLY | os.O_TRUNC)
    await hands.do(place.unlink)
    os.link(secret, place)
    with pytest.raises(Invalid, match="something else in its place"):
        hands.open(place, os.O_RDONLY)
    place.unlink()
    await hands.do(os.mkfifo, place)
    with pytest.raises(Invalid, match="something else in its place"):
        hands.open(place, os.O_RDONLY)
    assert is_untouched(secret)


async def test_hands_that_a_job_ends_are_others_the_next_time(hands: Hands, user: JobUser) -> None:
    first = await hands.do(os.getpid)
    assert psutil.Process(first).uids() == (user.uid,) * 3
    assert psutil.Process(first).gids() == (user.gid,) * 3
    os.kill(first, signal.SIGKILL)
    await comes_true(lambda: not psutil.pid_exists(first))
    assert await hands.do(os.getpid) != first
    with pytest.raises(Unavailable, match="does the job kill processes"):
        await hands.do(os.abort)
    assert await hands.do(os.geteuid) == user.uid


async def test_hands_have_no_way_back(hands: Hands) -> None:
    for attempt in (os.setuid, os.setgid):
        with pytest.raises(PermissionError):
            await hands.do(attempt, 0)
    with pytest.raises(PermissionError):
        await hands.do(os.setgroups, [0])


async def test_a_place_that_the_user_cannot_reach_is_refused(hands: Hands, secret: Path) -> None:
    with pytest.raises(Refused, match=f"{OTHER} cannot write in .*builds.*--builds-dir"):
        await hands.do(make_place, secret.parent / "builds", OTHER)


def test_who_jobs_cannot_run_as(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotFound, match="no user 'no such user'"):
        JobUser.named("no such user")
    with pytest.raises(Refused, match="it is root"):
        JobUser.named("root")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(Refused, match="Only root can run jobs as"):
        JobUser.named(OTHER)


def test_a_runner_says_at_its_start_that_there_is_no_such_user(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text('[[runners]]\nurl = "http://127.0.0.1:1"\ntoken = "glrt-abcdefghi"\n')
    result = CliRunner().invoke(runner.app, ["run", "--config", str(config), "--user", "no such user"])
    assert result.exit_code == 3
    assert "no such user" in result.stderr


async def test_nothing_is_left_of_a_killed_runner(server: ProtocolServer, tmp_path: Path, user: JobUser) -> None:
    config, builds = tmp_path / "config.toml", user.home / "builds"
    config.write_text(f'check_interval = 0.05\n[[runners]]\nurl = "{server.url}"\ntoken = "glrt-abcdefghijk"\n')
    arguments = ["run", "--config", str(config), "--user", OTHER, "--builds-dir", str(builds)]

    async def start() -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable, "-c", "from cli.installation.runner import app; app()", *arguments, cwd=ROOT
        )

    script = ["setsid sleep 1000 & echo $! > pid", "touch from-the-job; echo before; sleep 1000"]
    server.queue.append(payload(script))
    first = await start()
    await server.until(lambda: b"before\n" in server.logs[1])
    processes = psutil.Process(first.pid).children(recursive=True)
    assert {process.uids().real for process in processes} == {0, user.uid}
    hands = [process for process in processes if process.uids().real == user.uid and "python" in process.name()]
    assert len(hands) == 1
    first.kill()
    await first.wait()
    await comes_true(lambda: not any(process.is_running() for process in hands))

    second = await start()
    await server.until(lambda: 1 in server.finals)
    await comes_true(lambda: not any(process.is_running() for process in processes))
    (made,) = builds.rglob("from-the-job")
    assert (made.stat().st_uid, stat.S_IMODE(made.stat().st_mode)) == (user.uid, 0o644)
    sleeper = int(made.with_name("pid").read_text())
    assert not psutil.pid_exists(sleeper)
    second.send_signal(signal.SIGTERM)
    assert await asyncio.wait_for(second.wait(), 20) == 0
