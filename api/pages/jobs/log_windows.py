"""Windows of a log: any of its lines by their numbers, each window read and drawn alone."""

import asyncio
from bisect import bisect_right
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from api.pages.jobs.log_lines import Line, lines_in
from api.services import Services
from api.v4.jobs.log import Log, read_log
from domain.logs.index import BLOCK, Checkpoint, Part, lines_of
from domain.logs.lines import HEAD, LONG, STAMP_LENGTH, TAIL

MAX_LINES: Final = 1_000
"""Of one window."""
MAX_HTML: Final = 512 * 1024
"""Characters after which a window ends early, with one line at least."""
THREADS: Final = ThreadPoolExecutor(2, thread_name_prefix="logs")
"""A window of nothing but escapes takes tenths of a second, which the event loop does not have."""


async def window(services: Services, log: Log, index: Part, first: int, count: int) -> list[Line]:
    """`count` lines from number `first` on; fewer where the log ends, where much is to be shown, or at a secret."""
    total = lines_of(index.after, log.size)
    first = max(1, first)
    wanted = min(count, MAX_LINES, total - first + 1)
    found: list[Line] = []
    room = MAX_HTML
    place = bisect_right(index.checkpoints, first, key=lambda one: one.line) - 1
    while wanted > len(found) and room > 0 and place < len(index.checkpoints):
        begin = index.checkpoints[place]
        end = index.checkpoints[place + 1].offset if place + 1 < len(index.checkpoints) else log.size
        skipped = max(0, first - begin.line)
        drawing = partial(_drawn, *await block(services, log, begin, end), begin, skipped, wanted - len(found), room)
        lines = await asyncio.get_running_loop().run_in_executor(THREADS, drawing)
        found += lines
        room -= sum(len(line.html) for line in lines)
        place += 1
        if place < len(index.checkpoints) and first + len(found) != index.checkpoints[place].line:
            break  # it ended early
    return found


def _drawn(data: bytes, tail: bytes | None, begin: Checkpoint, skipped: int, count: int, room: int) -> list[Line]:
    found: list[Line] = []
    for line in _taken(lines_in(data, begin.style, skipped, tail), count):
        found.append(line)
        room -= len(line.html)
        if room <= 0:
            break
    return found


def _taken(lines: Iterator[Line], count: int) -> Iterator[Line]:
    for _, line in zip(range(count), lines, strict=False):
        yield line


async def block(services: Services, log: Log, begin: Checkpoint, end: int) -> tuple[bytes, bytes | None]:
    """The bytes of the lines between two checkpoints; of a last one that is too long only what counts."""
    if end - begin.offset <= BLOCK + LONG:
        return await _bytes(services, log, begin.offset, end), None
    data = await _bytes(services, log, begin.offset, begin.offset + BLOCK + HEAD + STAMP_LENGTH)
    return data, await _bytes(services, log, end - TAIL - 1, end)


async def _bytes(services: Services, log: Log, start: int, end: int) -> bytes:
    return b"".join([chunk async for chunk in read_log(services, log, start, end)])
