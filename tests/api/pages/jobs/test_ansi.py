"""Terminal colours as safe HTML."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.pages.jobs.ansi import CLASSES, PLAIN, Style, rendered


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("plain", "plain"),
        ("<script>&\"'", "&lt;script&gt;&amp;&quot;&#x27;"),
        ("\x1b[31mred\x1b[0m and plain", '<span class="f1">red</span> and plain'),
        ("\x1b[1;32mok\x1b[22m on", '<span class="f2 bold">ok</span><span class="f2"> on</span>'),
        ("\x1b[91;44mx", '<span class="f9 b4">x</span>'),
        ("\x1b[38;5;196mx\x1b[39my", '<span class="f9">x</span>y'),
        ("\x1b[38;2;0;200;0mx", '<span class="f2">x</span>'),
        ("\x1b[48;5;232mx\x1b[mx", '<span class="b0">x</span>x'),
        ("\x1b[38;5mx\x1b[999mx", "xx"),
        ("\x1b[38;2;1mx", '<span class="bold">x</span>'),
        ("a\x1b[2K\x1b[1Ab\x1b[?25l", "ab"),
        ("\x1b]0;title\x07x\x1b]8;;javascript:alert(1)\x1b\\link\x1b]8;;\x1b\\", "xlink"),
        ("\x1b[31", "[31"),
        ("bell\x07 null\x00 tab\t", "bell null tab\t"),
    ],
)
def test_known_sequences(text: str, html: str) -> None:
    if html == "[31":  # a sequence that is cut is text, without its escape
        assert "\x1b" not in rendered(text, PLAIN)[0]
    else:
        assert rendered(text, PLAIN)[0] == html


def test_a_style_goes_on_to_the_next_line() -> None:
    _, style = rendered("\x1b[1;4;31mbegin", PLAIN)
    assert rendered("rest", style)[0] == '<span class="f1 bold underline">rest</span>'
    assert Style.from_classes(list(style.classes)) == style


def test_a_style_from_outside_is_taken_by_name_only() -> None:
    assert Style.from_classes(['"><script>', "f1", "f99", "bold", "f2"]) == Style("f1", "", frozenset({"bold"}))


@given(st.text(alphabet=st.sampled_from("\x1b[];mK0139,458<>&\"'ab\x07\x9b\\ \t"), max_size=60))
def test_nothing_but_spans_of_known_classes_ever_comes_out(text: str) -> None:
    html, style = rendered(text, PLAIN)
    assert "\x1b" not in html
    assert set(style.classes) <= CLASSES
    import re

    rest = re.sub(r'<span class="([a-z0-9 ]+)">|</span>', "", html)
    assert "<" not in rest
    assert ">" not in rest
    assert '"' not in rest
    named = {name for names in re.findall(r'class="([^"]*)"', html) for name in names.split()}
    assert named <= CLASSES


def test_a_megabyte_of_escapes_takes_linear_time() -> None:
    html, _ = rendered("\x1b[" * 300_000 + "\x1b]" * 200_000, PLAIN)
    assert "\x1b" not in html
