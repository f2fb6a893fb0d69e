"""Ports that nobody else takes."""

import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from rigs.ports import FIRST, LAST, LOCAL, free_port

_PICK = "from rigs.ports import free_ports; print(*(port for _ in range(20) for port in free_ports(2)))"


def test_processes_that_choose_at_the_same_time_get_different_ports() -> None:
    processes = [subprocess.Popen([sys.executable, "-c", _PICK], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    chosen = [int(port) for process in processes for port in process.communicate(timeout=60)[0].split()]
    assert len(set(chosen)) == len(chosen) == 120
    assert all(FIRST <= port <= LAST for port in chosen)


def test_a_port_that_somebody_listens_on_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    busy = free_port()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with socket.create_server((LOCAL, busy)):
        (tmp_path / f"perdure-ports-{os.getuid()}").write_text(str(busy - 1))
        assert free_port() > busy


def test_behind_the_last_port_comes_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / f"perdure-ports-{os.getuid()}").write_text(str(LAST))
    assert FIRST <= free_port() < LAST
