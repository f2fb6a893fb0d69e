"""Output and export files, line by line."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import Invalid
from domain.steps.output_files import MAX_FILE, read_exports, read_outputs

NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
VALUES = st.recursive(
    st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(st.tuples(NAMES, VALUES)))
def test_what_is_written_is_read_and_the_last_line_counts(pairs: list[tuple[str, object]]) -> None:
    content = "".join(f"{json.dumps({'name': name, 'value': value})}\n\n" for name, value in pairs)
    assert read_outputs(content.encode()) == dict(pairs)


@given(st.binary(max_size=40))
def test_whatever_stands_there_is_read_or_refused(content: bytes) -> None:
    try:
        found = read_outputs(content)
    except Invalid:
        return
    assert all(isinstance(name, str) and value is not None for name, value in found.items())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"x", "line 1 is no JSON"),
        (b'\n{"name": "a"}', "line 2 is no object with `name` and `value` alone"),
        (b'{"name": "a", "value": 1, "more": 2}', "line 1 is no object"),
        (b"[]", "line 1 is no object"),
        (b'{"name": "", "value": 1}', "line 1: '' is no name"),
        (b'{"name": null, "value": 1}', "'<null>' is no name"),
        (b'{"name": "a-b", "value": 1}', "'a-b' is no name"),
        (b'{"name": "a", "value": null}', "`value` of a is null"),
        (b'{"name": "a", "value": NaN}', "NaN is no number of JSON"),
        (b'{"name": "a", "name": "b", "value": 1}', "a key stands twice"),
        (b'{"name": "a", "value": "\xff"}', "line 1 is no JSON"),
        (b"[" * 100_000, "line 1 is no JSON"),
        (b" " * (MAX_FILE + 1), "at most 1,048,576"),
    ],
)
def test_what_is_wrong_names_its_line(content: bytes, said: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_outputs(content)
    assert said in str(refused.value)


def test_exports_are_texts() -> None:
    content = b'{"name": "A", "value": 1e3}\n{"name": "B", "value": true}\n{"name": "C", "value": "x y"}\n'
    assert read_exports(content) == {"A": "1000", "B": "true", "C": "x y"}


@pytest.mark.parametrize("value", ["[1]", "{}", '"\\u0000"'])
def test_what_cannot_be_a_variable_is_no_export(value: str) -> None:
    with pytest.raises(Invalid, match="A: a variable of the environment"):
        read_exports(b'{"name": "A", "value": %s}' % value.encode())
