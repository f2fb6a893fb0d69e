"""Starts processes of runs from one that has everything loaded: a copy of it takes milliseconds.

A process of a run belongs to nobody: it has a session of its own, and goes on when the service dies.
"""

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Final

from domain.errors import Unavailable
from steps.engine.processes import adopt_orphans
from steps.engine.run_folder import RunFolder
from steps.engine.run_process import run
from steps.own_program import own_command

MAX_ATTEMPTS: Final = 2


class Spawner:
    """Starts them, one at a time; from any thread."""

    def __init__(self) -> None:
        """Start the process from which the others come with the first run."""
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def start(self, folder: RunFolder) -> None:
        """Start the process of a run; blocks for some milliseconds. Raises `Unavailable` where that cannot be done."""
        with self._lock:
            for _ in range(MAX_ATTEMPTS):
                if self._asked(folder):
                    return
        raise Unavailable("the process of the run cannot be started")

    def close(self) -> None:
        """End the process from which the others come; they go on."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _asked(self, folder: RunFolder) -> bool:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                own_command("spawning"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(os.fsencode(folder.path) + b"\n")
            self._process.stdin.flush()
        except OSError:
            return False
        return bool(self._process.stdout.readline())


def main() -> None:
    """Start a process for each folder that the input names, a line each, and answer with a line, until it ends."""
    while line := sys.stdin.buffer.readline():
        child = os.fork()
        if not child:
            _begin(Path(os.fsdecode(line.rstrip(b"\n"))))
        os.waitpid(child, 0)
        os.write(1, b"\n")


def _begin(path: Path) -> None:
    """Leave whoever started this behind, and run; it never returns."""
    if os.fork():
        os._exit(0)
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    try:
        adopt_orphans()
        run(RunFolder(path))
    finally:
        os._exit(0)
