"""Many ids in few characters."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auth.packed_ids import pack, unpack
from domain.errors import Invalid


@given(st.frozensets(st.integers(1, 2**53)))
def test_ids_come_back(ids: frozenset[int]) -> None:
    assert unpack(pack(ids)) == ids


@pytest.mark.parametrize(
    ("ids", "most"),
    [
        ((), 0),
        ((2**53,), 24),
        (range(10**12, 10**12 + 5000), 60),
        (range(10**12, 10**12 + 5000, 2), 60),
        (random.Random(1).sample(range(10**12, 10**12 + 5000), 2500), 1300),
    ],
)
def test_the_jobs_of_a_pipeline_take_little_room(ids: Sequence[int], most: int) -> None:
    assert len(pack(ids)) <= most


@pytest.mark.parametrize("text", ["x", "AAAA", "é"])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        unpack(text)
