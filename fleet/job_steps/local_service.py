"""A step runner on this machine, for one job, with the rights of jobs. It goes on when the runner is killed.

A step runner of its own has the job's folder alone, and nobody but the job reaches its socket.
"""

import asyncio
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from domain.errors import PerdureError, Unavailable
from fleet.executors.hands import Hands
from fleet.executors.rights import JobRights, Launch
from steps.dialing import ByteStream, ProcessStream

SOCKET: Final = "s.sock"
LOG: Final = "service.log"
_ROOT: Final = str(Path(__file__).resolve().parents[2])
_CODE: Final = (
    f"import sys; sys.path.insert(0, {_ROOT!r}); from runpy import run_module; "
    "run_module(sys.argv.pop(1), run_name='__main__')"
)
_INTO_LOG: Final = f'exec "$@" >>{LOG} 2>&1'
_STARTS_WITHIN: Final = 30.0
_LOOK: Final = 0.02
_LAST_WORDS: Final = 2_000
"""Bytes of its log that are told when it does not start."""


@dataclass(slots=True)
class LocalService:
    """Starts it when somebody wants to reach it and it is not there; it works in `folder`, which it finds again."""

    folder: Path
    environment: Mapping[str, str]
    rights: JobRights | None
    hands: Hands
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def prepare(self) -> None:
        """Make it answer. Raises `Unavailable` with its last words."""
        async with self._turn:
            await self.hands.do(make_private, self.folder)
            if await self.hands.do(_is_listening, self.folder):
                return
            service = _python("steps.service", SOCKET, str(self.folder / "state"))
            process = await self._start(("/bin/sh", "-c", _INTO_LOG, "sh", *service), asyncio.subprocess.DEVNULL)
            deadline = asyncio.get_running_loop().time() + _STARTS_WITHIN
            while not await self.hands.do(_is_listening, self.folder):
                if process.returncode is not None or asyncio.get_running_loop().time() > deadline:
                    said = await self.hands.do(_last_words, self.folder)
                    raise Unavailable(f"the step runner of the job did not start: {said or 'it said nothing'}")
                await asyncio.sleep(_LOOK)

    async def open(self) -> ByteStream:
        """A stream to it. Raises `OSError`."""
        try:
            await self.prepare()
        except PerdureError as error:
            raise ConnectionError(str(error)) from error
        return ProcessStream(await self._start(_python("steps.proxy", SOCKET), asyncio.subprocess.PIPE))

    async def _start(self, arguments: Sequence[str], stream: int) -> asyncio.subprocess.Process:
        with self._launch(arguments) as launch:
            return await asyncio.create_subprocess_exec(
                *launch.arguments,
                cwd=self.folder,
                env=dict(launch.environment),
                start_new_session=True,
                stdin=stream,
                stdout=stream,
                stderr=asyncio.subprocess.DEVNULL,
                **launch.options,
            )

    def _launch(self, arguments: Sequence[str]) -> AbstractContextManager[Launch]:
        if self.rights is None:
            return nullcontext(Launch(arguments, self.environment))
        return self.rights.launch(arguments, self.environment)


def _python(module: str, *arguments: str) -> tuple[str, ...]:
    """A module of ours as a command; the folder of the job, where it runs, is not looked through for modules."""
    return (sys.executable, "-I", "-c", _CODE, module, *arguments)


def make_private(folder: Path) -> None:
    """Make a folder for its user alone."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def _is_listening(folder: Path) -> bool:
    """Whether somebody listens there; a path of a socket is short, and that of the folder may not be."""
    try:
        within = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(f"/proc/self/fd/{within}/{SOCKET}")
    except OSError:
        return False
    finally:
        os.close(within)
    return True


def _last_words(folder: Path) -> str:
    try:
        return (folder / LOG).read_bytes()[-_LAST_WORDS:].decode(errors="replace").strip()
    except OSError:
        return ""
