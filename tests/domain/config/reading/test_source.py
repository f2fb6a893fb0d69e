"""From text to values with places."""

import gc

import pytest

from domain.config.reading.budget import TEXT_BYTES
from domain.config.reading.garbage import collection_paused
from domain.config.reading.issues import Issues
from domain.config.reading.source import read
from domain.config.reading.tree import Items, Map, Place, Reference
from domain.config.reading.yaml_text import dump
from domain.errors import ConfigInvalid
from tests.growth import cost


def load(text: str) -> Map:
    return read(text, Issues("ci.yml")).root


def refusal(text: str) -> str:
    with pytest.raises(ConfigInvalid) as caught:
        load(text)
    assert len(caught.value.issues) == 1
    return str(caught.value)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("word", "word"),
        ("'12'", "12"),
        ("12", 12),
        ("0x1F", 31),
        ("010", 8),
        ("08", "08"),
        ("1.50", 1.5),
        ("yes", True),
        ("off", False),
        ("~", None),
        ("", None),
        ('""', ""),
        ("!!str 12", "12"),
        ("! 12", "12"),
        ("=", "="),
        ("0x_", "0x_"),
        ("1" * 5000, "1" * 5000),
        ("!!int many", "many"),
        ("[1, a]", [1, "a"]),
        ("{a: {b: c}}", {"a": {"b": "c"}}),
        ("|\n  two\n  lines\n", "two\nlines\n"),
    ],
)
def test_scalars_and_containers(written: str, value: object) -> None:
    assert load(f"key: {written}\n") == {"key": value}


def test_places_count_from_one() -> None:
    root = load("a: x\nb:\n  c: [1,\n      2]\n")
    inner = root["b"]
    assert isinstance(inner, Map)
    items = inner["c"]
    assert isinstance(items, Items)
    assert root.places == {"a": Place(1, 1), "b": Place(2, 1)}
    assert inner.places == {"c": Place(3, 3)}
    assert items.places == [Place(3, 7), Place(4, 7)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("base: &b {x: 1, y: 1}\njob: {<<: *b, y: 2}", {"x": 1, "y": 2}),
        ("base: &b {x: 1, y: 1}\njob: {y: 2, <<: *b}", {"y": 1, "x": 1}),
        ("one: &a {x: 1}\ntwo: &b {x: 2, y: 2}\njob: {<<: [*a, *b]}", {"x": 1, "y": 2}),
        ("job: {<<: {x: 1}, y: 2}", {"x": 1, "y": 2}),
        ("job: {'<<': 1}", {"<<": 1}),
        ("name: &n x\njob: {*n : 1}", {"x": 1}),
        ("job: {x: 1, x: 2}", {"x": 2}),
        ("job: {1: a, yes: b, ~: c}", {"1": "a", "yes": "b", "~": "c"}),
    ],
)
def test_keys_and_merges(text: str, value: object) -> None:
    assert load(text)["job"] == value


def test_aliases_are_shared_and_keep_their_place() -> None:
    root = load("a: &a [x]\nb: *a\n")
    assert root["b"] is root["a"]
    assert root.places["b"] == Place(2, 1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "ci.yml:1:1: Invalid configuration format: the file is empty!"),
        ("- a", "ci.yml:1:1: Invalid configuration format: the file must be a mapping"),
        ("a: [1,\nb: }", "ci.yml:2:4: Invalid configuration format: expected a value, met `}`"),
        ("a: b: c", "ci.yml:1:5: Invalid configuration format: a value with `: ` in it needs quotes"),
        ("a: 1\nb: \x07", "ci.yml:2:4: Invalid configuration format: control characters"),
        ("a: 1\nb: \ud800", "ci.yml:2:4: Invalid configuration format: this character is not valid Unicode"),
        ("a: *b", "ci.yml:1:4: Invalid configuration format: unknown alias *b"),
        ("a: &a [*a]", "ci.yml:1:8: Invalid configuration format: alias *a contains itself"),
        ("a: &a {<<: *a}", "ci.yml:1:12: Invalid configuration format: alias *a contains itself"),
        ("a: {<<: 1}", "ci.yml:1:9: Invalid configuration format: `<<` takes mappings only"),
        ("? [a]\n: b", "ci.yml:1:3: Invalid configuration format: a key must be plain text"),
        ("n: &n [a]\n*n : b", "ci.yml:2:1: Invalid configuration format: a key must be plain text"),
        ("a: !!python/object:os.system x", "ci.yml:1:4: Invalid configuration format: the YAML tag !!python"),
        ("a: 2024-01-31", "ci.yml:1:4: Invalid configuration format: put quotes around a date"),
        ("a: !reference b", "ci.yml:1:4: `!reference` takes a list of keys"),
        ("spec: {}\n---\na: b\n---\nc: d", "ci.yml:5:1: Invalid configuration format: there are 3 documents"),
        ("a: " + "[" * 500, "ci.yml:1:103: The configuration is nested too deep; the limit is 100 levels"),
        ("# " + "x" * TEXT_BYTES, "ci.yml:1:1: The configuration has 2,097,154 bytes; the limit is 2,097,152."),
    ],
)
def test_refusals_say_where_and_why(text: str, said: str) -> None:
    assert refusal(text).startswith(said)


def test_a_document_with_spec_is_a_header() -> None:
    source = read("spec: {inputs: {a: null}}\n---\nj: {script: x}\n", Issues("ci.yml"), "t.yml")
    assert source.header == {"spec": {"inputs": {"a": None}}}
    assert source.root == {"j": {"script": "x"}}
    assert source.root.places["j"] == Place(3, 1, "t.yml")


def test_a_second_document_without_a_header_is_not_read() -> None:
    found = Issues("ci.yml")
    source = read("a: b\n---\nc: d", found)
    assert (source.header, source.root) == (None, {"a": "b"})
    (warning,) = found.warnings
    assert (warning.line, warning.message[:40]) == (3, "this second document is not read, since ")


def test_a_reference_is_a_list_of_its_own_kind() -> None:
    root = load("a: !reference [.b, c]\n")
    assert isinstance(root["a"], Reference)
    assert root["a"] == [".b", "c"]


def test_what_was_read_can_be_written() -> None:
    text = "a:\n- 1\n- 'yes'\n- true\n- null\nb: |\n  two\n  lines\n"
    assert dump(load(text)) == text
    assert dump(load("a: &x {b: c}\nd: *x\n")) == "a:\n  b: c\nd:\n  b: c\n"


def test_an_alias_counts_with_its_depth() -> None:
    half = "[" * 60 + "]" * 60
    assert "nested too deep" in refusal(f"a: &a {half}\nb: {'[' * 60}*a{']' * 60}")


def test_an_alias_bomb_ends_at_once() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 30)]
    many_values = "a:\n" + "- x\n" * 50_000
    assert cost(lambda: refusal("\n".join(lines)), attempts=1) < cost(lambda: load(many_values))
    said = refusal("\n".join(lines))
    assert "ci.yml:6:" in said
    assert "grows to more than 500,000 values" in said


def test_the_garbage_collector_comes_back() -> None:
    assert gc.isenabled()
    with pytest.raises(RuntimeError) as raised, collection_paused():
        raise RuntimeError(gc.isenabled())
    assert (raised.value.args, gc.isenabled()) == ((False,), True)


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with collection_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("a:\n\tb: c", "indent with spaces, not with a tab"),
        ("a: @b", "put quotes around a text that starts with `@`"),
        ("a: *.py", "put quotes around a text that starts with `*`"),
        ("a: echo b: c", "needs quotes; write `a: 'echo b: c'`"),
    ],
)
def test_the_usual_mistakes_come_with_advice(text: str, advice: str) -> None:
    assert refusal(text).split("\n")[0].endswith(advice)
