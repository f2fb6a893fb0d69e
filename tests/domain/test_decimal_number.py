"""Numbers that come as text."""

import pytest

from domain.decimal_number import decimal_number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("17", 17),
        ("9" * 15, 10**15 - 1),
        ("9" * 16, None),
        ("", None),
        ("-1", None),
        ("²", None),
        ("٣", None),
    ],
)
def test_only_digits_that_an_id_may_have_are_a_number(text: str, number: int | None) -> None:
    assert decimal_number(text) == number
