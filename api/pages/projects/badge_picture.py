"""The picture of a badge: two halves, the right one in a colour that tells. GitLab: "Badges", "Customize badges"."""

from html import escape
from typing import Final, Literal

from fastapi import Response

from domain.projects.badges import Said

Style = Literal["flat", "flat-square"]
MAX_KEY: Final = 64
"""Characters; a longer key is the usual one, as in GitLab."""
MAX_KEY_WIDTH: Final = 512
MAX_VALUE_WIDTH: Final = 200
_MAX_VALUE: Final = 64
_HEIGHT: Final = 20
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
}
"""What a picture says is true for a moment only."""


def picture(key: str, said: Said, key_width: int, value_width: int, style: str) -> Response:
    """The picture as a response; widths are pixels."""
    return Response(drawn(key, said, key_width, value_width, style), media_type="image/svg+xml", headers=_HEADERS)


def drawn(key: str, said: Said, key_width: int, value_width: int, style: str) -> str:
    """The picture as SVG."""
    value = said.text if len(said.text) <= _MAX_VALUE else f"{said.text[: _MAX_VALUE - 1]}…"
    key, value, width = escape(key), escape(value), key_width + value_width
    corner = "0" if style == "flat-square" else "3"
    middles = (key_width / 2, key_width + value_width / 2)
    texts = "".join(
        f'<text x="{middle:g}" y="14">{text}</text>' for middle, text in zip(middles, (key, value), strict=True)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{_HEIGHT}" role="img" '
        f'aria-label="{key}: {value}"><title>{key}: {value}</title>'
        f'<clipPath id="edge"><rect width="{width}" height="{_HEIGHT}" rx="{corner}"/></clipPath>'
        f'<g clip-path="url(#edge)"><rect width="{key_width}" height="{_HEIGHT}" fill="#555"/>'
        f'<rect x="{key_width}" width="{value_width}" height="{_HEIGHT}" fill="{said.color}"/></g>'
        f'<g fill="#fff" text-anchor="middle" font-family="DejaVu Sans,Verdana,Geneva,sans-serif" font-size="11">'
        f"{texts}</g></svg>\n"
    )
