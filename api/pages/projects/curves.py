"""Curves over days, drawn as SVG on the server: no script, no colours of their own, no numbers that only eyes can read.

Lines differ by their dashes and have the colour of the text, so they are right in dark and light. Whoever does not see
them is told by title and description; pages have the same numbers in a table.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from markupsafe import Markup

_WIDTH, _HEIGHT = 720, 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 6, 6, 26, 26
"""Margins, in units of the picture, which is as wide as there is room. What a level is called is above it, so that
letters may be larger where the picture is small."""
_DASHES: Final = ("", "7 4", "2 3")
MAX_LINES: Final = len(_DASHES)


@dataclass(frozen=True, slots=True)
class Point:
    """A value on a day, and what is said of it."""

    day: date
    value: float
    text: str


@dataclass(frozen=True, slots=True)
class Line:
    """Points in the order of their days."""

    name: str
    points: Sequence[Point]


@dataclass(frozen=True, slots=True)
class Frame:
    """What a picture shows: days, the values from 0 to `top`, and what `top` and its half are called."""

    first: date
    last: date
    top: float
    top_text: str
    half_text: str

    def x(self, day: date) -> float:
        """Where a day is; days beyond are at the edge."""
        share = (day - self.first).days / max(1, (self.last - self.first).days)
        return _LEFT + min(1.0, max(0.0, share)) * (_WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        """Where a value is."""
        share = min(1.0, max(0.0, value / self.top)) if self.top > 0 else 0.0
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)


def drawn(identity: str, title: str, description: str, frame: Frame, lines: Sequence[Line]) -> Markup:
    """The picture; `identity` is unlike any other of the page, of letters only. At most three lines differ."""
    parts = [
        Markup(
            '<svg class="curve" viewBox="0 0 {} {}" role="img" aria-labelledby="{id}-title {id}-text">'
            '<title id="{id}-title">{}</title><desc id="{id}-text">{}</desc>'
        ).format(_WIDTH, _HEIGHT, title, description, id=identity),
        *_axes(frame),
    ]
    for place, line in enumerate(lines):
        parts += _line(frame, line, _DASHES[place % MAX_LINES])
    return Markup("").join((*parts, Markup("</svg>")))


def _axes(frame: Frame) -> Iterator[Markup]:
    grid = Markup('<line x1="{}" x2="{}" y1="{y:.1f}" y2="{y:.1f}" stroke="currentColor" stroke-opacity="0.25"/>')
    label = Markup('<text x="{:.0f}" y="{:.1f}" text-anchor="{}" fill="currentColor">{}</text>')
    for value, text in ((0.0, "0"), (frame.top / 2, frame.half_text), (frame.top, frame.top_text)):
        yield grid.format(_LEFT, _WIDTH - _RIGHT, y=frame.y(value))
        yield label.format(_LEFT, frame.y(value) - 4, "start", text)
    yield label.format(_LEFT, _HEIGHT - 6, "start", frame.first.isoformat())
    yield label.format(_WIDTH - _RIGHT, _HEIGHT - 6, "end", frame.last.isoformat())


def _line(frame: Frame, line: Line, dashes: str) -> Iterator[Markup]:
    way = " ".join(f"{frame.x(point.day):.1f},{frame.y(point.value):.1f}" for point in line.points)
    dashed = Markup(' stroke-dasharray="{}"').format(dashes) if dashes else Markup("")
    yield Markup('<polyline points="{}" fill="none" stroke="currentColor" stroke-width="2"{}/>').format(way, dashed)
    dot = Markup('<circle cx="{:.1f}" cy="{:.1f}" r="3" fill="currentColor"><title>{}</title></circle>')
    for point in line.points:
        said = f"{point.day.isoformat()}, {line.name}: {point.text}"
        yield dot.format(frame.x(point.day), frame.y(point.value), said)


def sample(place: int) -> Markup:
    """A piece of the line in this place, for the words that say what it is."""
    dashes = _DASHES[place % MAX_LINES]
    dashed = Markup(' stroke-dasharray="{}"').format(dashes) if dashes else Markup("")
    return Markup(
        '<svg class="sample" viewBox="0 0 40 10" aria-hidden="true">'
        '<line x1="0" x2="40" y1="5" y2="5" stroke="currentColor" stroke-width="2"{}/></svg>'
    ).format(dashed)
