"""Markdown as HTML that is safe to show: what is HTML in it is escaped, and links lead nowhere that scripts.

It costs up to 0.1 ms a character, so it is done in the processes of the compilers (`application.texts.renderings`).
Nothing in it depends on the reader: there are no references that are looked up.
"""

from typing import Final

from markdown_it import MarkdownIt

from domain.diffs.visible_text import visible

VERSION: Final = 1
"""Of what pages are given: HTML that another version made is made again. Raise it with each change of `page_html`."""
MAX_LENGTH: Final = 100_000
"""Characters of a text that a call may have rendered."""
MAX_RENDERED: Final = 20_000
"""Characters of a text that pages show rendered; a longer one is shown as it was written."""
MAX_HTML: Final = 256 * 1024
"""Characters of HTML that one text may become: `-` twenty thousand times makes 24 times as much."""


def rendered(text: str, *, gfm: bool, images: bool = True) -> str:
    """CommonMark, with `gfm` also tables, strikethrough and line breaks that count, as HTML.

    Without `images` they are links: a page of ours shows nothing that lies elsewhere.
    """
    parser = _parser(gfm=gfm)
    html: str = (parser if images else parser.disable("image")).render(text)
    return html


def page_html(text: str) -> str | None:
    """A text as HTML for a page; None for one that is too long, or becomes too much."""
    if len(text) > MAX_RENDERED:
        return None
    html = rendered(visible(text.replace("\r\n", "\n")), gfm=True, images=False)
    return html if len(html) <= MAX_HTML else None


def _parser(*, gfm: bool) -> MarkdownIt:
    if not gfm:
        return MarkdownIt("commonmark", {"html": False})
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True})
    return parser.enable(["table", "strikethrough"])
