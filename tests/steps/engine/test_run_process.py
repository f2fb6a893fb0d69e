"""The process of a run, as it is started: what it notes, and what it leaves behind."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

from domain.steps.runs import RunRequest, RunState, RunStatus, Variable
from steps.engine.run_folder import RunFolder
from tests.steps.marked_processes import marked
from tests.waiting import eventually

ROOT = Path(__file__).resolve().parents[3]
STUBBORN = (
    "import os, signal, sys, time\n"
    "if os.fork(): os._exit(0)\n"
    "os.setsid()\n"
    "if os.fork(): os._exit(0)\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "open(sys.argv[1], 'w').write(str(os.getpid()))\n"
    "time.sleep(600)\n"
)
"""Leaves its group, its session and its parent, and does not end when it is asked to."""


@dataclass
class Running:
    """A run and its process."""

    folder: RunFolder
    work_dir: Path
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, **request: Any) -> subprocess.Popen[bytes]:
        """Begin with a run, or start one more process for it."""
        self.folder.create(RunRequest(self.folder.path.name, str(self.work_dir), **{"grace": 0.2, **request}))
        command = [sys.executable, "-m", "steps.engine.run_process", str(self.folder.path)]
        self.processes.append(subprocess.Popen(command, cwd=ROOT))
        return self.processes[-1]

    def ended(self, **request: Any) -> RunState:
        """Run to the end."""
        assert self.start(**request).wait(30) == 0
        return self.folder.state()

    def log(self, name: str = "stdout") -> str:
        """What was written."""
        return (self.folder.path / name).read_text()

    def left(self) -> list[psutil.Process]:
        """Processes of the run, wherever they are."""
        return marked(self.folder.path)

    async def has(self, name: str) -> str:
        """What a file of the job says, once it is there."""

        async def written() -> str:
            path = self.work_dir / name
            return path.read_text() if path.is_file() else ""

        return await eventually(written, f"{name} is written")


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    found = Running(RunFolder(tmp_path / "state/runs/r1"), tmp_path / "build")
    yield found
    for process in found.processes:
        process.kill()
        process.wait()
    for left in found.left():
        with suppress(psutil.NoSuchProcess):
            left.kill()


def test_a_run_notes_all_that_became_of_it(running: Running) -> None:
    calls = "[{name: a, script: 'echo out; echo err >&2'}, {name: b, script: 'cat $FILE; echo ${{ vars.V }}'}]"
    variables = {"V": Variable("v"), "FILE": Variable("in a file\n", file=True)}
    env = {"FILE": str(running.folder.path / "variables/FILE")}
    state = running.ended(steps=f"{{}}\n---\nrun: {calls}", variables=variables, env=env)
    assert (state.status, state.message) == (RunStatus.SUCCESS, "")
    assert 0 < state.began_at <= state.ended_at <= time.time()
    assert (running.log(), running.log("stderr")) == ("out\nin a file\nv\n", "err\n")
    lines = [json.loads(line) for line in (running.folder.path / "results.jsonl").read_text().splitlines()]
    assert [(line["path"], line["result"]["status"], line["stdout"], line["stderr"]) for line in lines] == [
        (["a"], "running", 0, 0),
        (["a"], "success", 4, 4),
        (["b"], "running", 4, 4),
        (["b"], "success", 16, 4),
        ([], "success", 16, 4),
    ]
    assert (running.folder.path / "variables/FILE").stat().st_mode & 0o777 == 0o600
    assert not running.left()


def test_a_script_has_no_expressions(running: Running) -> None:
    assert running.ended(script="echo '${{ x }}' \\${A}\nexit 5").message == "step script has not succeeded"
    assert running.log() == "${{ x }} ${A}\n"


def test_what_cannot_be_read_says_why(running: Running) -> None:
    state = running.ended(steps="{}\n---\nrunn: []")
    assert state.status is RunStatus.FAILURE
    assert "steps:3:1: step contains unknown keys: runn; did you mean `run`?" in state.message


def test_a_log_is_not_lost_when_a_script_opens_it_again(running: Running) -> None:
    running.ended(script="echo a; echo b > /dev/stdout; echo c > /dev/stderr; printf '\\377\\000\\n\\n'")
    assert (running.folder.path / "stdout").read_bytes() == b"a\nb\n\xff\x00\n\n"
    assert running.log("stderr") == "c\n"


def test_what_a_step_leaves_behind_goes_on_until_the_run_ends(running: Running) -> None:
    wait = "while [ ! -e seen ]; do :; done"
    steps = [
        {"name": "server", "script": f"({wait}; echo served; exec sleep 600) & echo started"},
        {"name": "client", "script": "touch seen; until grep -q served $LOG; do :; done; echo asked"},
    ]
    state = running.ended(
        steps=f"{{}}\n---\n{json.dumps({'run': steps})}", env={"LOG": str(running.folder.path / "stdout")}
    )
    assert state.status is RunStatus.SUCCESS
    assert running.log() == "started\nserved\nasked\n"
    assert not running.left()


async def test_a_cancelled_run_ends_all_that_it_has_started(running: Running) -> None:
    """Also what has left its group and its session, and what does not end when it is asked to."""
    (running.work_dir).mkdir()
    (running.work_dir / "stubborn.py").write_text(STUBBORN)
    process = running.start(
        script=f"trap 'echo asked; exit 1' TERM\n{sys.executable} stubborn.py pid\necho begun\nsleep 600 & wait"
    )
    pid = int(await running.has("pid"))

    async def has_begun() -> bool:
        return "begun" in running.log()

    await eventually(has_begun, "the script has begun to wait")
    assert pid in {one.pid for one in running.left()}
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0
    state = running.folder.state()
    assert (state.status, state.message) == (RunStatus.CANCELLED, "step script has not succeeded")
    assert running.log() == "begun\nasked\n", "what was said while it ended is kept"
    assert not running.left()


def test_a_run_ends_with_its_time(running: Running) -> None:
    state = running.ended(script="echo a; sleep 600", timeout=0.5)
    assert state.status is RunStatus.TIMED_OUT
    assert running.log() == "a\n"
    assert not running.left()


async def test_of_a_killed_run_it_is_known_that_nobody_runs_it(running: Running) -> None:
    process = running.start(script="echo y > begun; sleep 600")
    await running.has("begun")
    with running.folder.locked() as is_ours:
        assert not is_ours
    process.kill()
    process.wait()
    assert running.folder.state().status is RunStatus.RUNNING
    with running.folder.locked() as is_ours:
        assert is_ours, "so it is lost"
    assert len(running.left()) == 1, "which whoever finds it has to end"


async def test_a_run_is_run_once(running: Running) -> None:
    process = running.start(script="echo once >> count; echo y > begun; while [ ! -e on ]; do :; done")
    await running.has("begun")
    assert running.start().wait(30) == 0, "another process leaves it alone"
    (running.work_dir / "on").touch()
    assert process.wait(30) == 0
    assert running.start().wait(30) == 0, "also when it is over"
    assert (running.work_dir / "count").read_text() == "once\n"
    assert list((running.folder.path / "files").iterdir()) == []
