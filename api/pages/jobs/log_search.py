"""Search in a whole log, in pieces: what is looked for is looked for in what is shown, without colours and stamps."""

import asyncio
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from api.pages.jobs.log_windows import THREADS, block
from api.services import Services
from api.v4.jobs.log import Log
from domain.config.rules.patterns import encoded, pattern_of
from domain.logs.index import Checkpoint, Part, lines_of
from domain.logs.lines import unstamped
from domain.logs.sections import MARK

MAX_HITS: Final = 5_000
"""Lines that one response names."""
MAX_QUERY: Final = 500
"""Characters."""
_SECONDS: Final = 0.6
"""After which a response names what was found so far."""

_ESCAPE: Final = re.compile(
    rb"\x1b\[[0-?]*[ -/]*[@-~]"
    rb"|\x1b[\]P^_X][^\x07\x1b\n]*(?:\x07|\x1b\\)?"
    rb"|\x1b[ -/]*[0-~]?"
    rb"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)
_OVERWRITTEN: Final = re.compile(rb"^[^\n]*\r(?=[^\r\n])", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Found:
    """Numbers of lines, and the line to go on at; None when the whole log was searched."""

    lines: Sequence[int]
    next: int | None


@dataclass(frozen=True, slots=True)
class Finder:
    """What is looked for: `prepared` makes a text ready, `find` is where in such a text it stands, -1 if nowhere."""

    find: Callable[[bytes, int], int]
    prepared: Callable[[bytes], bytes] = bytes


def finder(query: str, *, is_pattern: bool, is_exact: bool) -> Finder:
    """What looks for a text, or for an RE2 pattern. Raises `Invalid` for what is no pattern."""
    if is_pattern:
        return Finder(partial(_matched, pattern_of(f"(?m){query}" if is_exact else f"(?mi){query}").compiled))
    if is_exact:
        return _literal(query, bytes)
    return _literal(query.lower(), bytes.lower if query.isascii() else _lowered)


def _literal(query: str, prepared: Callable[[bytes], bytes]) -> Finder:
    wanted = encoded(query)
    return Finder(lambda text, start: text.find(wanted, start), prepared)


def _matched(compiled: Any, text: bytes, start: int) -> int:
    found = compiled.search(text, start)
    return -1 if found is None else int(found.start())


def _lowered(text: bytes) -> bytes:
    return text.decode("utf-8", "replace").lower().encode()


def plain(data: bytes) -> bytes:
    """What whole lines show."""
    text = _ESCAPE.sub(b"", MARK.sub(b"", unstamped(data)))
    return _OVERWRITTEN.sub(b"", text) if b"\r" in text else text


def hits_in(data: bytes, line: int, wanted: Finder, most: int) -> list[int]:
    """The numbers of the lines that hold it, each once; the first line of `data` has number `line`."""
    text = wanted.prepared(plain(data))
    found: list[int] = []
    place, counted_to = wanted.find(text, 0), 0
    while 0 <= place < len(text) and len(found) < most:
        line += text.count(b"\n", counted_to, place)
        counted_to = place
        found.append(line)
        end = text.find(b"\n", place)
        if end < 0:
            break
        place = wanted.find(text, end + 1)
    return found


async def search(services: Services, log: Log, index: Part, wanted: Finder, first: int) -> Found:
    """The lines from number `first` on, as many as are found in a short time."""
    now = asyncio.get_running_loop().time
    deadline = now() + _SECONDS
    lines: list[int] = []
    points = index.checkpoints
    place = max(0, bisect_right(points, first, key=lambda one: one.line) - 1)
    for number in range(place, len(points)):
        if now() > deadline or len(lines) >= MAX_HITS:
            return Found(lines[:MAX_HITS], lines[MAX_HITS - 1] + 1 if len(lines) >= MAX_HITS else points[number].line)
        lines += [line for line in await _in_block(services, log, points, number, wanted) if line >= first]
    total = lines_of(index.after, log.size)
    lines = [line for line in lines if line <= total]
    over = len(lines) > MAX_HITS
    return Found(lines[:MAX_HITS], lines[MAX_HITS - 1] + 1 if over else None)


async def _in_block(
    services: Services, log: Log, points: Sequence[Checkpoint], number: int, wanted: Finder
) -> list[int]:
    begin = points[number]
    end = points[number + 1].offset if number + 1 < len(points) else log.size
    data, tail = await block(services, log, begin, end)
    looking = partial(hits_in, data + (tail or b""), begin.line, wanted, MAX_HITS)
    return await asyncio.get_running_loop().run_in_executor(THREADS, looking)
