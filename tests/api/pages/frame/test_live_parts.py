"""Live pieces: what is sent is what changed, and all of it put together is the page."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import DictLoader, Environment
from markupsafe import Markup

from api.pages.frame.live_parts import SEPARATOR, Collector, Fragment

LIST = """<ul>{% for name, text in items %}{% call part("item-" ~ name) %}
<li id="item-{{ name }}">{{ text }}</li>
{% endcall %}{% endfor %}</ul>"""
PICTURE = """<svg>{% call part("n-1", "svg") %}<g id="n-1"><title>{{ text }}</title></g>{% endcall %}</svg>"""

ITEMS = st.dictionaries(st.integers(0, 9), st.text(max_size=8), max_size=6).map(lambda found: sorted(found.items()))


def drawn(source: str, **values: Any) -> Fragment:
    collector = Collector()
    environment = Environment(loader=DictLoader({"page": source}), autoescape=True)
    frame = environment.get_template("page").render(part=collector.part, **values)
    return Fragment(frame, collector.pieces)


@given(ITEMS, ITEMS)
def test_what_is_sent_turns_the_old_page_into_the_new_one(before: Any, after: Any) -> None:
    old, new = drawn(LIST, items=before), drawn(LIST, items=after)
    sent = new.since(old.versions)
    if [name for name, _ in before] != [name for name, _ in after]:
        assert sent == f'<div id="live-content">{new.html}</div>'
    else:
        changed = [name for (name, old_text), (_, text) in zip(before, after, strict=True) if old_text != text]
        assert sent == SEPARATOR.join(new.pieces[f"item-{name}"] for name in changed)
    assert (old.version == new.version) == (before == after)


def test_a_piece_of_a_picture_travels_in_one_and_stands_there_without_it() -> None:
    first, second = drawn(PICTURE, text="a"), drawn(PICTURE, text="b")
    assert first.html == '<svg><g id="n-1"><title>a</title></g></svg>'
    assert second.since(first.versions) == '<svg data-part="n-1"><g id="n-1"><title>b</title></g></svg>'


def test_foreign_text_is_no_place_for_a_piece() -> None:
    text = "<!--part item-1-->"
    page = drawn("{{ text }}" + LIST, items=[(1, text)], text=text)
    assert page.html.count("<li") == 1
    assert page.html == f'{Markup.escape(text)}<ul><li id="item-1">{Markup.escape(text)}</li></ul>'


@pytest.mark.parametrize("name", ["", "A", "1", 'a"b', "a b", "<a>"])
def test_a_piece_needs_a_name_of_its_own(name: str) -> None:
    collector = Collector()
    with pytest.raises(ValueError, match="no name"):
        collector.part(name, caller=str)
    collector.part("a", caller=str)
    with pytest.raises(ValueError, match="no name"):
        collector.part("a", caller=str)
