"""Blocks in a configuration: their values, their functions, and the limits."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.config.inputs.blocks import blocks_of
from domain.config.inputs.input_types import as_value
from domain.config.inputs.interpolation import interpolate
from domain.config.issue import ConfigIssue
from domain.config.reading.issues import Issues
from domain.config.reading.source import read
from domain.config.reading.tree import Items, Map, Place, Reference, Value
from domain.errors import ConfigInvalid

VALUES = {
    "name": "web",
    "count": 3,
    "half": 0.5,
    "fast": True,
    "none": None,
    "list": ["a", "b"],
    "deep": [[["x"]]],
    "hosts": [{"name": "h1", "ports": [80, 443]}],
    "empty": [],
    "long": "abcdefgh",
    "shell": "it's $HOME\nnew",
    "vars": "$KNOWN ${KNOWN} %KNOWN% $UNKNOWN $$KNOWN",
    "secret": "$SECRET",
    "a-b": "dash",
}
COMPONENT = {"name": "lint", "sha": "0" * 40}


def interpolated(text: str | Map, values: dict[str, Any] | None = None) -> Map:
    """A text with blocks; raises `ConfigInvalid` if something is wrong."""
    issues = Issues(".gitlab-ci.yml")
    root = text if isinstance(text, Map) else read(text, issues).root
    known = {name: as_value(value, Place(1, 1)) for name, value in (VALUES | (values or {})).items()}
    found = interpolate(
        root, known, COMPONENT, issues, get={"KNOWN": "v", "SECRET": "s"}.get, masked=frozenset({"SECRET"})
    )
    issues.raise_if_any()
    return found


def value_of(block: str, values: dict[str, Any] | None = None) -> Value:
    """What stands at a key that has this text."""
    root = Map()
    root.put("key", block, Place(1, 6))
    return interpolated(root, values)["key"]


def wrong(text: str | Map, values: dict[str, Any] | None = None) -> tuple[ConfigIssue, ...]:
    """What is wrong with a text."""
    with pytest.raises(ConfigInvalid) as caught:
        interpolated(text, values)
    return caught.value.issues


@pytest.mark.parametrize(
    ("block", "value"),
    [
        ("$[[ inputs.name ]]", "web"),
        ("$[[inputs.name]]", "web"),
        ("$[[\n  inputs.name\n]]", "web"),
        ("$[[ inputs.count ]]", 3),
        ("$[[ inputs.half ]]", 0.5),
        ("$[[ inputs.fast ]]", True),
        ("$[[ inputs.none ]]", None),
        ("$[[ inputs.list ]]", ["a", "b"]),
        ("$[[ inputs.list[1] ]]", "b"),
        ("$[[ inputs.deep[0][0][0] ]]", "x"),
        ("$[[ inputs.hosts[0].name ]]", "h1"),
        ("$[[ inputs.hosts[0].ports[1] ]]", 443),
        ("$[[ inputs.a-b ]]", "dash"),
        ("$[[ component.name ]]", "lint"),
        (" $[[ inputs.count ]]", " 3"),
        ("a-$[[ inputs.name ]]-$[[ inputs.count ]]-$[[ inputs.half ]]", "a-web-3-0.5"),
        ("$[[ inputs.count ]]$[[ inputs.count ]]", "33"),
        ("is $[[ inputs.fast ]], $[[ inputs.none ]].", "is true, ."),
        ("list: $[[ inputs.list ]]", 'list: ["a", "b"]'),
        ("hosts: $[[ inputs.hosts ]]", 'hosts: [{"name": "h1", "ports": [80, 443]}]'),
        ("$[[ inputs.long | truncate(2,3) ]]", "cde"),
        ("$[[ inputs.long | truncate( 6 , 30 ) ]]", "gh"),
        ("$[[ inputs.long | truncate(99,1) ]]", ""),
        ("$[[ inputs.list[0] | truncate(0,1) ]]", "a"),
        ("$[[ inputs.shell | posix_escape ]]", "it\\'s\\ \\$HOME'\n'new"),
        ("$[[ inputs.none_text | posix_escape ]]", "''"),
        ("$[[ inputs.vars | expand_vars ]]", "v v v $UNKNOWN $$KNOWN"),
        ("$[[ inputs.vars|expand_vars|truncate(0,3)|posix_escape ]]", "v\\ v"),
        ("$[[ matrix.OS ]]", "$[[ matrix.OS ]]"),
        ("$[[ matrix.OS ]] on $[[ inputs.name ]]", "$[[ matrix.OS ]] on web"),
        ("$[[ ]]", "$[[ ]]"),
        ("$[[ x ]]", "$[[ x ]]"),
        ("$[[ inputs.name", "$[[ inputs.name"),
        ("$[[ inputs.name\nmore ]]", "$[[ inputs.name\nmore ]]"),
        ("$[[ open\n$[[ inputs.name ]]", "$[[ open\nweb"),
        ("if [[ -n x ]]; then $[[ inputs.name ]]; fi", "if [[ -n x ]]; then web; fi"),
    ],
)
def test_values(block: str, value: Any) -> None:
    found = value_of(block, {"none_text": ""})
    assert found == value
    assert isinstance(found, bool) == isinstance(value, bool)


@pytest.mark.parametrize(
    ("block", "said"),
    [
        ("$[[ inputs.nam ]]", "unknown interpolation provided: `nam` in `inputs.nam`; did you mean `name`?"),
        ("x $[[ inputs.other ]]", "unknown interpolation provided: `other` in `inputs.other`"),
        ("$[[ input.name ]]", "unknown interpolation provided: `input` in `input.name`; did you mean `inputs`?"),
        ("$[[ inputs.name.first ]]", "unknown interpolation provided: `first` in `inputs.name.first`"),
        ("$[[ component.version ]]", "unknown interpolation provided: `version` in `component.version`; list it in"),
        ("$[[ inputs ]]", "invalid pattern used for interpolation. Valid pattern is $[[ inputs.input ]]"),
        ("$[[ inputs.list[2] ]]", "array index 2 out of bounds (size: 2) in `inputs.list[2]`"),
        ("$[[ inputs.name[0] ]]", "cannot index into non-array value at [0] in `inputs.name[0]`"),
        ("$[[ inputs.list[x] ]]", "invalid array index in `inputs.list[x]`: `x` is not a valid index"),
        ("$[[ inputs.list[-1] ]]", "invalid array index in `inputs.list[-1]`: `-1` is not a valid index"),
        ("$[[ inputs.list[] ]]", "invalid array index in `inputs.list[]`: `` is not a valid index"),
        ("$[[ inputs.list[0]x ]]", "invalid array index syntax in `inputs.list[0]x`"),
        ("$[[ inputs.list[0]]]", "missing closing bracket; after an index put a blank before `]]`"),
        ("$[[ inputs.[0] ]]", "invalid indexed access without a key in `inputs.[0]`"),
        ("$[[ inputs.deep[0][0][0][0][0][0] ]]", "too many array indices"),
        ("$[[ inputs.long | truncat(0,1) ]]", "no function matching `truncat(0,1)`: check that the function name"),
        ("$[[ inputs.long | truncate(a,1) ]]", "no function matching `truncate(a,1)`"),
        ("$[[ inputs.long | truncate ]]", "no function matching `truncate`"),
        ("$[[ inputs.long | expand_var ]]", "did you mean `expand_vars`?"),
        ("$[[ inputs.long | lower ]]", "there are expand_vars, posix_escape, truncate"),
        ("$[[ inputs.long | ]]", "no function matching ``"),
        ("$[[ inputs.count | truncate(0,1) ]]", "error in `truncate` function: invalid input type: truncate can only"),
        ("$[[ inputs.list | posix_escape ]]", "invalid input type: posix_escape can only be used with string inputs"),
        ("$[[ inputs.fast | expand_vars ]]", "invalid input type: expand_vars can only be used with string inputs"),
        (
            "$[[ inputs.secret | expand_vars ]]",
            "error in `expand_vars` function: variable expansion error: masked variables cannot be expanded; `SECRET`",
        ),
        (
            "$[[ inputs.long | expand_vars | expand_vars | expand_vars | expand_vars ]]",
            "too many functions in interpolation block; the limit is 3",
        ),
        (f"$[[ inputs.{'x' * 1_020} ]]", "maximum interpolation expression size exceeded"),
    ],
)
def test_refused(block: str, said: str) -> None:
    root = Map()
    root.put("key", block, Place(4, 2))
    (issue,) = wrong(root)
    assert said in issue.message
    assert (issue.line, issue.column) == (4, 2)


def test_keys_elements_and_references() -> None:
    root = interpolated(
        """
        "$[[ inputs.name ]]-job":
          script: [first, "$[[ inputs.list ]]", "$[[ inputs.empty ]]", last]
          only: [["$[[ inputs.list ]]"], "x $[[ inputs.list ]]"]
          before_script: !reference [".$[[ inputs.name ]]", script]
        "$[[ inputs.count ]]": {"$[[ inputs.fast ]]": "$[[ inputs.hosts ]]"}
        """
    )
    assert root == {
        "web-job": {
            "script": ["first", "a", "b", "last"],
            "only": [["a", "b"], 'x ["a", "b"]'],
            "before_script": [".web", "script"],
        },
        "3": {"true": [{"name": "h1", "ports": [80, 443]}]},
    }
    job = root["web-job"]
    assert isinstance(job, Map)
    assert isinstance(job["before_script"], Reference)


def test_places_stay() -> None:
    root = interpolated('a: 1\n"$[[ inputs.name ]]":\n  script:\n    - x\n    - "$[[ inputs.list ]]"\n    - y\n')
    assert root.places == {"a": Place(1, 1), "web": Place(2, 1)}
    job = root["web"]
    assert isinstance(job, Map)
    script = job["script"]
    assert isinstance(script, Items)
    assert job.places == {"script": Place(3, 3)}
    assert [place.line for place in script.places] == [4, 5, 5, 6]


def test_a_later_key_of_the_same_name_wins() -> None:
    assert interpolated('web: 1\n"$[[ inputs.name ]]": 2\n') == {"web": 2}


def test_a_list_is_no_key() -> None:
    (issue,) = wrong('"$[[ inputs.list ]]": 2\n')
    assert issue.message == "the key `$[[ inputs.list ]]` becomes a list or a mapping; a key must be plain text"


def test_only_what_holds_a_block_is_built_anew() -> None:
    source = read("same: {script: [a, b]}\nother: {script: ['$[[ inputs.name ]]'], keep: [c]}\n", Issues("")).root
    root = interpolated(source)
    other, before = root["other"], source["other"]
    assert isinstance(other, Map)
    assert isinstance(before, Map)
    assert root["same"] is source["same"]
    assert other["keep"] is before["keep"]
    assert before["script"] == ["$[[ inputs.name ]]"]


def test_shared_values_stay_shared() -> None:
    root = interpolated("base: &base {script: ['$[[ inputs.name ]]']}\na: *base\nb: *base\n")
    assert root["a"] is root["base"]
    assert root["a"] is root["b"]


def test_every_wrong_block_is_told() -> None:
    issues = wrong("a: $[[ inputs.x1 ]] $[[ inputs.x2 ]]\nb:\n  - $[[ inputs.x1 ]]\n  - $[[ inputs.y | no ]]\n")
    assert [(issue.line, issue.message[:50]) for issue in issues] == [
        (1, "unknown interpolation provided: `x1` in `inputs.x1"),
        (1, "unknown interpolation provided: `x2` in `inputs.x2"),
        (3, "unknown interpolation provided: `x1` in `inputs.x1"),
        (4, "unknown interpolation provided: `y` in `inputs.y`"),
    ]


def test_values_are_not_looked_into() -> None:
    assert value_of("$[[ inputs.tricky ]]", {"tricky": "$[[ inputs.name ]]"}) == "$[[ inputs.name ]]"
    assert value_of("a $[[ inputs.tricky ]]", {"tricky": "$[[ inputs.name ]]"}) == "a $[[ inputs.name ]]"


TEXTS = st.text(alphabet=st.sampled_from("ab $[]{}|.,()0\n"), max_size=12)
EXPRESSIONS = st.sampled_from(
    ["inputs.name", "inputs.list", "inputs.list[0]", "inputs.none", "matrix.X", "component.sha", "inputs.bad", "x|y"]
)
SCALARS = st.one_of(
    TEXTS,
    st.integers(),
    st.booleans(),
    st.none(),
    st.lists(TEXTS | EXPRESSIONS.map("$[[ {} ]]".format), max_size=4).map("".join),
)
TREES = st.recursive(
    SCALARS,
    lambda below: st.lists(below, max_size=4) | st.dictionaries(TEXTS | EXPRESSIONS.map("$[[{}]]".format), below),
    max_leaves=15,
)


@settings(max_examples=100)
@given(st.dictionaries(TEXTS, TREES, max_size=4))
def test_any_tree_is_interpolated_or_refused(tree: dict[str, Any]) -> None:
    root = as_value(tree, Place(1, 1))
    assert isinstance(root, Map)
    with suppress(ConfigInvalid):
        interpolated(root)
    assert root == tree


@given(st.text())
def test_a_text_without_blocks_is_the_same_object(text: str) -> None:
    root = Map()
    root.put("key", text, Place(1, 1))
    if not list(blocks_of(text)):
        assert interpolated(root) is root
