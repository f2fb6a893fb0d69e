"""Which process has a pid, whatever the wall clock says."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from files import process_start as told
from files.process_start import process_start, start_noted_in_seconds

ROOT = Path(__file__).resolve().parent.parent.parent
FOREVER = "import signal; signal.pause()"
ASKING = {
    "files/process_start.py",  # it reads what earlier versions noted
    "pods/process.py",  # it shows people since when a process runs
}


@pytest.fixture
def other() -> Iterator[subprocess.Popen[bytes]]:
    """Another process that lives."""
    with subprocess.Popen([sys.executable, "-c", FOREVER]) as process:
        yield process
        process.kill()


def test_two_processes_have_two_starts_that_stay(other: subprocess.Popen[bytes]) -> None:
    first = process_start(other.pid)
    assert first
    assert first == process_start(other.pid)
    assert first != process_start(os.getpid())


def test_what_has_ended_has_none_reaped_or_not(other: subprocess.Popen[bytes]) -> None:
    other.kill()
    os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
    assert process_start(other.pid) == ""
    other.wait()
    assert process_start(other.pid) == ""


def test_a_name_with_blanks_and_brackets_is_no_riddle(tmp_path: Path) -> None:
    program = tmp_path / "a) Z 1 (b"
    program.symlink_to("/bin/sleep")
    with subprocess.Popen([program, "1000"]) as process:
        assert process_start(process.pid).rpartition(":")[2].isdecimal()
        process.kill()


def test_a_clock_that_is_set_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    before, created = process_start(os.getpid()), psutil.Process().create_time()
    boot = psutil.boot_time()
    monkeypatch.setattr("psutil._pslinux.boot_time", lambda: boot + 3600)
    assert psutil.Process().create_time() == pytest.approx(created + 3600), "what Linux does when its clock is set"
    assert process_start(os.getpid()) == before


def test_what_earlier_versions_noted_is_believed_within_two_seconds(other: subprocess.Popen[bytes]) -> None:
    created = psutil.Process(other.pid).create_time()
    assert start_noted_in_seconds(other.pid, created + 1) == process_start(other.pid)
    assert start_noted_in_seconds(other.pid, created + 3) == ""
    other.kill()
    other.wait()
    assert start_noted_in_seconds(other.pid, created) == ""
    assert start_noted_in_seconds(0, 0.0) == ""


def test_other_systems_tell_the_start_in_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """They note it when the process starts."""
    monkeypatch.setattr(told, "_boot", lambda: "")
    assert process_start(os.getpid()) == f"seconds:{psutil.Process().create_time()!r}"
    assert process_start(2**22 + 1) == ""


def test_nothing_else_asks_for_a_start_in_seconds() -> None:
    found = {
        str(path.relative_to(ROOT))
        for folder in ("api", "application", "cli", "files", "fleet", "loops", "pods", "steps")
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "create_time"
    }
    assert found == ASKING
