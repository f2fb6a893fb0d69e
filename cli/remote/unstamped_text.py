"""The text of a log without the stamps that runners write before lines, however it is cut into pieces.

The pieces of a line that a runner has cut become one line again.
"""

import re
from typing import Final

from domain.logs.lines import STAMP, may_become_stamp

_STAMP: Final = STAMP.decode()
_STAMPED: Final = re.compile(rf"(\n){_STAMP} |\n{_STAMP}\+")
_LONG: Final = 2048
"""Characters of a line which a runner may have cut though nothing in it says so: 8 KiB, of four bytes each."""


class UnstampedText:
    """Takes the pieces of a log from the beginning of a line on, and gives text back."""

    def __init__(self) -> None:
        """Nothing has come yet."""
        self._held = "\n"
        self._is_printed = True
        """Whether the newline that is held was given back: there is none before a first line."""
        self._line = ""
        self._is_stamped = False

    def feed(self, piece: str) -> str:
        """The text of a piece, as far as it is sure."""
        data = self._held + piece
        newline = data.rfind("\n")
        open_end = (
            newline if newline >= 0 and may_become_stamp(data[newline + 1 :].encode("utf-8", "replace")) else len(data)
        )
        self._held = data[open_end:]
        text = self._unstamped(data[:open_end])
        self._line = (self._line + text).rpartition("\n")[2][-_LONG:]
        if self._held == "\n" and not self._is_printed and not self._may_go_on():
            self._is_printed = True
            text += "\n"
        return text

    def end(self) -> str:
        """What was held back: nothing follows."""
        held, self._held = self._held, ""
        return self._unstamped(held)

    def _may_go_on(self) -> bool:
        """Whether a runner may have cut the line that just came to its end; who follows a log waits for no others."""
        return self._is_stamped and ("\r" in self._line or len(self._line) == _LONG)

    def _unstamped(self, data: str) -> str:
        if not data:
            return ""
        text, found = _STAMPED.subn(r"\1", data)
        self._is_stamped = self._is_stamped or found > 0
        is_printed, self._is_printed = self._is_printed, False
        return text.removeprefix("\n") if is_printed and data.startswith("\n") else text
