"""Follows all of a run in one: what it writes, and between the bytes what becomes of its steps."""

from collections import deque
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

from steps.engine.log_files import STDERR, STDOUT
from steps.engine.run_folder import RESULTS
from steps.service.following import Order, ResultLines, check_no_more, log_size, looks
from steps.service.watching import Watched


@dataclass(slots=True)
class _Waiting:
    """Results that are known and whose place in the log has not been reached; the first `read` ones are dropped."""

    read: int
    lines: deque[tuple[int, dict[str, Any]]] = field(default_factory=deque)

    def until(self, position: int | None) -> Iterator[dict[str, Any]]:
        """Those whose place is at `position` or before; all of them with None."""
        while self.lines and (position is None or _place(self.lines[0][1]) <= position):
            number, line = self.lines.popleft()
            if number > self.read:
                yield line


async def follow_events(watched: Watched, offset: int, read: int) -> AsyncIterator[bytes | dict[str, Any]]:
    """Bytes of both streams in their order, and lines of the file of results, each where the log was when it was told.

    A step that has begun is told before all that it writes, and one that has ended behind that, however late somebody
    comes: the order is always the same. It goes on behind `offset` bytes and `read` results. Raises `Invalid` for an
    offset behind the end of a run that has ended.
    """
    order, lines, waiting = Order(watched), ResultLines(watched), _Waiting(read)
    skipped = offset

    async for has_ended in looks(watched):
        sizes = watched.sizes  # the log was looked at first: what was told before its last byte is among the results
        waiting.lines.extend([line async for line in lines.until(sizes[RESULTS])])
        for line in waiting.until(order.position):
            yield line
        async for name, length in order.pieces(log_size(sizes), is_whole=has_ended):
            done = min(skipped, length)
            skipped -= done
            async for data in order.take(name, length, done):
                yield data
            for line in waiting.until(order.position):
                yield line
        if has_ended:
            for line in waiting.until(None):
                yield line
            check_no_more(skipped, offset)
            return


def _place(line: dict[str, Any]) -> int:
    return int(line[STDOUT]) + int(line[STDERR])
