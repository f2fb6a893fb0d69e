"""Ports that nobody else takes."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from rigs import ports
from rigs.ports import FIRST, LAST, LOCAL, free_port

_PICK = "from rigs.ports import free_ports; print(*(port for _ in range(20) for port in free_ports(2)))"


def test_processes_that_choose_at_the_same_time_get_different_ports(tmp_path: Path) -> None:
    """Also those of runs that have a folder for temporary files each."""
    processes = []
    for name in "abc":
        (tmp_path / name).mkdir()
        own = {**os.environ, "TMPDIR": str(tmp_path / name)}
        argv = [sys.executable, "-c", _PICK]
        processes.append(subprocess.Popen(argv, env=own, stdout=subprocess.PIPE, text=True))
    chosen = [int(port) for process in processes for port in process.communicate(timeout=60)[0].split()]
    assert len(set(chosen)) == len(chosen) == 120
    assert all(FIRST <= port <= LAST for port in chosen)


def test_a_port_that_somebody_listens_on_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    busy = free_port()
    monkeypatch.setattr(ports, "COUNTER", tmp_path / "counter")
    with socket.create_server((LOCAL, busy)):
        (tmp_path / "counter").write_text(str(busy - 1))
        assert free_port() > busy


def test_behind_the_last_port_comes_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "COUNTER", tmp_path / "counter")
    (tmp_path / "counter").write_text(str(LAST))
    assert FIRST <= free_port() < LAST
