"""What the server notes on merge requests: a line, and the commits that it names."""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_ITEM: Final = re.compile(r"<li>([^<]*)</li>")
_LIST: Final = "\n\n<ul>"


@dataclass(frozen=True, slots=True)
class SystemNote:
    """What the server noted: a line of Markdown, and the commits that it names."""

    line: str
    commits: Sequence[str] = ()


def system_note(body: str) -> SystemNote:
    """The server's note, which lists commits as `<ul>`, as GitLab's do."""
    line, _, listed = body.partition(_LIST)
    return SystemNote(line, [html.unescape(item) for item in _ITEM.findall(listed)])
