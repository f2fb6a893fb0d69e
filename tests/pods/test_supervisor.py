"""The supervisor with small children: restart, adoption, back-off, order, one per home."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest

from pods.back_off import BackOff
from pods.child import Child
from pods.process import identity_of, is_alive
from pods.run_folder import SUPERVISOR, RunFolder, RunRecord
from pods.supervisor import Supervisor
from rigs.ports import free_port
from tests.small_disk import fill, make_room, small_disk
from tests.waiting import HANGS, eventually, until

FOREVER = "import signal; print('up'); signal.pause()"


class Home:
    """A home folder with a supervisor of small children."""

    def __init__(self, folder: Path, table: list[dict[str, object]]) -> None:
        """Nothing is started yet."""
        self.folder = RunFolder(folder)
        self.table = table
        self.supervisors: list[subprocess.Popen[bytes]] = []

    def supervise(self) -> subprocess.Popen[bytes]:
        """Start a supervisor."""
        argv = [sys.executable, "-m", "tests.pods.small_supervisor", str(self.folder.home), json.dumps(self.table)]
        process = subprocess.Popen(argv, stderr=subprocess.PIPE)
        self.supervisors.append(process)
        return process

    def living(self, name: str, but: int = 0) -> RunRecord:
        """The record of a child that lives, with another pid than `but`; waits for it."""
        found: list[RunRecord] = []

        def lives() -> bool:
            record = self.folder.read(name)
            if record and record.pid != but and is_alive(record.identity):
                found.append(record)
            return bool(found)

        until(lives, HANGS)
        return found[0]

    def kill_everything(self) -> None:
        """End what this home started: supervisors first, then children by record."""
        for process in self.supervisors:
            process.kill()
            process.communicate()
        for row in self.table:
            record = self.folder.read(str(row["name"]))
            if record and is_alive(record.identity):
                os.killpg(record.pid, signal.SIGKILL)  # it leads a session, and may have made more processes


@pytest.fixture
def make_home(tmp_path: Path) -> Iterator[Callable[..., Home]]:
    """Make a home with a table of children; everything it started is ended afterwards."""
    homes: list[Home] = []

    def make(*rows: dict[str, object]) -> Home:
        homes.append(Home(tmp_path / f"home{len(homes)}", list(rows)))
        return homes[-1]

    yield make
    for home in homes:
        home.kill_everything()


def test_a_killed_child_is_back(make_home: Callable[..., Home]) -> None:
    home = make_home({"name": "a", "code": FOREVER})
    home.supervise()
    first = home.living("a")
    until(lambda: home.folder.log_tail("a") == "up", HANGS)
    os.kill(first.pid, signal.SIGKILL)
    second = home.living("a", but=first.pid)
    assert (first.restarts, second.restarts) == (0, 1)
    until(lambda: home.folder.log_tail("a") == "up\nup", HANGS)


def test_children_survive_the_supervisor_and_are_adopted(make_home: Callable[..., Home]) -> None:
    home = make_home({"name": "a", "code": FOREVER}, {"name": "b", "code": FOREVER})
    first = home.supervise()
    before = {name: home.living(name) for name in "ab"}
    first.kill()
    first.wait()
    assert all(is_alive(record.identity) for record in before.values())
    # A record that was never written must not lead to a second process.
    home.folder.forget("b")
    second = home.supervise()
    assert {name: home.living(name).pid for name in "ab"} == {name: record.pid for name, record in before.items()}
    os.kill(before["a"].pid, signal.SIGKILL)
    home.living("a", but=before["a"].pid)
    second.terminate()
    assert second.wait(timeout=HANGS) == 0
    assert not is_alive(before["b"].identity)
    assert list(home.folder.run.glob("*.json")) == []


def test_child_with_other_arguments_is_replaced(make_home: Callable[..., Home]) -> None:
    home = make_home({"name": "a", "code": FOREVER})
    first = home.supervise()
    old = home.living("a")
    first.kill()
    first.wait()
    home.table[0]["code"] = FOREVER + "  # changed"
    home.supervise()
    new = home.living("a", but=old.pid)
    assert new.argv[-1].endswith("# changed")
    assert not is_alive(old.identity)


def test_stranger_with_the_recorded_pid_is_neither_adopted_nor_signalled(make_home: Callable[..., Home]) -> None:
    home = make_home({"name": "a", "code": FOREVER})
    with subprocess.Popen([sys.executable, "-u", "-c", FOREVER], stdout=subprocess.DEVNULL) as stranger:
        identity = identity_of(stranger.pid)
        assert identity is not None
        home.folder.write(RunRecord.of("a", identity, (sys.executable, "-u", "-c", FOREVER)))
        supervisor = home.supervise()
        home.living("a", but=stranger.pid)
        supervisor.terminate()
        supervisor.wait(timeout=HANGS)
        assert stranger.poll() is None
        stranger.kill()


def test_child_that_dies_again_and_again_is_tried_ever_more_slowly(make_home: Callable[..., Home]) -> None:
    home = make_home({"name": "a", "code": "print('try'); raise SystemExit(3)"})
    supervisor = home.supervise()
    assert supervisor.stderr is not None
    ends = (line.decode().strip() for line in supervisor.stderr if b"has ended" in line)
    assert [next(ends).rpartition(" in ")[2] for _ in range(3)] == ["0 s", "1 s", "2 s"]
    assert home.folder.log_tail("a").splitlines() == ["try"] * 3


def test_what_ends_before_it_is_looked_at_is_told_the_same(
    make_home: Callable[..., Home], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a process that is gone nothing can be read but its status."""
    folder = make_home().folder
    supervisor = Supervisor([], folder)
    monkeypatch.setattr("pods.supervisor.identity_of", lambda _: None)
    child = Child("a", (sys.executable, "-c", "raise SystemExit(3)"), {})
    assert supervisor._start(child, 0) == "has ended with exit status 3"


def test_what_has_ended_is_told_with_its_status_and_its_last_lines(make_home: Callable[..., Home]) -> None:
    home = make_home({"name": "a", "code": "print('one\\ntwo'); raise SystemExit('no more')"})
    supervisor = home.supervise()
    assert supervisor.stderr is not None
    for line in supervisor.stderr:
        if b"a has ended with exit status 1; it is started again in 0 s" in line:
            break
    told = [supervisor.stderr.readline().decode() for _ in range(3)]
    assert told == ["    a: one\n", "    a: two\n", "    a: no more\n"]


def test_what_was_killed_is_told_with_the_signal(make_home: Callable[..., Home]) -> None:
    home = make_home({"name": "a", "code": FOREVER})
    supervisor = home.supervise()
    first = home.living("a")
    os.kill(first.pid, signal.SIGKILL)
    assert supervisor.stderr is not None
    assert next(line for line in supervisor.stderr if b"a was ended by SIGKILL; it is started again in 0 s" in line)
    home.living("a", but=first.pid)  # recorded, so that it is ended with the test


def test_on_a_full_disk_a_child_is_found_without_its_record_which_comes_later(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "16m") as disk:
        home = Home(disk / "home", [{"name": "a", "code": FOREVER}])
        try:
            home.supervise()
            first = home.living("a")
            fill(disk)
            os.kill(first.pid, signal.SIGKILL)

            def lives_again() -> bool:
                found = home.folder.living("a", first.argv)
                return found is not None and found.pid != first.pid

            until(lives_again, HANGS)
            recorded = home.folder.read("a")
            assert recorded is not None
            assert recorded.pid == first.pid, "there was no room for another record"
            make_room(disk)
            assert home.living("a", but=first.pid).restarts == 1
        finally:
            home.kill_everything()


def test_what_ended_on_a_full_disk_is_started_again_as_soon_as_there_is_room(tmp_path: Path) -> None:
    """Its pause would last for minutes by then."""
    with small_disk(tmp_path / "disk", "16m") as disk:
        code = "import pathlib; pathlib.Path('new').write_text('x' * 100_000); " + FOREVER
        home = Home(disk / "home", [{"name": "a", "code": code}])
        fill(disk)
        try:
            supervisor = home.supervise()
            assert supervisor.stderr is not None
            next(line for line in supervisor.stderr if b"it is started again in 4 s" in line)
            make_room(disk)
            until(lambda: home.folder.log_tail("a", 1) == "up", HANGS)
        finally:
            home.kill_everything()


def test_child_that_cannot_be_started_is_tried_again(make_home: Callable[..., Home]) -> None:
    home = make_home({"name": "a", "code": FOREVER})
    home.folder.log_path("a").mkdir()
    supervisor = home.supervise()
    assert supervisor.stderr is not None
    assert any(b"cannot be started" in line for line in supervisor.stderr)
    home.folder.log_path("a").rmdir()
    home.living("a")


def test_back_off_doubles_up_to_its_limit_and_starts_over_after_a_long_life() -> None:
    back_off = BackOff()
    assert [back_off.after(0.1) for _ in range(8)] == [0, 1, 2, 4, 8, 16, 30, 30]
    assert [back_off.after(life) for life in (30, 0.1, 0.1)] == [0, 1, 2]


def test_one_supervisor_per_home(make_home: Callable[..., Home]) -> None:
    home = make_home({"name": "a", "code": FOREVER})
    home.supervise()
    child = home.living("a")
    second = home.supervise()
    text = second.communicate(timeout=HANGS)[1].decode()
    assert second.returncode != 0
    assert "is running already" in text
    assert home.living("a").pid == child.pid


def test_start_waits_for_what_comes_first_and_stop_is_in_reverse_order(
    make_home: Callable[..., Home], tmp_path: Path
) -> None:
    port, story = free_port(), tmp_path / "story"
    tell = f"open({str(story)!r}, 'a').write"
    listens = (
        "import signal, socket, sys\n"
        f"{tell}('first starts\\n')\n"
        f"s = socket.create_server(('127.0.0.1', {port}))\n"
        f"signal.signal(signal.SIGTERM, lambda *_: ({tell}('first stops\\n'), sys.exit()))\n"
        "while True: s.accept()\n"
    )
    connects = (
        "import signal, socket, sys\n"
        f"socket.create_connection(('127.0.0.1', {port}))\n"
        f"signal.signal(signal.SIGTERM, lambda *_: ({tell}('second stops\\n'), sys.exit()))\n"
        f"{tell}('second starts\\n')\n"
        "while True: signal.pause()\n"
    )
    home = make_home(
        {"name": "first", "code": listens, "port": port}, {"name": "second", "code": connects, "after": ["first"]}
    )
    supervisor = home.supervise()
    until(lambda: story.exists() and "second starts" in story.read_text(), HANGS)
    supervisor.terminate()
    assert supervisor.wait(timeout=HANGS) == 0
    assert story.read_text().splitlines() == ["first starts", "second starts", "second stops", "first stops"]


def test_child_is_started_when_its_file_appears(make_home: Callable[..., Home], tmp_path: Path) -> None:
    home = make_home({"name": "a", "code": FOREVER}, {"name": "b", "code": FOREVER, "only_if": str(tmp_path / "go")})
    home.supervise()
    home.living("a")
    assert home.folder.read("b") is None
    (tmp_path / "go").touch()
    home.living("b")


def test_what_a_killed_child_leaves_in_its_group_is_killed(make_home: Callable[..., Home], tmp_path: Path) -> None:
    note = tmp_path / "pid"
    code = (
        "import os, signal, time\n"
        "pid = os.fork()\n"
        f"if pid: open({str(note)!r} + str(os.getpid()), 'w').write(str(pid))\n"
        "signal.pause()\n"
    )
    home = make_home({"name": "a", "code": code})
    home.supervise()
    first = home.living("a")
    left = Path(f"{note}{first.pid}")
    until(lambda: left.exists() and left.read_text(), HANGS)
    os.kill(first.pid, signal.SIGKILL)
    home.living("a", but=first.pid)
    until(lambda: identity_of(int(left.read_text())) is None, HANGS)


def test_long_log_is_put_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = RunFolder(tmp_path)
    monkeypatch.setattr("pods.run_folder.LOG_LIMIT", 4)
    for text in (b"first", b"2nd"):
        with folder.open_log("a") as log:
            log.write(text)
    assert (folder.logs / "a.log.1").read_bytes() == b"first"
    assert folder.log_path("a").read_bytes() == b"2nd"


WRITES = """
import sys
for number, line in enumerate(sys.stdin, 1):
    sys.stdout.write(f"line {number}\\n")
    sys.stdout.flush()
"""


def _holds(path: Path, text: str) -> bool:
    return path.read_text() == text


def test_a_long_log_is_put_aside_while_its_process_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = RunFolder(tmp_path)
    monkeypatch.setattr("pods.run_folder.LOG_LIMIT", 4)
    with folder.open_log("a") as log:
        child = subprocess.Popen([sys.executable, "-c", WRITES], stdin=subprocess.PIPE, stdout=log, text=True)
    assert child.stdin is not None
    for number in (1, 2):
        child.stdin.write("go\n")
        child.stdin.flush()
        text = f"line {number}\n"
        until(partial(_holds, folder.log_path("a"), text), HANGS)
        assert folder.trim_log("a")
        assert (folder.logs / "a.log.1").read_text() == text
        assert not folder.trim_log("a")
    child.communicate()
    assert not folder.trim_log("nobody")


async def test_the_supervisor_looks_at_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, stop = RunFolder(tmp_path), asyncio.Event()
    monkeypatch.setattr("pods.run_folder.LOG_LIMIT", 4)
    monkeypatch.setattr("pods.supervisor.TRIM_EVERY", 0.01)
    folder.log_path(SUPERVISOR).write_text("long enough")
    running = asyncio.create_task(Supervisor((), folder).run(stop, asyncio.Event()))

    async def is_put_aside() -> bool:
        return folder.log_path(SUPERVISOR).stat().st_size == 0

    await eventually(is_put_aside, "the log is put aside")
    stop.set()
    await running
    assert (folder.logs / "supervisor.log.1").read_text() == "long enough"


def test_unreadable_record_counts_as_none(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    (folder.run / "a.json").write_text('{"name": "a", "pid": ')
    assert folder.read("a") is None


def test_zombie_is_not_alive() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    identity = identity_of(child.pid)
    with contextlib.suppress(psutil.NoSuchProcess):
        until(lambda: psutil.Process(child.pid).status() == psutil.STATUS_ZOMBIE, HANGS)
    assert identity is None or not is_alive(identity)
    child.wait()
