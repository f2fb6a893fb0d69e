"""What is kept of what runners say of themselves."""

from typing import Any

import pytest

from domain.runners.info import kept_info


@pytest.mark.parametrize(
    ("info", "kept"),
    [
        (None, {}),
        ("19.4", {}),
        ({"version": "19.4.0", "platform": "linux", "colour": "red"}, {"version": "19.4.0", "platform": "linux"}),
        ({"version": 19, "name": None}, {}),
        ({"name": "a\0b" + "x" * 300}, {"name": "ab" + "x" * 253}),
        ({"features": {"image": True, "cache": "yes", "n\0": False}}, {"features": {"image": True, "n": False}}),
        ({"features": ["image"]}, {}),
        ({"labels": {"zone": "a\0", "rank": 3}}, {"labels": {"zone": "a"}}),
        ({"features": {str(number): True for number in range(300)}}, {"features": {str(n): True for n in range(200)}}),
    ],
)
def test_known_words_features_and_labels_are_kept(info: Any, kept: dict[str, Any]) -> None:
    assert kept_info(info) == kept
