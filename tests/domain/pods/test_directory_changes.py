"""What those who keep a copy of a directory do with what it tells."""

import json
from typing import Any

import pytest

from domain.errors import Invalid
from domain.pods.directory import Directory, Pod
from domain.pods.directory_changes import Changes, applied, changes_of, document_of_changes

POD = {"number": 0, "name": "a"}
OTHER = {"number": 7, "name": "b", "address": "h:1"}
BEFORE = Directory(3, (Pod(0, "a"), Pod(7, "b", "h:1")), {"acme": 7, "jo": 0}, {5: 7})


def change(**more: Any) -> Changes:
    return Changes("e", 4, is_complete=False, **more)


def test_what_is_not_named_stays() -> None:
    assert applied(BEFORE, change()) == Directory(4, BEFORE.pods, BEFORE.organisations, BEFORE.moved)


def test_what_is_named_comes_changes_and_goes() -> None:
    new = {"number": 3, "name": "c"}
    changes = change(pods=(new, {**OTHER, "address": "h:2"}), organisations={"acme": 3, "jo": None}, moved={"5": None})
    pods = (Pod(0, "a"), Pod(3, "c"), Pod(7, "b", "h:2"))
    assert applied(BEFORE, changes) == Directory(4, pods, {"acme": 3}, {})
    gone = change(pods=({**OTHER, "state": "removed"},), organisations={"acme": None}, moved={"5": None, "6": 0})
    assert applied(BEFORE, gone) == Directory(4, (Pod(0, "a"),), {"jo": 0}, {6: 0})


def test_all_that_there_is_replaces_what_was_known() -> None:
    whole = Changes("f", 1, is_complete=True, pods=(POD, {**OTHER, "state": "removed"}), organisations={"jo": 0})
    for known in (None, BEFORE):
        assert applied(known, whole) == Directory(1, (Pod(0, "a"),), {"jo": 0})


def test_without_pods_there_is_no_directory() -> None:
    assert applied(None, Changes("e", 0, is_complete=True)) is None
    gone = tuple({"number": pod.number, "name": pod.name, "state": "removed"} for pod in BEFORE.pods)
    assert applied(Directory(3, BEFORE.pods), change(pods=gone)) is None


@pytest.mark.parametrize("changes", [{"organisations": {"acme": 9}}, {"moved": {"5": 9}}])
def test_changes_that_lead_nowhere_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(Invalid, match="lead to pod 9"):
        applied(BEFORE, change(**changes))


def test_changes_come_back_from_json() -> None:
    changes = change(pods=(POD,), organisations={"a": None, "b": 0}, moved={"5": 0})
    assert changes_of(json.loads(json.dumps(document_of_changes(changes)))) == changes


@pytest.mark.parametrize(
    "wrong",
    [
        {"epoch": 1},
        {"version": "1"},
        {"complete": 0},
        {"pods": {}},
        {"pods": [1]},
        {"pods": [{"number": "1"}]},
        {"organisations": []},
        {"organisations": {"acme": [1]}},
        {"moved": {"x": 1}},
    ],
)
def test_what_are_no_changes(wrong: dict[str, Any]) -> None:
    with pytest.raises(Invalid, match="The changes of a directory"):
        changes_of({**document_of_changes(change()), **wrong})
