"""Labels whose values others choose."""

import random
import string

from hypothesis import given
from hypothesis import strategies as st

from metrics.labels import MAX_LENGTH, OTHER, UNTAGGED, BoundedLabel, tag_set


def test_the_first_values_keep_their_names_and_later_ones_share_one() -> None:
    label = BoundedLabel(2)
    assert [label.of(value) for value in ("a", "b", "c", "a", "d")] == ["a", "b", OTHER, "a", OTHER]


def test_a_value_that_is_too_long_is_other() -> None:
    label = BoundedLabel(2)
    assert label.of("x" * (MAX_LENGTH + 1)) == OTHER
    assert label.of("y") == "y", "it took no place"


@given(st.lists(st.text()), st.integers(1, 5))
def test_there_are_never_more_values_than_places(values: list[str], most: int) -> None:
    label = BoundedLabel(most)
    assert len({label.of(value) for value in values} - {OTHER}) <= most


def test_a_list_of_tags_is_one_label_whatever_its_order() -> None:
    tags = random.sample(string.ascii_lowercase, 5)
    assert tag_set(tags) == tag_set(sorted(tags, reverse=True)) == ",".join(sorted(tags))
    assert tag_set([]) == UNTAGGED
