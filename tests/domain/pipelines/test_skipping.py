"""Markers in commit messages."""

import pytest

from domain.pipelines.skipping import asks_to_skip


@pytest.mark.parametrize("marker", ["[ci skip]", "[skip ci]", "[CI SKIP]", "[ci-skip]", "[skip_ci]"])
def test_a_marker_anywhere_in_the_message_counts(marker: str) -> None:
    assert asks_to_skip(f"Mend the docs\n\nNothing to test {marker} here")


@pytest.mark.parametrize("text", ["", "skip ci", "[skip]", "[ci  skip]", "[ci skip please]"])
def test_other_text_does_not(text: str) -> None:
    assert not asks_to_skip(text)
