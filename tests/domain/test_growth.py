"""Patterns that once cost the more stars the more, without bound."""

import re
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from domain.projects.protection import fits
from tests.growth import assert_linear


def test_a_pattern_with_stars_costs_what_its_length_does() -> None:
    for pattern in ("*a" * 40 + "b", "a*" * 40 + "b", "*" * 100 + "b", "*aa*aab"):

        def made(size: int, pattern: str = pattern) -> Callable[[], object]:
            text = "a" * size
            return lambda: fits(pattern, text)

        assert_linear(made, 4000)


@given(st.text("ab*", max_size=8), st.text("ab\n", max_size=10))
def test_a_star_is_any_text(pattern: str, name: str) -> None:
    expected = re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name, re.DOTALL)
    assert fits(pattern, name) is (expected is not None)
