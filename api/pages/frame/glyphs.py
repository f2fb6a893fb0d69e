"""Glyphs: ten states and a few signs, as shapes that pages, pictures and the icons of tabs are drawn with.

A state is a shape, a word and a colour; each of the three tells it alone.
"""

from collections.abc import Mapping
from typing import Final

from markupsafe import Markup

_RING: Final = '<circle cx="8" cy="8" r="6.25"/>'
_FILLED: Final = 'fill="currentcolor" stroke="none"'

STATES: Final[Mapping[str, str]] = {
    "created": '<circle cx="8" cy="8" r="6.25" stroke-dasharray="2.4 2.51"/>',
    "pending": f'{_RING}<path d="M6.4 5.75v4.5M9.6 5.75v4.5"/>',
    "running": f'{_RING}<path {_FILLED} d="M8 4.25a3.75 3.75 0 0 1 0 7.5z"/>',
    "success": f'{_RING}<path d="M5.25 8.25l2 2 3.5-4.25"/>',
    "failed": f'{_RING}<path d="M6 6l4 4M10 6l-4 4"/>',
    "warning": f'{_RING}<path d="M8 4.9v3.6M8 10.9v.1"/>',
    "canceled": f'{_RING}<path d="M4.6 11.4l6.8-6.8"/>',
    "skipped": f'{_RING}<path d="M5.6 5.9L7.7 8l-2.1 2.1M8.6 5.9L10.7 8l-2.1 2.1"/>',
    "manual": f'{_RING}<path {_FILLED} d="M6.7 5.4v5.2L10.9 8z"/>',
    "scheduled": f'{_RING}<path d="M8 4.75V8l2.2 1.4"/>',
}
"""The states, in a square of 16 by 16."""

SIGNS: Final[Mapping[str, str]] = {
    "brand": '<path stroke-width="2" d="M3 12.5V3.5h5.25a3 3 0 0 1 0 6H6"/><path stroke-width="2" d="M10.5 12.5h2.5"/>',
    "search": '<circle cx="7" cy="7" r="4.25"/><path d="M10.25 10.25L13.5 13.5"/>',
    "chevron": '<path d="M4.5 6.5L8 10l3.5-3.5"/>',
    "right": '<path d="M6.5 4.5L10 8l-3.5 3.5"/>',
    "retry": '<path d="M13 8a5 5 0 1 1-1.6-3.7M13 2.75V5h-2.25"/>',
    "play": f'<path {_FILLED} d="M5 3.5v9L12.5 8z"/>',
    "stop": '<rect x="4" y="4" width="8" height="8" rx="1"/>',
    "branch": '<circle cx="4.5" cy="3.75" r="1.5"/><circle cx="4.5" cy="12.25" r="1.5"/>'
    '<circle cx="11.5" cy="5" r="1.5"/><path d="M4.5 5.25v5.5M11.5 6.5c0 2.5-4 2-6 3.5"/>',
    "commit": '<circle cx="8" cy="8" r="2.5"/><path d="M1.5 8h4M10.5 8h4"/>',
    "merge": '<circle cx="4.5" cy="3.75" r="1.5"/><circle cx="4.5" cy="12.25" r="1.5"/>'
    '<circle cx="11.5" cy="9" r="1.5"/><path d="M4.5 5.25v5.5M4.75 5.25C5.5 7.5 7.5 9 10 9"/>',
    "clock": '<circle cx="8" cy="8" r="6"/><path d="M8 4.5V8l2.25 1.5"/>',
    "person": '<circle cx="8" cy="5.25" r="2.5"/><path d="M3 13.25c.6-2.6 2.6-4 5-4s4.4 1.4 5 4"/>',
    "tag": '<path d="M2.5 2.75h5l6 6-5 5-6-6z"/><path d="M5.25 5.5v.1"/>',
    "runner": '<rect x="2.5" y="3" width="11" height="4" rx="1"/><rect x="2.5" y="9" width="11" height="4" rx="1"/>'
    '<path d="M5 5v.1M5 11v.1"/>',
    "file": '<path d="M4 2h5l3.5 3.5V14H4zM9 2v3.5h3.5"/>',
    "folder": '<path d="M2 4h4l1.5 1.5H14V13H2z"/>',
    "copy": '<rect x="5.5" y="5.5" width="8" height="8" rx="1"/><path d="M10.5 5.5v-3h-8v8h3"/>',
    "outside": '<path d="M9.5 3H13v3.5M13 3L7.5 8.5M11.5 9.5V13H3V4.5h3.5"/>',
    "download": '<path d="M8 2.5v7.25M5 7l3 3 3-3M3 13h10"/>',
    "theme": f'<circle cx="8" cy="8" r="5.75"/><path {_FILLED} d="M8 2.25a5.75 5.75 0 0 1 0 11.5z"/>',
    "keyboard": '<rect x="1.75" y="4" width="12.5" height="8" rx="1"/>'
    '<path d="M4.5 7v.1M7 7v.1M9.5 7v.1M12 7v.1M5.5 9.5h5"/>',
    "plus": '<path d="M8 3v10M3 8h10"/>',
    "more": '<path stroke-width="2" d="M3.5 8v.1M8 8v.1M12.5 8v.1"/>',
}

_SYMBOLS: Final[Mapping[str, str]] = {
    "waiting-for-resource": "pending",
    "preparing": "pending",
    "canceling": "canceled",
    "success-with-warnings": "warning",
    "failed-with-warnings": "warning",
}
"""Groups of states that look like another one."""

_COLOURS: Final[Mapping[str, str]] = {
    "success": "#1f8a4c",
    "failed": "#c9342a",
    "warning": "#b77900",
    "running": "#1f75cb",
    "pending": "#b77900",
}
_IDLE: Final = "#6b7480"


def symbol_of(group: str) -> str:
    """The glyph of a group of states (`api.v4.representation.statuses.Shown.group`)."""
    return _SYMBOLS.get(group, group)


def sprite() -> Markup:
    """All shapes as symbols, for `<use href="#g-success">` on the same page."""
    known = {**STATES, **SIGNS}
    shapes = "".join(f'<symbol id="g-{name}" viewBox="0 0 16 16">{shape}</symbol>' for name, shape in known.items())
    return Markup(shapes)  # noqa: S704  # the table above and nothing else


def favicon(symbol: str) -> str:
    """The icon of a tab: a state in white on its colour; our own sign for what is no state."""
    shape = (STATES.get(symbol) or SIGNS["brand"]).replace(_RING, "")
    colour = _COLOURS.get(symbol, _IDLE if symbol in STATES else "#4c45c9")
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4.5" '
        f'fill="{colour}"/><g fill="none" color="#fff" stroke="#fff" stroke-width="1.9" stroke-linecap="round" '
        f'stroke-linejoin="round">{shape}</g></svg>'
    )
