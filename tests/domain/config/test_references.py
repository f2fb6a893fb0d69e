"""`!reference` takes what the merged configuration has at its keys, and every wrong one is told."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.config.reading.budget import Budget
from domain.config.reading.issues import Issues
from domain.config.reading.source import read
from domain.config.reading.tree import Items, Map, Place, Reference, Value
from domain.config.references import resolve_references
from domain.errors import ConfigInvalid


def resolved(text: str, copies: int = 10_000) -> Map:
    """The root of a text whose references are all right."""
    issues = Issues("ci.yml")
    root = resolve_references(read(text, issues).root, issues, Budget(copies, issues))
    issues.raise_if_any()
    return root


def messages(text: str, copies: int = 10_000) -> list[str]:
    """What is wrong with the references of a text."""
    with pytest.raises(ConfigInvalid) as caught:
        resolved(text, copies)
    return [issue.message for issue in caught.value.issues]


def test_a_root_without_references_comes_back_as_it_is() -> None:
    issues = Issues("ci.yml")
    root = read("a: {script: [x, [y]], variables: {A: 1}}", issues).root
    assert resolve_references(root, issues, Budget(0, issues)) is root


def test_only_what_is_above_a_reference_is_copied() -> None:
    issues = Issues("ci.yml")
    root = read(".b: {script: [x]}\na: {script: !reference [.b, script], tags: [t]}\nc: {script: z}", issues).root
    made = resolve_references(root, issues, Budget(100, issues))
    before, after = root["a"], made["a"]
    assert isinstance(before, Map)
    assert isinstance(after, Map)
    assert isinstance(before["script"], Reference)
    assert after["script"] == ["x"]
    assert after["tags"] is before["tags"]
    assert made["c"] is root["c"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: {script: !reference [.b, script]}", {"script": ["one", "two"]}),
        ("a: {script: [zero, !reference [.b, script]]}", {"script": ["zero", ["one", "two"]]}),
        ("a: {variables: {X: !reference [.b, variables, X]}}", {"variables": {"X": "1"}}),
        ("a: {variables: !reference [.b, variables]}", {"variables": {"X": "1", "N": 0}}),
        ("a: {image: !reference [.b, image]}", {"image": {"name": "ruby"}}),
        ("a: {image: !reference [.b, image, name]}", {"image": "ruby"}),
        ("a: !reference [.c]", {"script": [["one", "two"], "three"]}),
        ("a: {script: !reference [.c, script]}", {"script": [["one", "two"], "three"]}),
        ("a: {timeout: !reference [default, timeout]}", {"timeout": "1h"}),
        ("a: {rules: [!reference [workflow, rules]]}", {"rules": [[{"if": "$X"}]]}),
        ("a: {variables: {X: !reference [variables, G]}}", {"variables": {"X": "g"}}),
        ("a: {variables: {X: !reference [.b, variables, N]}}", {"variables": {"X": 0}}),
        ("a: {script: !reference [.d, script]}", {"script": ["one", "two"]}),
        ("a: [!reference [.e]]", [""]),
    ],
)
def test_what_a_reference_may_lead_to(text: str, value: object) -> None:
    base = """
.b: {script: [one, two], variables: {X: '1', N: 0}, image: {name: ruby}}
.c: {script: [!reference [.b, script], three]}
.d: !reference [.b]
.e: ''
default: {timeout: 1h}
workflow: {rules: [{if: $X}]}
variables: {G: g}
"""
    assert resolved(base + text)["a"] == value


def test_a_value_keeps_the_places_of_where_it_was_written() -> None:
    root = resolved(".b:\n  script:\n    - one\n    - two\na:\n  script: !reference [.b, script]")
    job = root["a"]
    assert isinstance(job, Map)
    script = job["script"]
    assert isinstance(script, Items)
    assert job.places["script"] == Place(6, 3)
    assert [place.line for place in script.places] == [3, 4]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: {script: !reference [job, script]}", '!reference ["job", "script"] could not be found'),
        ("a: {script: !reference [b, none]}", '!reference ["b", "none"] could not be found'),
        ("a: {script: !reference [b, script, deeper]}", '!reference ["b", "script", "deeper"] could not be found'),
        ("a: {script: !reference [b, nil]}", '!reference ["b", "nil"] could not be found: its value is null or false'),
        (
            "a: {script: !reference [b, off_]}",
            '!reference ["b", "off_"] could not be found: its value is null or false',
        ),
        (
            "a: {script: !reference [b, scirpt]}",
            '!reference ["b", "scirpt"] could not be found; did you mean `script`?',
        ),
        ("a: {script: !reference [a, script]}", '!reference ["a", "script"] is part of a circular chain'),
        ("a: {script: [!reference [a]]}", '!reference ["a"] is part of a circular chain'),
        ("a: {x: !reference [c, x]}\nc: {x: !reference [a, x]}", '!reference ["a", "x"] is part of a circular chain'),
        ("a: {x: !reference [c, y]}\nc: !reference [a]", '!reference ["a"] is part of a circular chain'),
        ("a: {x: !reference [a, y], y: [!reference [a, x]]}", '!reference ["a", "x"] is part of a circular chain'),
        ("a: [!reference [c, x]]\nc: {x: !reference [c]}", '!reference ["c"] is part of a circular chain'),
        ("a: {x: !reference [c, y]}\nc: {y: [!reference [c]]}", '!reference ["c"] is part of a circular chain'),
        ("a: {x: !reference []}", "!reference [] is not valid; it takes keys, as `!reference [.job, script]`"),
        ("a: {x: !reference [b, 1]}", '!reference ["b", "1"] is not valid'),
        ("a: {x: !reference [b, [c]]}", '!reference ["b", "[\'c\']"] is not valid'),
    ],
)
def test_refusals(text: str, said: str) -> None:
    found = messages("b: {script: [x], nil: null, off_: false}\n" + text)
    assert len(found) == 1
    assert found[0].startswith(said)


def test_every_wrong_reference_is_told_once_and_at_its_place() -> None:
    with pytest.raises(ConfigInvalid) as caught:
        resolved(
            "a: &a\n  script:\n    - !reference [x]\n    - !reference [y]\nb: *a\nc: {script: !reference [a, script]}"
        )
    assert [(issue.line, issue.column) for issue in caught.value.issues] == [(3, 7), (4, 7)]


def chain(links: int) -> str:
    """`j0` reaches its text over so many references."""
    links_text = "\n".join(f"j{at}: !reference [j{at + 1}]" for at in range(links))
    return f"{links_text}\nj{links}: text"


def test_ten_references_in_a_row_are_followed() -> None:
    assert set(resolved(chain(10)).values()) == {"text"}


@pytest.mark.parametrize("backwards", [False, True])
def test_more_than_100_references_in_a_row_are_too_many(backwards: bool) -> None:
    lines = chain(101).split("\n")
    found = messages("\n".join(reversed(lines) if backwards else lines))
    assert len(found) == 1
    assert "nesting too deep; at most 100" in found[0]


def test_a_chain_as_long_as_the_text_needs_no_stack() -> None:
    assert all("nesting too deep" in message for message in messages(chain(2_000)))


def test_references_to_references_do_not_multiply_without_end() -> None:
    levels = "\n".join(f"l{at}: [{', '.join([f'!reference [l{at + 1}]'] * 50)}]" for at in range(9))
    assert "grows to more than 2,000,000 values" in messages(f"{levels}\nl9: [x]", copies=2_000_000)[0]


def test_depth_is_limited_in_the_result() -> None:
    deep = "[" * 60 + "x" + "]" * 60
    nested = "[" * 60 + "!reference [b]" + "]" * 60
    for text in (f"b: {deep}\na: {nested}", f"a: {nested}\nb: {deep}"):
        assert "nested too deep by `!reference`; the limit is 100 levels" in messages(text)[0]


KEYS = st.sampled_from(["a", "b", "c", ".d"])
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(0, 3), KEYS)


def mapping(entries: Mapping[str, Value]) -> Map:
    made = Map(Place(1, 1))
    for key, value in entries.items():
        made.put(key, value, Place(1, 1))
    return made


def row(values: Sequence[Value]) -> Items:
    return Items(Place(1, 1), ((value, Place(1, 1)) for value in values))


def reference(keys: Sequence[Value]) -> Reference:
    return Reference(Place(1, 1), ((key, Place(1, 1)) for key in keys))


TREES: st.SearchStrategy[Value] = st.recursive(
    st.one_of(SCALARS, st.lists(KEYS, max_size=4).map(reference), st.lists(SCALARS, max_size=2).map(reference)),
    lambda inner: st.one_of(
        st.dictionaries(KEYS, inner, max_size=4).map(mapping), st.lists(inner, max_size=4).map(row)
    ),
    max_leaves=40,
)


def references(value: Value) -> list[Reference]:
    """Every reference in a value."""
    if isinstance(value, Reference):
        return [value]
    inner = value.values() if isinstance(value, Map) else value if isinstance(value, Items) else ()
    return [found for each in inner for found in references(each)]


@given(st.dictionaries(KEYS, TREES, max_size=4).map(mapping))
def test_any_structure_is_resolved_or_refused(root: Map) -> None:
    issues = Issues("ci.yml")
    try:
        made = resolve_references(root, issues, Budget(10_000, issues))
    except ConfigInvalid:
        return
    assert references(made) == []
    assert (made is root) == (not references(root))
