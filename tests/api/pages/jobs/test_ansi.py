"""Terminal colours and links as safe HTML."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.pages.jobs.ansi import rendered
from domain.logs.styles import PLAIN, Style


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("plain", "plain"),
        ("<script>&\"'", "&lt;script&gt;&amp;&quot;&#x27;"),
        ("\x1b[31mred\x1b[0m and plain", '<span class="f1">red</span> and plain'),
        ("\x1b[1;32mok\x1b[22m on", '<span class="f2 bold">ok</span><span class="f2"> on</span>'),
        ("\x1b[91;44mx", '<span class="f9 b4 on">x</span>'),
        ("\x1b[38;5;196mx\x1b[39my", '<span class="f196">x</span>y'),
        ("\x1b[38;2;0;200;0mx", '<span class="f40" data-f="00c800">x</span>'),
        ("\x1b[48;2;8;8;8mx", '<span class="b232 on" data-b="080808">x</span>'),
        ("\x1b[38:2::255:0:0mx", '<span class="f196" data-f="ff0000">x</span>'),
        ("\x1b[38:5:9;4:3mx", '<span class="f9 underline">x</span>'),
        ("\x1b[48;5;232mx\x1b[mx", '<span class="b232 on">x</span>x'),
        ("\x1b[7;31mx", '<span class="b1 on">x</span>'),
        ("\x1b[7mx", '<span class="inverse">x</span>'),
        ("\x1b[38;5mx\x1b[999mx", "xx"),
        ("\x1b[38;2;1mx", "x"),
        ("a\x1b[2K\x1b[1Ab\x1b[?25l", "ab"),
        ("\x1b]0;title\x07x\x1b]8;;javascript:alert(1)\x1b\\link\x1b]8;;\x1b\\", "xlink"),
        ("bell\x07 null\x00 tab\t", "bell null tab\t"),
        ("a\u202eb", 'a<span class="turn">U+202E</span>b'),
    ],
)
def test_known_sequences(text: str, html: str) -> None:
    assert rendered(text, PLAIN)[0] == html


def test_a_sequence_that_is_cut_is_text_without_its_escape() -> None:
    assert rendered("\x1b[31", PLAIN)[0] == "31"


LINK = '<a href="{0}" title="{0}" data-host="{1}" target="_blank" rel="noopener noreferrer nofollow">{2}</a>'


@pytest.mark.parametrize(
    ("text", "html"),
    [
        (
            "\x1b]8;id=1;https://example.com/a?b&c\x07go\x1b]8;;\x07 on",
            LINK.format("https://example.com/a?b&amp;c", "example.com", "go") + " on",
        ),
        ("\x1b]8;;http://a.b/\x1b\\never closed", LINK.format("http://a.b/", "a.b", "never closed")),
        (
            "see https://example.com/x.",
            "see " + LINK.format("https://example.com/x", "example.com", "https://example.com/x") + ".",
        ),
        (
            "(http://a.b:80/?c=<d>)",
            "(" + LINK.format("http://a.b:80/?c=", "a.b", "http://a.b:80/?c=") + "&lt;d&gt;)",
        ),
    ],
)
def test_links_lead_to_the_web_and_say_where(text: str, html: str) -> None:
    assert rendered(text, PLAIN)[0] == html


NO_LINKS = (
    "javascript:alert(1) data:text/html,x file:///etc/passwd //host/x https:///x https://[x/ ftp://a/ https://ä.de"
)


@pytest.mark.parametrize("target", NO_LINKS.split())
def test_no_other_link_is_one(target: str) -> None:
    assert rendered(f"\x1b]8;;{target}\x07text\x1b]8;;\x07", PLAIN)[0] == "text"


def test_a_style_goes_on_to_the_next_line() -> None:
    _, style = rendered("\x1b[1;4;31mbegin", PLAIN)
    assert rendered("rest", style)[0] == '<span class="f1 bold underline">rest</span>'
    assert Style.parse(str(style)) == style


TAGS = re.compile(
    r'<span class="(?:[fb]\d{1,3} ?|on ?|bold ?|dim ?|italic ?|underline ?|inverse ?|strike ?|turn)+"'
    r'(?: data-[fb]="[0-9a-f]{6}")*>|</span>'
    r'|<a href="https?://[^"<>]*" title="https?://[^"<>]*" data-host="[^"<>]*" target="_blank"'
    r' rel="noopener noreferrer nofollow">|</a>'
)


PIECES = """ESC [ ] 8;; ; m K 38;2; 48;5; 200 1 < & " ' a BELL CSI \\ https:// x.y/ TURN javascript:""".split()
CONTROLS = {"ESC": "\x1b", "BELL": "\x07", "CSI": "\x9b", "TURN": "\u202e"}


@given(st.lists(st.sampled_from([CONTROLS.get(piece, piece) for piece in (*PIECES, " ", "\t")]), max_size=60))
def test_nothing_but_known_tags_ever_comes_out(pieces: list[str]) -> None:
    html, _ = rendered("".join(pieces), PLAIN)
    assert "\x1b" not in html
    assert not set('<>"') & set(TAGS.sub("", html))
    assert html.count("<span") == html.count("</span>")
    assert html.count("<a ") == html.count("</a>")


def test_a_megabyte_of_escapes_takes_linear_time() -> None:
    html, _ = rendered("\x1b[" * 300_000 + "\x1b]" * 200_000, PLAIN)
    assert "\x1b" not in html
