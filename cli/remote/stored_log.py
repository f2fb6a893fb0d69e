"""Reading a log as it is now: all of it, its last lines, or what was written since a moment."""

import codecs
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final

from cli.remote.invocation import Invocation
from domain.errors import Invalid
from domain.logs.lines import LINE_END, STAMPED

_FIRST_PART: Final = 64 * 1024
_TIMES: Final = re.compile(
    rb"^(?:section_(?:start|end):(\d{1,12}):|(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?)\d*Z )"
)
"""How a line of a log tells its time: marks of sections, and the timestamps that runners can write."""


def read(call: Invocation, job_id: int, start: int = 0) -> Iterator[bytes]:
    """The bytes from `start` on."""
    with (
        call.naming(f"job {job_id}", "perdure job list"),
        call.api.stream(f"{call.home}/jobs/{job_id}/trace?offset={start}") as response,
    ):
        yield from response.iter_raw()


def tail_offset(call: Invocation, job_id: int, lines: int) -> int:
    """The byte at which the last `lines` lines begin; 0 where there are no more."""
    size = _FIRST_PART
    while True:
        first, part = _last(call, job_id, size)
        begins = [0, *(found.end() for found in LINE_END.finditer(part) if found.end() < len(part))]
        if len(begins) > lines or first == 0:
            return first + (begins[-lines] if lines and len(begins) >= lines else 0 if lines else len(part))
        size *= 8


def since_offset(call: Invocation, job_id: int, moment: datetime) -> int | None:
    """The byte at which the first line begins that was written since; None when nothing was.

    Raises `Invalid` for a log that tells no times.
    """
    offset, timed, rest = 0, False, b""
    for chunk in read(call, job_id):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            at = _time_of(line)
            timed = timed or at is not None
            if at is not None and at >= moment:
                return offset
            offset += len(line) + 1
    if not timed and offset:
        raise Invalid("This log tells no times, so --since cannot be answered; `--tail LINES` can.")
    return None


def decoded(parts: Iterator[bytes], start: int = 0) -> Iterator[tuple[int, str]]:
    """Text of bytes that may be cut anywhere, or be no UTF-8, each with the byte at which it begins."""
    decoder, end = codecs.getincrementaldecoder("utf-8")("replace"), start
    for part in parts:
        text = decoder.decode(part)
        end += len(part)
        open_bytes = len(decoder.getstate()[0])
        if text:
            yield start, text
            start = end - open_bytes
    if rest := decoder.decode(b"", final=True):
        yield start, rest


def _last(call: Invocation, job_id: int, size: int) -> tuple[int, bytes]:
    """The last `size` bytes, and where they begin."""
    headers = {"Range": f"bytes=-{size}"}
    with (
        call.naming(f"job {job_id}", "perdure job list"),
        call.api.stream(f"{call.home}/jobs/{job_id}/trace", headers, accept=416) as response,
    ):
        content = response.read()
        if response.status_code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            return 0, b""
        place = re.match(r"bytes (\d+)-", response.headers.get("content-range", ""))
        return (int(place[1]) if place else 0), content


def _time_of(line: bytes) -> datetime | None:
    stamp = STAMPED.match(line)
    if stamp is not None and stamp[2] == b"+":
        return None  # it began before
    found = _TIMES.match(line.rpartition(b"\x1b[0K")[2] if line.startswith(b"section_end") else line)
    found = found or _TIMES.match(line)
    if found is None:
        return None
    if found[1]:
        return datetime.fromtimestamp(int(found[1]), UTC)
    return datetime.fromisoformat(found[2].decode()).replace(tzinfo=UTC)
