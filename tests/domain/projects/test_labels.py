"""Labels: colors by number and by name, letters that can be read upon them, names."""

import pytest

from domain.errors import Invalid
from domain.projects.labels import MAX_NAME, checked_name, color_of, text_color


@pytest.mark.parametrize(
    ("text", "color"), [("#abc", "#abc"), ("#ABCDEF", "#ABCDEF"), ("Red", "#ff0000"), ("orange", "#ffa500")]
)
def test_colors(text: str, color: str) -> None:
    assert color_of(text) == color


@pytest.mark.parametrize("text", ["", "#ab", "#abcd", "ff0000", "#ggg", "reddish", "#abc\n"])
def test_what_is_no_color_is_told_with_those_there_are(text: str) -> None:
    with pytest.raises(Invalid, match=r"color is invalid: .* is none; write #rrggbb, #rgb, or one of black,"):
        color_of(text)


@pytest.mark.parametrize(
    ("color", "letters"), [("#fff", "#1F1E24"), ("#ffffff", "#1F1E24"), ("#000", "#FFFFFF"), ("#6699cc", "#FFFFFF")]
)
def test_letters_are_dark_upon_bright_colors(color: str, letters: str) -> None:
    assert text_color(color) == letters


def test_names_have_no_blanks_around_them_and_no_comma() -> None:
    assert checked_name("  needs review ") == "needs review"
    assert checked_name("x" * MAX_NAME) == "x" * MAX_NAME
    for name in ("", "  ", "a,b", "x" * (MAX_NAME + 1)):
        with pytest.raises(Invalid, match="name is invalid"):
            checked_name(name)
