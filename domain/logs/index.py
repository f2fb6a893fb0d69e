"""The index of a log: places from which any of its lines can be shown alone. A pure function of the log's bytes.

It is made while the log grows: `extended` takes what came and gives back a `Part` with the places found in it and the
state behind it. However the log is cut in pieces, the parts say the same together. docs/decisions/0047 says more.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from domain.logs.error_lines import error_lines, is_verdict
from domain.logs.lines import HEAD, LONG, STAMP_LENGTH, TAIL, counted, last_line_end, line_end, unstamped
from domain.logs.sections import MAX_MARKS, Mark, marks_in
from domain.logs.styles import PLAIN, Style, style_after

BLOCK: Final = 64 * 1024
"""A checkpoint stands at the first line that begins so many bytes behind the one before it, or later."""
MAX_ERRORS: Final = 32
"""Places of errors that are kept of a block."""
NEAR: Final = 2
"""Errors at most so many lines apart are one place."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A line's beginning: byte `offset`, the number of the line from 1, and the style that is in force there."""

    offset: int = 0
    line: int = 1
    style: Style = PLAIN


@dataclass(frozen=True, slots=True)
class State:
    """What must be known to go on: `offset` bytes are read, `lines` lines of them are whole.

    `start` is where the line begins that is being read: `offset`, unless it is a long one of which the beginning is
    read already.
    """

    offset: int = 0
    lines: int = 0
    start: int = 0
    style: Style = PLAIN
    block: int = 0
    marks: int = 0
    errors: int = 0
    last_error: int = -NEAR - 1
    verdict: int = 0


@dataclass(frozen=True, slots=True)
class Part:
    """What one stretch of a log holds, and the state behind it. `errors` are numbers of lines."""

    after: State = field(default_factory=State)
    checkpoints: Sequence[Checkpoint] = ()
    marks: Sequence[Mark] = ()
    errors: Sequence[int] = ()

    def followed_by(self, part: "Part") -> "Part":
        """Both stretches as one."""
        return Part(
            part.after,
            (*self.checkpoints, *part.checkpoints),
            (*self.marks, *part.marks),
            (*self.errors, *part.errors),
        )


BEGIN: Final = Part(checkpoints=(Checkpoint(),))
"""Of a log of which nothing is read."""


def extended(state: State, data: bytes, *, is_last: bool) -> Part:
    """Read the bytes behind `state`; those whose lines have not ended stay unread, unless `is_last`."""
    reader = _Reader(state, data, is_last)
    reader.read()
    return Part(reader.state(), reader.checkpoints, reader.marks, reader.errors)


def lines_of(state: State, size: int) -> int:
    """How many lines a log of `size` bytes has: the one that has not ended is one."""
    return state.lines + (size > state.start)


class _Reader:
    """Goes through one piece of a log."""

    def __init__(self, state: State, data: bytes, is_last: bool) -> None:  # of its module alone
        self.checkpoints: list[Checkpoint] = []
        self.marks: list[Mark] = []
        self.errors: list[int] = []
        self._before, self._data, self._is_last = state, data, is_last
        self._place = 0
        self._start = state.start - state.offset
        self._lines, self._style, self._block = state.lines, state.style, state.block - state.offset
        self._marks, self._in_block = state.marks, state.errors
        self._last_error, self._verdict = state.last_error, state.verdict

    def state(self) -> State:
        base = self._before.offset
        return replace(
            self._before,
            offset=base + self._place,
            lines=self._lines,
            start=base + self._start,
            style=self._style,
            block=base + self._block,
            marks=self._marks,
            errors=self._in_block,
            last_error=self._last_error,
            verdict=self._verdict,
        )

    def read(self) -> None:
        data, is_last = self._data, self._is_last
        while self._place < len(data):
            if self._start < self._place:
                if not self._end_of_long_line():
                    return
                continue
            wanted = max(self._place, self._block + BLOCK - 1)
            end = line_end(data, wanted, is_last=is_last)
            if end < 0:
                end = last_line_end(data, self._place, len(data), is_last=is_last)
            if end >= 0:
                self._whole_lines(end + 1)
            elif is_last:
                self._whole_lines(len(data))
            elif len(data) - self._place > LONG + STAMP_LENGTH + 1:
                self._take(data[self._place : self._place + HEAD])
                self._place += HEAD
            else:
                return

    def _end_of_long_line(self) -> bool:
        """Go on to the end of a line whose beginning is read; false when it has not ended."""
        end = line_end(self._data, self._place, is_last=self._is_last)
        if end < 0 and not self._is_last:
            self._place = max(self._place, len(self._data) - TAIL - STAMP_LENGTH - 1)
            return False
        stop = len(self._data) if end < 0 else end
        self._take(self._data[max(self._place, stop - TAIL) : stop])
        self._ended(stop if end < 0 else end + 1, 1)
        return True

    def _whole_lines(self, stop: int) -> None:
        """Read lines up to, without, byte `stop`; only the last one may be long."""
        data, begin = self._data, self._place
        last = begin
        if stop - begin > LONG:
            last = last_line_end(data, begin, stop - 1, is_last=True) + 1 or begin
        if last > begin:
            self._lines += self._take(data[begin:last])
        head, tail = counted(data[last:stop])
        lines = self._take(head)
        if tail:
            self._take(tail)
        self._ended(stop, 1 if tail else lines + (not head.endswith(b"\n")))

    def _ended(self, place: int, lines: int) -> None:
        self._lines += lines
        self._place = self._start = place
        if place - self._block >= BLOCK:
            self._block = place
            self._in_block = 0
            offset = self._before.offset + place
            self.checkpoints.append(Checkpoint(offset, self._lines + 1, self._style))

    def _take(self, text: bytes) -> int:
        """What the next lines say; gives back how many newlines end lines in them, which are not counted yet."""
        text = unstamped(text)
        for mark in marks_in(text, self._lines + 1, MAX_MARKS - self._marks):
            self.marks.append(mark)
            self._marks += 1
        self._note_errors(text)
        self._style = style_after(text, self._style)
        return text.count(b"\n")

    def _note_errors(self, text: bytes) -> None:
        line, counted_to = self._lines + 1, 0
        for place, said in error_lines(text):
            line += text.count(b"\n", counted_to, place)
            counted_to = place
            if is_verdict(said):
                self._verdict = line
            if line > self._last_error + NEAR and self._in_block < MAX_ERRORS:
                self.errors.append(line)
                self._in_block += 1
            self._last_error = line
