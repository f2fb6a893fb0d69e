"""Names that no branch and no tag may have, and what a full name is short for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.projects.ref_names import HEADS, TAGS, full_ref, is_full, is_like_a_commit, shadows, short_name

WORDS = ("refs", "heads", "tags", "main", "HEAD", "head", "FETCH_HEAD", "v1", "x_HEAD", "REFS")
names = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map("/".join)


@given(st.sampled_from((HEADS, TAGS)), names)
def test_one_prefix_is_taken_off_and_no_more(folder: str, name: str) -> None:
    assert short_name(folder + name) == name


@given(names.filter(lambda name: not shadows(name)), st.booleans())
def test_a_full_name_is_made_of_a_short_one_once(name: str, tag: bool) -> None:
    full = full_ref(name, tag=tag)
    assert (full, short_name(full)) == ((TAGS if tag else HEADS) + name, name)
    assert full_ref(full, tag=tag) == full
    assert full_ref("refs/merge-requests/7/head", tag=tag) == "refs/merge-requests/7/head"


@given(names)
def test_what_means_itself_is_no_name_of_a_branch_or_tag(name: str) -> None:
    assert not is_full(name) or shadows(name)


@pytest.mark.parametrize(
    "name", "refs/heads/main refs/x REFS/heads/main Refs/tags/v1 HEAD FETCH_HEAD AUTO_MERGE A-B_HEAD".split()
)
def test_what_could_be_taken_for_another_ref(name: str) -> None:
    assert shadows(name)


@pytest.mark.parametrize("name", "main heads/main head HEADS refs refsx/a x/refs/heads/main my_HEAD HEAD/x".split())
def test_what_may_exist(name: str) -> None:
    assert not shadows(name)


def test_what_is_named_like_a_commit() -> None:
    found = [is_like_a_commit(name) for name in ("a" * 40, "0" * 64, "a" * 41, "A" * 40, f"x/{'a' * 40}")]
    assert found == [True, True, False, False, False]
