"""Markdown as HTML that is safe to show: what is HTML in it is escaped, and links lead nowhere that scripts."""

from typing import Final

from markdown_it import MarkdownIt

MAX_LENGTH: Final = 100_000
"""Characters of one text: a second of work at most."""


def rendered(text: str, *, gfm: bool, images: bool = True) -> str:
    """CommonMark, with `gfm` also tables, strikethrough and line breaks that count, as HTML.

    Without `images` they are links: a page of ours shows nothing that lies elsewhere.
    """
    parser = _parser(gfm=gfm)
    html: str = (parser if images else parser.disable("image")).render(text)
    return html


def _parser(*, gfm: bool) -> MarkdownIt:
    if not gfm:
        return MarkdownIt("commonmark", {"html": False})
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True})
    return parser.enable(["table", "strikethrough"])
