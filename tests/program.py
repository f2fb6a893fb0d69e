"""A program that a test runs beside itself: its output in a file, its end by signal and never left to chance."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 20.0
"""Seconds that a program has to end after SIGTERM."""


def environment(**more: str) -> dict[str, str]:
    """Our own environment without any setting of Perdure, the commands beside this interpreter first on PATH."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PERDURE_")}
    return kept | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", **more}


class Program:
    """One command line, started as often as wished; the output of all its runs is in the file `log`."""

    def __init__(
        self, argv: Sequence[str | Path], log: Path, *, cwd: Path = ROOT, env: Mapping[str, str] | None = None
    ) -> None:
        """`env` is the whole environment; without one it is `environment()`."""
        self.log = log
        self._argv = [str(word) for word in argv]
        self._cwd = cwd
        self._env = dict(environment() if env is None else env)
        self._process: asyncio.subprocess.Process | None = None
        self._begin = 0

    async def start(self) -> None:
        """Start it; RuntimeError if it runs already."""
        if self.running:
            raise RuntimeError(f"{self._argv[0]} runs already.")
        with self.log.open("ab") as output:
            self._begin = output.tell()
            self._process = await asyncio.create_subprocess_exec(
                *self._argv,
                cwd=self._cwd,
                env=self._env,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=asyncio.subprocess.STDOUT,
            )

    @property
    def running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.returncode is None

    @property
    def returncode(self) -> int | None:
        """How the last run ended: the exit code, or minus the number of the signal."""
        return None if self._process is None else self._process.returncode

    def output(self) -> str:
        """What the run that was started last has printed so far."""
        return self.log.read_bytes()[self._begin :].decode("utf-8", "replace")

    async def wait(self, within: float = PATIENCE) -> int:
        """Its exit code; TimeoutError when it does not end in time."""
        assert self._process is not None
        async with asyncio.timeout(within):
            return await self._process.wait()

    async def kill(self) -> None:
        """End it with SIGKILL, as a lost machine would."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    async def stop(self) -> None:
        """End it with SIGTERM; with SIGKILL when that does not help."""
        if self._process is None or self._process.returncode is not None:
            return
        self._process.terminate()
        try:
            await self.wait()
        except TimeoutError:
            await self.kill()
            raise


@asynccontextmanager
async def running(program: Program) -> AsyncIterator[Program]:
    """A program from its start to its end; when the block fails, what it printed goes to stderr, for pytest to show."""
    await program.start()
    try:
        yield program
    except BaseException:
        sys.stderr.write(f"--- {program.log.name} ---\n{program.output()[-8000:]}\n")
        raise
    finally:
        await program.stop()
