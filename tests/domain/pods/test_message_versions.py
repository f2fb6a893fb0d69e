"""Pods of two versions understand each other (docs/pods.md, "Versions").

`version_1/messages.json` has one of each message that pods send to each other, with all that the first version of it
says; it stays as it is, and only grows by messages of new kinds.
"""

import json
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from domain.pipelines import cross_pod, cross_pod_needs, cross_pod_subscriptions
from domain.pods import job_calls
from domain.pods.visits import VisitorState

MODULES = (cross_pod, cross_pod_needs, cross_pod_subscriptions, job_calls)
BEFORE: dict[str, Any] = json.loads((Path(__file__).parent / "version_1" / "messages.json").read_text())
FREE = {"variables", "inputs", "dotenv"}
"""What is in these comes from the users."""
MORE = st.dictionaries(
    st.text("abc_", min_size=1, max_size=9).map(lambda name: f"new_{name}"), st.integers() | st.text(), max_size=3
)


def kinds() -> Iterator[type]:
    """What pods send to each other."""
    yield VisitorState
    for module in MODULES:
        for value in vars(module).values():
            if isinstance(value, type) and is_dataclass(value) and value.__module__ == module.__name__:
                yield value


KINDS = {kind.__name__: kind for kind in kinds()}


def read(name: str, document: Any) -> Any:
    """As a pod reads it."""
    return TypeAdapter(KINDS[name]).validate_json(json.dumps(document))


def missing(before: Any, now: Any, path: str = "") -> Iterator[str]:
    """Where `now` has not what `before` says; it may have more."""
    if isinstance(before, dict) and isinstance(now, dict):
        for name, value in before.items():
            yield from missing(value, now.get(name), f"{path}.{name}")
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for place, (old, new) in enumerate(zip(before, now, strict=True)):
            yield from missing(old, new, f"{path}[{place}]")
    elif before != now:
        yield path


def with_more(document: Any, more: dict[str, Any]) -> Any:
    """A message of a newer version: it has `more` in every object whose fields are ours."""
    if isinstance(document, list):
        return [with_more(value, more) for value in document]
    if isinstance(document, dict):
        return {key: value if key in FREE else with_more(value, more) for key, value in document.items()} | more
    return document


def test_every_kind_of_message_has_one_of_before() -> None:
    assert BEFORE.keys() == KINDS.keys()


@pytest.mark.parametrize("name", sorted(BEFORE))
def test_a_pod_of_before_is_understood_and_understands(name: str) -> None:
    """What it says is read without a fault, and what is written now has all that it wants, in the same form."""
    kind: TypeAdapter[Any] = TypeAdapter(KINDS[name])
    now = json.loads(kind.dump_json(read(name, BEFORE[name])))
    assert list(missing(BEFORE[name], now)) == []


@pytest.mark.parametrize("name", sorted(BEFORE))
@given(more=MORE)
def test_what_a_newer_pod_says_besides_is_passed_over(name: str, more: dict[str, Any]) -> None:
    assert read(name, with_more(BEFORE[name], more)) == read(name, BEFORE[name])
