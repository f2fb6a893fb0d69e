"""Streams to processes of this machine whose standard error is heard."""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Final

from steps.dialing import ByteStream, Open, ProcessStream
from steps.ways.said import Said, ended

_SIZE: Final = 64 * 1024
_END: Final = 5.0
"""Seconds for a process to end that has closed its output."""


class HeardProcess(ProcessStream):
    """A process; where it ends with another exit code than 0, `read` raises what it has said."""

    def __init__(self, process: asyncio.subprocess.Process, place: str) -> None:
        """Take a process with three pipes."""
        super().__init__(process)
        assert process.stderr is not None
        self._place = place
        self._said = Said(place)
        self._hearing = asyncio.create_task(self._hear(process.stderr))

    async def read(self) -> bytes:
        """What it writes. Raises `ConnectionError` at the end where it has failed."""
        if data := await super().read():
            return data
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_END):
                await asyncio.gather(self.process.wait(), asyncio.shield(self._hearing))
        if code := self.process.returncode:
            raise ended(self._place, "the process there", code, self._said.end())
        return b""

    async def close(self) -> None:
        """Kill it."""
        await super().close()
        self._hearing.cancel()
        await asyncio.gather(self._hearing, return_exceptions=True)

    async def _hear(self, stderr: asyncio.StreamReader) -> None:
        while data := await stderr.read(_SIZE):
            self._said.hear(data)


def by_process(command: Sequence[str], place: str) -> Open:
    """Streams to the processes of a command; `place` is what messages call the other end."""

    async def open_process() -> ByteStream:
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            raise ConnectionError(f"{place}: {command[0]} cannot be run here: {error.strerror}") from error
        return HeardProcess(process, place)

    return open_process
