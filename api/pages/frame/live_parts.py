"""The part of a page that changes, in pieces: what did not change is neither sent nor touched.

A template marks a piece by `{% call part("job-12") %}<li id="job-12">…</li>{% endcall %}`: one element, whose id is the
piece's name. Pieces stand side by side, never in one another. `part("n-12", "svg")` is one inside a picture.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from markupsafe import Markup

SEPARATOR: Final = "\n<!--piece-->\n"
"""Between pieces that are sent together: a browser reads each by itself, since a row of a table is one only alone."""
_NAME: Final = re.compile(r"[a-z][a-z0-9-]*")
_PLACE: Final = re.compile(r"<!--part ([a-z0-9-]+)-->")
"""Where a piece belongs; no text from outside can say this, since its `<` is escaped."""


@dataclass(slots=True)
class Collector:
    """Takes the pieces out of a template while it is rendered."""

    pieces: dict[str, str] = field(default_factory=dict)

    def part(self, name: str, kind: str = "", *, caller: Callable[[], str]) -> Markup:
        """One piece. Raises `ValueError` for a name that is none, or is used twice."""
        if not _NAME.fullmatch(name) or name in self.pieces:
            raise ValueError(f"no name for a further part: {name!r}")
        html = str(caller()).strip()
        self.pieces[name] = f'<svg data-part="{name}">{html}</svg>' if kind == "svg" else html
        return Markup(f"<!--part {name}-->")  # noqa: S704  # a name of small letters and digits


@dataclass(frozen=True)
class Fragment:
    """What is live of a page. `version` changes when, and only when, the HTML does."""

    frame: str
    pieces: Mapping[str, str]

    @cached_property
    def html(self) -> Markup:
        """All of it."""
        return Markup(_PLACE.sub(lambda place: _bare(self.pieces[place[1]]), self.frame))  # noqa: S704  # escaped by the template

    @cached_property
    def version(self) -> str:
        """Of all of it."""
        return _digest(self.html)

    @cached_property
    def versions(self) -> dict[str, str]:
        """Of each piece, and of what is around them under the name of nobody."""
        return {"": _digest(self.frame)} | {name: _digest(html) for name, html in self.pieces.items()}

    def since(self, known: Mapping[str, str]) -> str:
        """The HTML that somebody lacks who has these versions: changed pieces, or all of it in its element."""
        if known.get("") != self.versions[""]:
            return f'<div id="live-content">{self.html}</div>'
        return SEPARATOR.join(html for name, html in self.pieces.items() if known.get(name) != self.versions[name])


def _bare(piece: str) -> str:
    """A piece of a picture without what it travels in."""
    return re.sub(r'^<svg data-part="[a-z0-9-]+">(.*)</svg>$', r"\1", piece, flags=re.DOTALL)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
