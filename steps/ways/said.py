"""What the other side says beside the bytes: its lines go to the log, and the last of them into the error."""

from collections import deque
from collections.abc import Mapping
from typing import Final

import structlog

_LINES: Final = 200
"""Lines of one stream that are logged."""
_KEPT: Final = 8
_LENGTH: Final = 500
"""Characters of a line that are kept."""
_ADVICE: Final[Mapping[int, str]] = {
    126: "the command of `proxy` cannot be run there",
    127: "the command of `proxy` is not there: install it, or name its path by `proxy`",
}
"""Of exit codes of a shell, or of a container's runtime."""

log = structlog.get_logger()


class Said:
    """Lines of one stream."""

    def __init__(self, place: str) -> None:
        """`place` is for the log."""
        self._place = place
        self._begun = b""
        self._last: deque[str] = deque(maxlen=_KEPT)
        self._logged = 0

    def hear(self, data: bytes) -> None:
        """Take what comes."""
        *lines, self._begun = (self._begun + data).split(b"\n")
        for line in lines:
            self._line(line)
        self._begun = self._begun[: 4 * _LENGTH]

    def end(self) -> str:
        """The last lines, as one."""
        self._line(self._begun)
        self._begun = b""
        return "; ".join(self._last)

    def _line(self, content: bytes) -> None:
        decoded = content.decode("utf-8", "replace").rstrip()[:_LENGTH]
        text = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in decoded)
        if not text.strip(" @"):  # OpenSSH frames its warnings with these
            return
        self._last.append(text)
        if self._logged < _LINES:
            self._logged += 1
            log.info("the way to a step runner says", place=self._place, line=text)


def ended(place: str, what: str, code: int | None, said: str) -> ConnectionError:
    """Why a stream is over: what has ended, with which exit code if any, and what was said before."""
    how = "" if code is None else f" with exit code {code}" if code >= 0 else f" by signal {-code}"
    advice = _ADVICE.get(code, "") if code is not None else ""
    return ConnectionError(
        f"{place}: {what} has ended{how}{f': {said}' if said else ''}{f' ({advice})' if advice else ''}"
    )
