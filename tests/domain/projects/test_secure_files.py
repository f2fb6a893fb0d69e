"""Secure files: names that a job can write into one folder, and so many of them."""

import pytest

from domain.errors import Invalid
from domain.projects.secure_files import MAX_FILES, check_room, checked_name


@pytest.mark.parametrize("name", ["a", "release.keystore", "with blank", "é.p12", "x" * 255, "..."])
def test_names_of_files(name: str) -> None:
    assert checked_name(name) == name


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\\b", "a\nb", "a\0", "x" * 256])
def test_names_that_lead_elsewhere_are_refused(name: str) -> None:
    with pytest.raises(Invalid, match="name is"):
        checked_name(name)


def test_a_project_has_so_many_and_each_name_once() -> None:
    check_room("a", MAX_FILES - 1, is_taken=False)
    with pytest.raises(Invalid, match="has a secure file a; remove that one first"):
        check_room("a", 1, is_taken=True)
    with pytest.raises(Invalid, match=f"has {MAX_FILES} secure files at most"):
        check_room("a", MAX_FILES, is_taken=False)
