"""Small readers that many keywords share."""

from collections.abc import Callable
from typing import Any

import pytest

from domain.config.reading import checks
from domain.config.reading.field import Field
from tests.domain.config.reading.fields import field_of, given, refused

DEEP = f"{'[' * 10}a{']' * 10}"
TOO_DEEP = f"{'[' * 11}a{']' * 11}"


def short(field: Field) -> Any:
    return checks.short_text(field, 3)


def colour(field: Field) -> Any:
    return checks.choice(field, ("red", "green"))


def colours(field: Field) -> Any:
    return checks.known_strings(field, ("red", "green"))


def at_most_a_minute(field: Field) -> Any:
    return checks.duration(field, 60)


def flat(field: Field) -> Any:
    return [element.value for element in checks.flattened(field)]


@pytest.mark.parametrize(
    ("reader", "text", "found"),
    [
        (checks.text, "''", ""),
        (checks.filled_text, "a", "a"),
        (short, "abc", "abc"),
        (colour, "red", "red"),
        (colours, "red", ("red",)),
        (colours, "[green, red]", ("green", "red")),
        (checks.strings, "[]", ()),
        (checks.strings, "[a, b]", ("a", "b")),
        (checks.exit_codes, "-1", (-1,)),
        (checks.exit_codes, "[]", ()),
        (checks.commands, DEEP, ("a",)),
        (checks.commands, "a", ("a",)),
        (checks.nested_strings, DEEP, ("a",)),
        (at_most_a_minute, "1 minute", 60),
        (flat, "a", ["a"]),
        (flat, "[a, [1, [null]], {b: c}]", ["a", 1, None, {"b": "c"}]),
        (flat, DEEP, ["a"]),
    ],
)
def test_given(reader: Callable[[Field], Any], text: str, found: Any) -> None:
    assert given(reader, "k", text) == found


@pytest.mark.parametrize(
    ("reader", "text", "said"),
    [
        (checks.text, "1", "should be a string"),
        (checks.filled_text, "' '", "can't be blank"),
        (checks.filled_text, "[a]", "should be a string"),
        (short, "abcd", "is too long (maximum is 3 characters)"),
        (short, "1", "should be a string"),
        (checks.boolean, "'true'", "should be a boolean value"),
        (colour, "reed", "should be one of: red, green; did you mean `red`?"),
        (colour, "[red]", "should be a string; should be one of: red, green"),
        (colours, "blue", "unknown value: blue"),
        (colours, "[red, gren]", "contains unknown values: gren; did you mean `green`?"),
        (colours, "[1]", "should be an array of strings or a string"),
        (checks.strings, "a", "should be an array of strings"),
        (checks.strings, "[[a]]", "should be an array of strings"),
        (checks.exit_codes, "1.0", "should be an array of integers or an integer"),
        (checks.commands, TOO_DEEP, "should be a string or a nested array of strings up to 10 levels deep"),
        (checks.commands, "[1]", "should be a string or a nested array of strings up to 10 levels deep"),
        (
            checks.nested_strings,
            TOO_DEEP,
            "should be an array of strings or a nested array of strings up to 10 levels deep",
        ),
        (at_most_a_minute, "61 seconds", "should not exceed the limit"),
        (at_most_a_minute, "30", "should be a duration; write it as text, like `30 minutes`"),
    ],
)
def test_refused(reader: Callable[[Field], Any], text: str, said: str) -> None:
    assert refused(reader, "k", text) == [(1, "k", f"k config {said}")]


def test_optional_parts_of_a_mapping() -> None:
    field = field_of("k", "{text: a, words: [b], flag: true, nothing: null}")
    assert checks.optional_text(field, "text") == "a"
    assert checks.optional_text(field, "nothing") == ""
    assert checks.optional_strings(field, "words") == ("b",)
    assert checks.optional_strings(field, "other") == ()
    assert checks.flag(field, "flag")
    assert checks.flag(field, "nothing", default=True)
    assert not checks.flag(field, "other")
    assert not len(field.issues)


def test_required_text_is_missed_at_the_mapping() -> None:
    assert refused(lambda field: checks.required_text(field, "some_key"), "k", "{some_key: null}") == [
        (1, "k", "k some key can't be blank")
    ]


def test_a_line_that_yaml_takes_for_a_mapping_is_named_where_it_stands() -> None:
    said = "k config should be a string or a nested array of strings up to 10 levels deep"
    assert refused(checks.commands, "k", "[a,\n [echo: b]]") == [
        (2, "k", f"{said}; put quotes around a command that holds `: `")
    ]
