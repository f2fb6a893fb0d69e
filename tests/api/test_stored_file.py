"""Which bytes a `Range` header asks for."""

import pytest

from api.stored_file import Unsatisfiable, byte_range


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("", None),
        ("bytes=0-0", (0, 1)),
        ("bytes=0-", (0, 10)),
        ("bytes=9-9", (9, 10)),
        ("bytes=3-99", (3, 10)),
        ("bytes=-4", (6, 10)),
        ("bytes=-99", (0, 10)),
        (" bytes = 1 - 2 ", (1, 3)),
        ("bytes=5-4", None),
        ("bytes=0-1,3-4", None),
        ("bytes=-", None),
        ("items=0-1", None),
        ("bytes=a-b", None),
        ("bytes=٣-٤", None),
        ("bytes=" + "9" * 5_000 + "-", None),
    ],
)
def test_one_range_or_the_whole(header: str, expected: tuple[int, int] | None) -> None:
    assert byte_range(header, 10) == expected


@pytest.mark.parametrize(
    ("header", "size"), [("bytes=10-", 10), ("bytes=10-20", 10), ("bytes=0-0", 0), ("bytes=-0", 10)]
)
def test_a_range_behind_the_end_cannot_be_given(header: str, size: int) -> None:
    with pytest.raises(Unsatisfiable):
        byte_range(header, size)
