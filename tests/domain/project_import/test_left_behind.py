"""What stays behind of a project that is imported."""

import pytest

from domain.project_import.left_behind import PARTS, Tally, group_variables, large_files, not_seen, parts_of, told

BY_KIND = {part.kind: part for part in PARTS}


def test_how_many_there_are_and_the_first_of_them() -> None:
    first = [{"username": name} for name in "abcdefg"]
    (left,) = told(BY_KIND["member"], Tally(30, first))
    assert (left.name, left.count, left.failed) == ("a, b, c, d, e and 25 more", 30, False)
    assert told(BY_KIND["member"], Tally(0)) == []


def test_a_list_that_nobody_has_counted() -> None:
    (left,) = told(BY_KIND["pipeline"], Tally(20, [{"id": 1}], at_least=True))
    assert (left.name, left.reason.startswith("At least")) == ("", True)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://ci.example.com/hook", "https://ci.example.com/hook"),
        ("https://hooks.example.com/services/T0/B0/s3cret", "https://hooks.example.com/services/T0/B0/..."),
        ("https://me:s3cret@ci.example.com/hook?token=s3cret#s3cret", "https://ci.example.com/hook"),
        ("https://ci.example.com", "https://ci.example.com"),
        ("https://[s3cret", "(no address)"),
    ],
)
def test_secrets_in_addresses_are_not_told(url: str, shown: str) -> None:
    (left,) = told(BY_KIND["hook"], Tally(1, [{"url": url}]))
    assert left.name == shown


def test_what_is_turned_off_is_not_looked_for() -> None:
    kinds = {part.kind for part in parts_of({"wiki_access_level": "disabled", "packages_enabled": False})}
    assert not {"wiki_page", "package"} & kinds
    assert {"hook", "issue", "container_image"} <= kinds


def test_variables_of_groups_are_told_by_name_alone() -> None:
    (left,) = group_variables("acme", [{"key": "A", "value": "s3cret"}, {"key": "B", "value": None}])
    assert (left.name, left.count, "s3cret" in repr(left)) == ("A, B", 2, False)
    assert group_variables("acme", []) == []


def test_large_files_are_told() -> None:
    assert large_files({}, tracked=False) == []
    assert large_files({"statistics": {"lfs_objects_size": 2_500_000}}, tracked=False)[0].name == "2.5 MB"
    assert large_files({"statistics": None}, tracked=True)[0].kind == "lfs"


def test_a_list_that_cannot_be_read() -> None:
    assert (not_seen("hook", "403").failed, not_seen("variable", "403", failed=True).failed) == (False, True)
