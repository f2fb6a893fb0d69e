"""Curves as SVG: where points are, and that a name is only text."""

import re
from datetime import date, timedelta

import pytest
from defusedxml.ElementTree import fromstring
from hypothesis import given
from hypothesis import strategies as st

from api.pages.projects.curves import Frame, Line, Point, drawn, sample

FIRST, LAST = date(2026, 3, 1), date(2026, 5, 30)
FRAME = Frame(FIRST, LAST, 100.0, "100 %", "50 %")
SPACE = "{http://www.w3.org/2000/svg}"


def points(*values: float) -> list[Point]:
    return [Point(FIRST + timedelta(days=place), value, f"{value:g}") for place, value in enumerate(values)]


def test_points_are_where_their_days_and_values_are() -> None:
    edges = [Point(FIRST, 0.0, "0"), Point(LAST, 100.0, "100"), Point(LAST + timedelta(days=9), 250.0, "beyond")]
    picture = drawn("a", "t", "d", FRAME, [Line("l", edges)])
    assert re.findall(r'points="([^"]*)"', picture) == ["6.0,174.0 714.0,26.0 714.0,26.0"]
    assert FRAME.y(50.0) == pytest.approx((174 + 26) / 2)
    assert Frame(FIRST, FIRST, 0.0, "", "").x(FIRST) == 6
    assert Frame(FIRST, FIRST, 0.0, "", "").y(5.0) == 174


def test_lines_differ_by_more_than_colour() -> None:
    picture = drawn("a", "t", "d", FRAME, [Line(name, points(1, 2)) for name in "abc"])
    dashes = [re.search(r'stroke-dasharray="[^"]*"', line) for line in re.findall("<polyline[^>]*>", picture)]
    assert len({found and found[0] for found in dashes}) == 3
    assert [found and found[0] in sample(place) for place, found in enumerate(dashes)][1:] == [True, True]
    assert set(re.findall(r'(?:fill|stroke)="([^"]*)"', picture)) == {"currentColor", "none"}
    assert "style" not in picture


@given(st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=40), st.lists(st.floats(0, 1e6), max_size=5))
def test_any_text_stays_text(text: str, values: list[float]) -> None:
    line = Line(text, [Point(FIRST, value, text) for value in values])
    picture = str(drawn("id", text, text, FRAME, [line]))
    tree = fromstring(picture.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1))
    assert [tree.findtext(f"{SPACE}{name}") for name in ("title", "desc")] == [text, text]
    assert {element.tag.removeprefix(SPACE) for element in tree.iter()} <= {
        "svg", "title", "desc", "line", "text", "polyline", "circle",
    }  # fmt: skip
    assert len(list(tree.iter(f"{SPACE}circle"))) == len(values)
