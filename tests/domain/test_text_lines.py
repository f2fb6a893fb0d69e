"""Texts of others are cut at newlines, and nowhere else."""

import pytest

from domain.text_lines import lines_of


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("\n", [""]),
        ("a", ["a"]),
        ("a\n\nb\n", ["a", "", "b"]),
        ("a\rb\fc\x85d\u2028e\n", ["a\rb\fc\x85d\u2028e"]),
    ],
)
def test_lines_end_at_newlines_alone(text: str, lines: list[str]) -> None:
    assert lines_of(text) == lines
