"""Results of steps as a runner hands them in, which may be anything."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import Invalid
from domain.steps.kept_results import MAX_DEPTH, MAX_FILE, KeptStep, read_kept

HELLO = {"name": "hello", "status": "success", "is_kept": True, "outputs": {"line": "hi"}, "exports": {"A": "1"}}
SHOUT = {"name": "shout", "status": "failed", "is_kept": False, "outputs": {}, "exports": {}}
DEEPEST = 200_000


def written(*steps: Any, version: Any = 1) -> bytes:
    """A file of these steps."""
    return json.dumps({"version": version, "steps": steps}).encode()


def nested(depth: int) -> Any:
    """Lists in lists, so many of them."""
    value: Any = "x"
    for _ in range(depth):
        value = [value]
    return value


def test_steps_are_read_in_their_order() -> None:
    assert read_kept(written(HELLO, {**SHOUT, "more": 1})) == (
        KeptStep("hello", "success", is_kept=True, outputs={"line": "hi"}, exports={"A": "1"}),
        KeptStep("shout", "failed", is_kept=False, outputs={}, exports={}),
    )
    assert read_kept(written()) == ()


def test_what_is_not_kept_is_not_taken_even_if_it_is_there() -> None:
    (step,) = read_kept(written({**HELLO, "is_kept": False}))
    assert (step.outputs, step.exports) == ({}, {})


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "the file is no JSON"),
        (b"\xff\xfe", "the file is no JSON"),
        (b'{"version": 1, "steps": [NaN]}', "the file is no JSON"),
        (b'{"version": 1, "steps": [-Infinity]}', "the file is no JSON"),
        (b'{"version": 1, "steps": [1e999]}', "the file is no JSON"),
        (b'{"version": 1, "steps": ["\\ud800"]}', "the file is no JSON"),
        (b'{"version": 1, "steps": [' + b"9" * 5_000 + b"]}", "the file is no JSON"),
        (b"[" * DEEPEST, "the file is no JSON"),
        (b"[" * DEEPEST + b"]" * DEEPEST, "the file is no JSON"),
        (b" " * (MAX_FILE + 1), "the file has more than 4,194,304 bytes"),
        (b"[]", "the file is no object with a list of steps"),
        (b'{"version": 1, "steps": {}}', "the file is no object with a list of steps"),
        (written(version=2), "the version of the file is not 1"),
        (written(version=True), "the version of the file is not 1"),
        (written(version=None), "the version of the file is not 1"),
        (written("hello"), "step 1 of the file is no object"),
        (written(HELLO, {**SHOUT, "name": 7}), "`name` of step 2 of the file is not a text"),
        (written({**HELLO, "status": None}), "`status` of step 1 of the file is not a text"),
        (written({**HELLO, "is_kept": 1}), "`is_kept` of step 1 of the file is not a boolean"),
        (written({**HELLO, "outputs": []}), "`outputs` of step 1 of the file is not an object"),
        (written({"name": "hello"}), "`status` of step 1 of the file is not a text"),
        (written({**HELLO, "exports": {"A": 1}}), "`exports` of step 1 of the file are not texts by name"),
        (written({**HELLO, "exports": {"A=B": "1"}}), "`exports` of step 1 of the file are not texts by name"),
        (written({**HELLO, "exports": {"A": "\0"}}), "`exports` of step 1 of the file are not texts by name"),
        (
            written({**HELLO, "outputs": {"x": 2**63}}),
            "`outputs` of step 1 of the file are too deep, or have too large",
        ),
        (written({**HELLO, "outputs": {"x": nested(MAX_DEPTH)}}), "`outputs` of step 1 of the file are too deep"),
        (written(HELLO, HELLO), "two steps of the file have the same name"),
    ],
)
def test_what_is_none_is_refused_in_words_of_ours(content: bytes, fault: str) -> None:
    with pytest.raises(Invalid) as raised:
        read_kept(content)
    assert str(raised.value).startswith(fault)


def test_values_may_be_as_deep_and_as_large_as_a_runner_can_be_told() -> None:
    outputs = {"deep": nested(MAX_DEPTH - 1), "large": 2**63 - 1, "small": -(2**63), "nul": "\0", "none": None}
    (step,) = read_kept(written({**HELLO, "outputs": outputs}))
    assert orjson.loads(orjson.dumps(step.outputs)) == outputs


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "name": st.text(max_size=3) | JSON,
                "status": st.just("success") | JSON,
                "is_kept": st.booleans() | JSON,
                "outputs": st.dictionaries(st.text(max_size=5), JSON, max_size=4) | JSON,
                "exports": st.dictionaries(st.sampled_from(["A", "B", "1"]), st.text(max_size=5)) | JSON,
            }
        ),
        max_size=3,
    )
    | JSON
)
def test_whatever_is_taken_can_be_told_a_runner(steps: Any) -> None:
    try:
        read = read_kept(json.dumps({"version": 1, "steps": steps}).encode())
    except Invalid:
        return
    assert len({step.name for step in read}) == len(read)
    for step in read:
        told = {"outputs": step.outputs, "exports": step.exports}
        assert orjson.loads(orjson.dumps(told)) == told
