"""Reads of logs, for everybody who looks at one: what is wanted at the same moment is read once, and in turns.

However many read, they take one connection of the database and a short time between two other things that this process
does: runners that write are not kept waiting.
"""

import asyncio
from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from api.runner.batching import AskedTogether
from models.repositories.logs import traces
from models.repositories.logs.traces import Head
from models.session import Database

PART: Final = 64 * 1024
"""Bytes that are read at a time. A slow reader holds a few parts, and no connection."""
_MAX_CONCURRENT_PARTS: Final = 4
_MAX_CONCURRENT_HEADS: Final = 64


class Part(NamedTuple):
    """So many bytes of a generation of a job's log, from byte `start` on."""

    job_id: int
    generation: int
    start: int
    length: int


class LogReads:
    """Reads what the database has of logs."""

    def __init__(self, database: Database) -> None:
        """Ask this database."""
        self._database = database
        self._heads = AskedTogether(self._read_heads, _MAX_CONCURRENT_HEADS)
        self._parts = AskedTogether(self._read_parts, _MAX_CONCURRENT_PARTS)
        self._looks = AskedTogether(self._note_looks, _MAX_CONCURRENT_HEADS)

    async def head(self, job_id: int) -> Head:
        """What is known of a log, as `traces.head` has it."""
        return await self._heads.ask(job_id) or Head()

    async def part(self, part: Part) -> bytes:
        """Bytes of a log as they were sent; fewer only where it ends, or when the database has them no more."""
        return await self._parts.ask(part) or b""

    async def note_look(self, job_id: int) -> None:
        """Let the runner of a growing log know that somebody reads."""
        await self._looks.ask(job_id)

    async def _read_heads(self, job_ids: Collection[int]) -> Mapping[int, Head]:
        async with self._database.read() as connection:
            return await traces.heads(connection, job_ids)

    async def _read_parts(self, parts: Collection[Part]) -> Mapping[Part, bytes]:
        async with self._database.read() as connection:
            found = {part: await traces.read(connection, *part) for part in parts}
        await asyncio.sleep(0)  # SQLite answers at once: let others have their turn all the same
        return found

    async def _note_looks(self, job_ids: Collection[int]) -> Mapping[int, None]:
        async with self._database.write_once() as connection:
            await traces.watch(connection, job_ids)
        return {}
