"""Indexes of logs, kept while the logs grow: each stretch is read once, by whichever process comes first.

Parts are in the database as long as the log is; later the whole index is one object beside the log, made at once for a
large log, and when somebody looks for others.
The index that meets the beginning of a script first keeps it with the job.
An index that is missing, or that another version has made, is made anew from the log.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Protocol, TypeAlias
from weakref import WeakValueDictionary

from domain.errors import NotFound
from domain.logs.index import BEGIN, Part, State, extended
from domain.logs.packing import packed, unpacked
from domain.object_keys import trace_index_key
from domain.pipelines.script_begin import begin_in
from models.repositories.logs import script_begins, trace_indexes
from models.session import Database
from storage.objects import ObjectStore

SMALL: Final = 256 * 1024
"""Bytes of a log, or of the end of one, that are read again rather than to keep their index."""
GROWN: Final = 1024 * 1024
"""The most that is read at a time, and by how much a log grows before it is read though nobody looks at it."""
LARGE: Final = 8 * GROWN
"""Bytes of a log that is read before somebody looks at it, some 30 ms of work; most logs nobody ever opens."""
_KNOWN: Final = 16
"""Indexes that a process remembers; the largest takes some MiB."""
_THREADS: Final = ThreadPoolExecutor(1, thread_name_prefix="log-index")


class IndexedLog(Protocol):
    """A log as it was at one moment."""

    @property
    def project_id(self) -> int: ...  # noqa: D102
    @property
    def job_id(self) -> int: ...  # noqa: D102
    @property
    def generation(self) -> int: ...  # noqa: D102
    @property
    def size(self) -> int: ...  # noqa: D102
    @property
    def frozen(self) -> bool: ...  # noqa: D102
    @property
    def copied(self) -> bool: ...  # noqa: D102


Read: TypeAlias = Callable[[int, int], AsyncIterator[bytes]]
"""Gives the bytes of a log, as its runner sent them, from one place up to another."""


@dataclass(frozen=True, slots=True)
class _Known:
    """`part` is the whole index so far, `unsaved` what of it is not stored.

    It is `late` when another process was faster: what that one has stored is to be looked at the next time.
    """

    part: Part
    unsaved: Part
    saved_to: int
    is_whole: bool = False
    is_late: bool = False


class LogIndexes:
    """The indexes of a pod's logs."""

    def __init__(self, database: Database, store: ObjectStore) -> None:
        """Keep them there."""
        self._database = database
        self._store = store
        self._known: OrderedDict[tuple[int, int], _Known] = OrderedDict()
        self._turns: WeakValueDictionary[tuple[int, int], asyncio.Lock] = WeakValueDictionary()

    async def of(self, log: IndexedLog, read: Read) -> Part:
        """The index of a log as far as it goes. Raises what `read` raises."""
        key = (log.job_id, log.generation)
        turn = self._turns.setdefault(key, asyncio.Lock())
        async with turn:
            known = self._known.get(key) or await self._stored(log)
            if not known.is_whole and (known.part.after.offset < log.size or log.frozen):
                known = await self._extended(log, read, known)
            self._remember(key, known)
            return known.part

    def _remember(self, key: tuple[int, int], known: _Known) -> None:
        self._known.pop(key, None)
        if not known.is_late:
            self._known[key] = known
        while len(self._known) > _KNOWN:
            self._known.popitem(last=False)

    async def put(self, log: IndexedLog, read: Read) -> None:
        """Store the whole index of a frozen log that is large, beside it."""
        if log.size > LARGE:
            await self._put(log, await self.of(log, read))

    async def _stored(self, log: IndexedLog) -> _Known:
        parts: list[Part | None] = []
        if not log.copied:
            async with self._database.read() as connection:
                parts = [unpacked(one) for one in await trace_indexes.parts(connection, log.job_id, log.generation)]
        elif log.size > SMALL:
            parts = [await self._object(log)]
        whole = BEGIN
        for part in parts:
            if part is None:
                return _Known(BEGIN, Part(), 0)
            whole = whole.followed_by(part)
        saved_to = whole.after.offset
        return _Known(whole, Part(whole.after), saved_to, is_whole=log.copied and bool(parts))

    async def _object(self, log: IndexedLog) -> Part | None:
        chunks = self._store.read(trace_index_key(log.project_id, log.job_id, log.generation))
        try:
            return unpacked(b"".join([chunk async for chunk in chunks]))
        except NotFound:
            return None

    async def _extended(self, log: IndexedLog, read: Read, known: _Known) -> _Known:
        rest = b""
        place = known.part.after.offset
        async with aclosing(_pieces(read, place, log.size)) as pieces:
            async for piece in pieces:
                place += len(piece)
                data = rest + piece
                known = await self._with(log, known, data, is_last=log.frozen and place == log.size)
                rest = data[len(data) - (place - known.part.after.offset) :]
        if log.frozen and place == log.size and known.part.after.offset == log.size:
            known = _Known(known.part, Part(known.part.after), log.size, is_whole=True)
            if log.copied and log.size > SMALL:
                await self._put(log, known.part)
        return known

    async def _with(self, log: IndexedLog, known: _Known, data: bytes, *, is_last: bool) -> _Known:
        """The index with that of the bytes behind it; what is enough for it is stored."""
        found = await _read_apart(known.part.after, data, is_last)
        await self._note_script(log, known.part, found)
        part, unsaved = known.part.followed_by(found), known.unsaved.followed_by(found)
        stop = found.after.offset
        if known.is_late or log.copied or is_last or stop - known.saved_to < SMALL:
            return replace(known, part=part, unsaved=unsaved)
        async with self._database.write() as connection:
            place = (log.job_id, log.generation, known.saved_to, stop)
            is_kept = await trace_indexes.add(connection, *place, packed(unsaved))
        return _Known(part, Part(found.after), stop, is_late=not is_kept)

    async def _note_script(self, log: IndexedLog, before: Part, found: Part) -> None:
        """Keep when the script began as soon as its first mark is met; mostly it is known already."""
        begin = begin_in(found.marks)
        if begin is None or begin_in(before.marks) is not None:
            return
        async with self._database.read() as connection:
            run = await script_begins.unknown(connection, log.job_id)
        if run is not None:
            async with self._database.write() as connection:
                await script_begins.put(connection, run, begin)

    async def _put(self, log: IndexedLog, part: Part) -> None:
        whole = Part(part.after, part.checkpoints[1:], part.marks, part.errors)
        await self._store.put(trace_index_key(log.project_id, log.job_id, log.generation), packed(whole))


async def _read_apart(state: State, data: bytes, is_last: bool) -> Part:  # of its module alone
    """In a thread: a log of nothing but errors takes tenths of a second, which the event loop does not have."""
    reading = partial(extended, state, data, is_last=is_last)
    return await asyncio.get_running_loop().run_in_executor(_THREADS, reading)


async def _pieces(read: Read, start: int, end: int) -> AsyncGenerator[bytes, None]:
    """The bytes in pieces that are worth a turn of their own."""
    gathered: list[bytes] = []
    size = 0
    if start < end:
        async for part in read(start, end):
            gathered.append(part)
            size += len(part)
            if size >= GROWN:
                yield b"".join(gathered)
                gathered, size = [], 0
    if size:
        yield b"".join(gathered)


def has_grown(before: int, size: int) -> bool:
    """Whether a log that nobody may look at is to be read, when `size` bytes have come behind `before` others."""
    return before + size > LARGE and before // GROWN != (before + size) // GROWN
