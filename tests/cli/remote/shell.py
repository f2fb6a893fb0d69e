"""Running `perdure ...` as a person would: in this process, as a process with pipes, or on a terminal."""

import asyncio
import contextlib
import fcntl
import io
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from cli import main
from tests.cli.running import Ran
from tests.waiting import HANGS

ROOT = Path(__file__).parents[3]
LINES, COLUMNS = 24, 160


class _Input(io.TextIOWrapper):
    """Standard input of a command that is not at a terminal."""

    def isatty(self) -> bool:
        return False


@dataclass
class Shell:
    """A person with a home of its own: `folder` is where commands are run."""

    folder: Path
    env: dict[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        """The whole environment of a command, without any setting of Perdure from outside."""
        out = ("PERDURE_", "NO_COLOR", "PAGER", "LESS", "PYTHONDONTWRITEBYTECODE", "TERM", "COLUMNS", "LINES")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(out)}
        home = {"HOME": str(self.folder), "PERDURE_CONFIG": str(self.folder / "config" / "config.toml")}
        return {**kept, **home, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", **self.env}

    async def __call__(self, *words: str, stdin: str = "", **env: str) -> Ran:
        """Run in this process, in a thread: the server may live in the loop."""
        return await asyncio.to_thread(self.run, *words, stdin=stdin, **env)

    def run(self, *words: str, stdin: str = "", **env: str) -> Ran:
        """Run in this process and thread."""
        out, err = io.StringIO(), io.StringIO()
        code: Any = 0
        with (
            contextlib.chdir(self.folder),
            mock.patch.dict(os.environ, {**self.environment, **env}, clear=True),
            mock.patch.object(sys, "argv", ["perdure", *words]),
            mock.patch.object(sys, "stdin", _Input(io.BytesIO(stdin.encode()))),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            try:
                main.main()
            except SystemExit as end:
                code = end.code or 0
        return Ran(code, out.getvalue(), err.getvalue())

    async def process(self, *words: str, **env: str) -> tuple[int, bytes, bytes]:
        """Run as a process with pipes; exit code and what it wrote."""
        process = await self.start(*words, **env)
        out, err = await asyncio.wait_for(process.communicate(), 60)
        assert process.returncode is not None
        return process.returncode, out, err

    async def start(self, *words: str, **env: str) -> asyncio.subprocess.Process:
        """Start a process with pipes."""
        return await asyncio.create_subprocess_exec(
            *command(*words),
            cwd=self.folder,
            env={**self.environment, **env},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )

    def terminal(self, *words: str, **env: str) -> "Terminal":
        """Start on a terminal of its own."""
        return Terminal(command(*words), self.folder, {**self.environment, **env})


def command(*words: str) -> list[str]:
    """The command line."""
    return [sys.executable, "-P", "-m", "cli.main", *words]


class Terminal:
    """A command on a pseudo-terminal; `shown` is everything that it has written."""

    def __init__(self, argv: list[str], folder: Path, environment: Mapping[str, str]) -> None:
        """Start it."""
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        self.shown = ""
        self._process = subprocess.Popen(
            argv, cwd=folder, env=environment, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
        )
        os.close(slave)

    def write(self, text: str) -> None:
        """Type."""
        os.write(self._master, text.encode())

    async def until(self, words: str, within: float = HANGS) -> None:
        """Return when these words were shown."""
        end = time.monotonic() + within
        while words not in self.shown:
            assert time.monotonic() < end, f"{words!r} was not shown:\n{self.shown}"
            await asyncio.to_thread(self._read)

    async def until_hidden(self, within: float = HANGS) -> None:
        """Return when what is typed is not shown."""
        end = time.monotonic() + within
        while termios.tcgetattr(self._master)[3] & termios.ECHO:
            assert time.monotonic() < end, self.shown
            await asyncio.to_thread(self._read)

    async def end(self, within: float = HANGS) -> int:
        """The exit code, when it has ended and all was read."""
        end = time.monotonic() + within
        while self._process.poll() is None:
            assert time.monotonic() < end, f"It did not end:\n{self.shown}"
            await asyncio.to_thread(self._read)
        while await asyncio.to_thread(self._read):
            pass
        return self._process.returncode

    def close(self) -> None:
        """End it whatever it does."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
        os.close(self._master)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._master], [], [], 0.05)
        if not ready:
            return False
        try:
            found = os.read(self._master, 65536)
        except OSError:  # the other end is closed
            return False
        self.shown += found.decode("utf-8", "replace")
        return bool(found)
