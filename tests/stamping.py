"""Stamps as GitLab Runner writes them before lines, by default since 18.7.

Each stream has a `Stamper`. It cuts a line where a write has a carriage return and no newline behind it, and where a
line that does not end becomes too long; the next piece of that stream is marked as one that goes on. What other streams
write meanwhile comes in between. Source: docs/reference/runner-protocol.md, "Log text".
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

BUFFER: Final = 8 * 1024
"""Bytes of a line that has not ended which a runner keeps; more are written as a piece."""
_BEGIN: Final = datetime(2026, 11, 28, 12, tzinfo=UTC)


class Stamper:
    """One stream of a job: `number` 0 is the runner's own, 1 the script's; `kind` is O or E."""

    def __init__(self, number: int = 1, kind: str = "O", longest: int = BUFFER) -> None:
        self._longest = longest
        self._stream = f"{number:02x}{kind}"
        self._now = _BEGIN
        self._goes_on = False
        self._held = b""

    def write(self, data: bytes) -> bytes:
        """What the runner sends when the job writes this at once."""
        *lines, rest = data.split(b"\n")
        sent = [self._piece(line) for line in lines]
        if b"\r" in rest or len(self._held + rest) > self._longest:
            sent.append(self._piece(rest))
            self._goes_on = True
        elif rest:
            self._held = self._held + rest if self._held else self._stamp() + rest
        return b"".join(sent)

    def cut(self) -> bytes:
        """What is left of a line that goes on: it was too long to keep."""
        if not self._held:
            return b""
        sent = self._piece(b"")
        self._goes_on = True
        return sent

    def close(self) -> bytes:
        """What is left of a last line without an end."""
        return self._piece(b"") if self._held else b""

    def _piece(self, text: bytes) -> bytes:
        begin, self._held = self._held or self._stamp(), b""
        return begin + text + b"\n"

    def _stamp(self) -> bytes:
        self._now += timedelta(microseconds=1)
        goes_on, self._goes_on = self._goes_on, False
        return f"{self._now:%Y-%m-%dT%H:%M:%S.%fZ} {self._stream}{'+' if goes_on else ' '}".encode()


def without_stamps(log: str) -> str:
    """What was printed, as people read it."""
    stamp = r"\d{4}-\d\d-\d\dT[0-9:.]{15}Z [0-9a-f]{2}[OE]"
    return re.sub(rf"\n{stamp}\+|^{stamp} ", "", log, flags=re.MULTILINE)


def stamped(*writes: bytes, longest: int = BUFFER) -> bytes:
    """All that the script's output becomes when it is written so; the same writes become the same bytes."""
    stamper = Stamper(longest=longest)
    return b"".join([*map(stamper.write, writes), stamper.close()])
