"""Where to open a log for a moment: found by a few short reads, however long the log is."""

from typing import Final

from api.pages.jobs.log_windows import block
from api.services import Services
from api.v4.jobs.log import Log, read_log
from domain.logs.index import Checkpoint, Part, lines_of
from domain.logs.moments import PROBE, first_stamp, line_of_mark, line_since, stamp_of

_FIRST: Final = 0


async def line_at(services: Services, log: Log, index: Part, seconds: int) -> int | None:
    """The line that was printed at a moment, in seconds since 1970; None where nothing in the log has a time.

    Stamps of lines say it, found by a binary search over the checkpoints; of a log without them the sections.
    """
    total = lines_of(index.after, log.size)
    if await _stamp(services, log, index.checkpoints[_FIRST]) is None:
        line = line_of_mark(index.marks, seconds)
        return None if line is None else min(line, total)
    wanted = stamp_of(seconds)
    low, high = _FIRST, len(index.checkpoints)
    while high - low > 1:
        middle = (low + high) // 2
        stamp = await _stamp(services, log, index.checkpoints[middle])
        if stamp is not None and stamp < wanted:
            low = middle
        else:
            high = middle
    return await _line_in(services, log, index, low, wanted) or total


async def _line_in(services: Services, log: Log, index: Part, place: int, wanted: bytes) -> int | None:
    """The line between two checkpoints, or that of the second one; None at the end of the log."""
    begin = index.checkpoints[place]
    after = index.checkpoints[place + 1] if place + 1 < len(index.checkpoints) else None
    data, _ = await block(services, log, begin, log.size if after is None else after.offset)
    found = line_since(data.removesuffix(b"\n"), begin.line, wanted)
    return found or (None if after is None else after.line)


async def _stamp(services: Services, log: Log, at: Checkpoint) -> bytes | None:
    parts = [part async for part in read_log(services, log, at.offset, at.offset + PROBE)]
    return first_stamp(b"".join(parts))
