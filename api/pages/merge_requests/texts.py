"""What people and the server write on merge requests, as HTML that is safe to show."""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from markupsafe import Markup

from api.markdown import rendered
from domain.diffs.visible_text import visible

MAX_RENDERED: Final = 20_000
"""Characters of a text that are rendered; a longer one is shown as it was written, up to `MAX_SHOWN` of them."""
MAX_SHOWN: Final = 100_000
_ITEM: Final = re.compile(r"<li>([^<]*)</li>")


@lru_cache(maxsize=256)
def markdown(text: str) -> Markup | None:
    """A text as HTML; None for one that is too long for that."""
    if len(text) > MAX_RENDERED:
        return None
    return Markup(rendered(visible(text.replace("\r\n", "\n")), gfm=True, images=False))  # noqa: S704  # HTML in it is escaped


@dataclass(frozen=True, slots=True)
class SystemNote:
    """What the server noted: a line, and the commits that it names."""

    line: Markup | None
    commits: Sequence[str] = ()


def system_note(body: str) -> SystemNote:
    """The server's note, which lists commits as `<ul>`, as GitLab's do."""
    line, _, listed = body.partition("\n\n<ul>")
    return SystemNote(markdown(line), [html.unescape(item) for item in _ITEM.findall(listed)])
