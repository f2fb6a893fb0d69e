"""The text of a log, fit for a terminal or a file: colours stay on a terminal, everything else that steers one goes.

Marks of sections and stamps of lines go too. Pieces may end anywhere: what may be the beginning of a mark or a sequence
is held back.
"""

import re
from typing import Final

from cli.remote.unstamped_text import UnstampedText

_MARK: Final = r"section_(?:start|end):\d{1,20}:[^\r\n\x1b]{0,500}\r\x1b\[0K"
_COLOUR: Final = r"\x1b\[[0-9;:]*m"
_SEQUENCE: Final = (
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # OSC: titles, links, the clipboard
    r"|\x1b[PX^_][^\x1b]*\x1b\\"  # other strings
    r"|\x1b[ -/]*[0-OQ-WYZ\\`-~]"
    r"|\x1b"
)
_CONTROL: Final = r"[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]"
_TOKEN: Final = re.compile(
    f"(?P<mark>{_MARK})|(?P<colour>{_COLOUR})|(?P<gone>{_SEQUENCE}|{_CONTROL})|(?P<line>\r+\n)|(?P<back>\r)"
)
_NEXT: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]|section_|s(?:e(?:c(?:t(?:i(?:on?)?)?)?)?)?\Z")
"""Where a token may begin."""
_OPEN: Final = re.compile(
    r"(?:\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b]*\x1b?|[PX^_][^\x1b]*\x1b?|[ -/]*)?"
    r"|\r+|section_[^\r\n\x1b]*(?:\r(?:\x1b(?:\[0?)?)?)?|s[ection]{0,6})\Z"
)
"""A token whose end has not come."""
_MAX_LINE: Final = 4096
"""Characters that are held back at most; what is longer is no token."""


class LogText:
    """Takes the pieces of a log and gives text back."""

    def __init__(self, *, terminal: bool, colour: bool) -> None:
        """For a `terminal`, where a lone carriage return stays; with colours or without."""
        self._terminal = terminal
        self._colour = colour
        self._held = ""
        self._unstamped = UnstampedText()

    def feed(self, piece: str) -> str:
        """The text of a piece, as far as it is sure."""
        return self._cleaned(self._held + self._unstamped.feed(piece), is_end=False)

    def end(self) -> str:
        """What was held back: nothing follows."""
        return self._cleaned(self._held + self._unstamped.end(), is_end=True)

    def _cleaned(self, text: str, *, is_end: bool) -> str:
        shown: list[str] = []
        place, self._held = 0, ""
        while found := _NEXT.search(text, place):
            start = found.start()
            shown.append(text[place:start])
            if not is_end and len(text) - start <= _MAX_LINE and _OPEN.match(text, start):
                self._held = text[start:]
                return "".join(shown)
            token = _TOKEN.match(text, start)
            shown.append(text[start] if token is None else self._shown(token))
            place = start + 1 if token is None else token.end()
        return "".join([*shown, text[place:]])

    def _shown(self, found: re.Match[str]) -> str:
        match found.lastgroup:
            case "colour":
                return found[0] if self._colour else ""
            case "line":
                return "\n"
            case "back":
                return "\r" if self._terminal else "\n"
            case _:
                return ""
