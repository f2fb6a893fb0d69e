"""Paths: what may be a part of an address, what is kept for ourselves, what becomes of a name."""

import pytest

from domain.projects.path_names import RESERVED, checked_path, checked_top_path, is_path, is_reserved, path_from


@pytest.mark.parametrize("path", ["a", "A.b-c_d", "_x", "0", "x" * 255])
def test_paths(path: str) -> None:
    assert is_path(path)
    assert checked_top_path(path) == path


@pytest.mark.parametrize(
    "path", ["", "-a", ".a", "a.", "a.git", "a.GIT", "a.atom", "a/b", "a b", "é", "a\n", "x" * 256]
)
def test_what_is_no_path(path: str) -> None:
    assert not is_path(path)
    with pytest.raises(ValueError, match="can contain only letters"):
        checked_path(path)


@pytest.mark.parametrize("path", sorted(RESERVED))
def test_addresses_of_our_own_are_no_top_paths_in_any_case(path: str) -> None:
    assert is_reserved(path.upper())
    with pytest.raises(ValueError, match="is a reserved name"):
        checked_top_path(path)


@pytest.mark.parametrize(("name", "path"), [("My Project", "my-project"), ("--a__b!!", "a__b"), ("日本", "")])
def test_a_name_becomes_a_path(name: str, path: str) -> None:
    assert path_from(name) == path
