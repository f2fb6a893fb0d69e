"""Reading single values: text, numbers, words of a list, commands, durations.

Each takes a `Field` and returns the value, or None after it noted what is wrong. Source: docs/reference/ci-yaml.md,
"Messages".
"""

from collections.abc import Collection, Iterator
from typing import Final

from domain.config.reading.durations import parse_duration
from domain.config.reading.field import Field
from domain.config.reading.spelling import nearest
from domain.config.reading.tree import Items, Map, Place, Value
from domain.errors import Invalid

NESTING: Final = 10
"""Levels of lists within lists (docs/reference/ci-yaml.md, "Limits")."""
MAX_EXIT_CODE: Final = 2**32 - 1
"""No system has exit codes of more than 32 bits."""


def text(field: Field) -> str | None:
    """A string."""
    if isinstance(field.value, str):
        return field.value
    field.fault("should be a string")
    return None


def filled_text(field: Field) -> str | None:
    """A string that is not blank."""
    found = text(field)
    if found is None or found.strip():
        return found
    field.fault("can't be blank")
    return None


def short_text(field: Field, most: int) -> str | None:
    """A string of at most `most` characters."""
    found = text(field)
    if found is None or len(found) <= most:
        return found
    field.fault(f"is too long (maximum is {most} characters)")
    return None


def required_text(field: Field, key: str) -> str | None:
    """The string at a key of a mapping; it must be there and not be blank."""
    if field.given(key):
        return filled_text(field.attribute(key))
    lacks(field, key)
    return None


def optional_text(field: Field, key: str) -> str:
    """The string at a key of a mapping, empty if it is not given."""
    return (text(field.attribute(key)) if field.given(key) else None) or ""


def lacks(field: Field, key: str) -> None:
    """Note that a key is not given, in the words that GitLab has for it."""
    field.issues.add(f"{field.path} {key.replace('_', ' ')} can't be blank", field.path, field.place)


def boolean(field: Field) -> bool | None:
    """True or false."""
    if isinstance(field.value, bool):
        return field.value
    field.fault("should be a boolean value")
    return None


def flag(field: Field, key: str, *, default: bool = False) -> bool:
    """The boolean at a key of a mapping, or the default if it is not given."""
    if not field.given(key):
        return default
    return bool(boolean(field.attribute(key)))


def choice(field: Field, permitted: Collection[str], said: str = "") -> str | None:
    """One of the permitted words; `said` takes the place of the usual text with all of them."""
    said = said or f"should be one of: {', '.join(permitted)}"
    if not isinstance(field.value, str):
        field.fault(f"should be a string; {said}")
    elif field.value not in permitted:
        field.fault(said + nearest([field.value], permitted))
    else:
        return field.value
    return None


def whole_number(field: Field, low: int, high: int) -> int | None:
    """An integer between `low` and `high`, both included."""
    value = field.value
    if isinstance(value, bool) or not isinstance(value, int | float):
        field.fault("is not a number")
    elif not isinstance(value, int):
        field.fault("must be an integer")
    elif value < low:
        field.fault(f"must be greater than or equal to {low}")
    elif value > high:
        field.fault(f"must be less than or equal to {high}")
    else:
        return value
    return None


def strings(field: Field) -> tuple[str, ...] | None:
    """A list of strings."""
    if isinstance(field.value, Items):
        found = _strings_of(field.value)
        if found is not None:
            return found
    field.fault("should be an array of strings")
    return None


def strings_or_string(field: Field) -> tuple[str, ...] | None:
    """A list of strings, or one."""
    found = _strings_of(field.value if isinstance(field.value, Items) else [field.value])
    if found is None:
        field.fault("should be an array of strings or a string")
    return found


def optional_strings(field: Field, key: str) -> tuple[str, ...]:
    """The list of strings at a key of a mapping, empty if it is not given."""
    return (strings(field.attribute(key)) if field.given(key) else None) or ()


def known_strings(field: Field, permitted: Collection[str]) -> tuple[str, ...] | None:
    """A list of permitted words, or one."""
    found = strings_or_string(field)
    unknown = [word for word in found or () if word not in permitted]
    if not unknown:
        return found
    said = "contains unknown values" if isinstance(field.value, Items) else "unknown value"
    field.fault(f"{said}: {', '.join(unknown)}{nearest(unknown, permitted)}")
    return None


def exit_codes(field: Field) -> tuple[int, ...] | None:
    """A list of integers, or one."""
    values = field.value if isinstance(field.value, Items) else [field.value]
    found = tuple(value for value in values if isinstance(value, int) and not isinstance(value, bool))
    if len(found) < len(values):
        field.fault("should be an array of integers or an integer")
    elif any(abs(code) > MAX_EXIT_CODE for code in found):
        field.fault("should be an array of integers or an integer; exit codes have at most 32 bits")
    else:
        return found
    return None


def commands(field: Field) -> tuple[str, ...] | None:
    """Lines of a script: a string, or lists of strings within lists, flattened."""
    try:
        return tuple(_flat(field.value, NESTING))
    except Invalid:
        _at_the_wrong_line(field).fault(
            f"should be a string or a nested array of strings up to {NESTING} levels deep{_hint(field)}"
        )
        return None


def _at_the_wrong_line(field: Field) -> Field:
    """The first element that is no command; the whole if it is nested too deep."""
    try:
        return next((one for one in flattened(field) if not isinstance(one.value, str)), field)
    except Invalid:
        return field


def _hint(field: Field) -> str:
    """What to do about a line that YAML takes for a mapping."""
    wrong = _at_the_wrong_line(field).value
    return "; put quotes around a command that holds `: `" if isinstance(wrong, Map) else ""


def nested_strings(field: Field) -> tuple[str, ...] | None:
    """A list of strings or of such lists, flattened."""
    try:
        if isinstance(field.value, Items):
            return tuple(_flat(field.value, NESTING))
    except Invalid:
        pass
    field.fault(f"should be an array of strings or a nested array of strings up to {NESTING} levels deep")
    return None


def flattened(field: Field) -> Iterator[Field]:
    """Every element of a list and of the lists within it, under the field's own name; of a single value, that value.

    Raises `Invalid` for more levels of lists than `NESTING`.
    """
    for value, place in flattened_values(field):
        yield Field(value, field.path, field.label, place, field.issues)


def flattened_elements(field: Field) -> list[Field] | None:
    """As `flattened`, but notes what is nested too deep."""
    try:
        return list(flattened(field))
    except Invalid:
        field.fault(f"should be an array, nested up to {NESTING} levels deep")
        return None


def flattened_values(field: Field) -> Iterator[tuple[Value, Place]]:
    """As `flattened`, but only the values and where they stand."""
    return _elements(field.value, field.place, NESTING)


def duration(field: Field, limit: int | None = None) -> int | None:
    """A duration in seconds of at most `limit`."""
    seconds = None
    if isinstance(field.value, str):
        try:
            seconds = parse_duration(field.value)
        except Invalid:
            seconds = None
    if seconds is None:
        is_number = isinstance(field.value, int) and not isinstance(field.value, bool)
        field.fault(f"should be a duration{'; write it as text, like `30 minutes`' if is_number else ''}")
    elif limit is not None and seconds > limit:
        field.fault("should not exceed the limit")
        return None
    return seconds


def _strings_of(values: list[Value]) -> tuple[str, ...] | None:
    found = tuple(value for value in values if isinstance(value, str))
    return found if len(found) == len(values) else None


def _flat(value: Value, levels: int) -> Iterator[str]:
    """Strings in order; raises `Invalid` for anything else and for more than `levels` levels."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Items) and levels > 0:
        for element in value:
            yield from _flat(element, levels - 1)
    else:
        raise Invalid("neither a string nor a list within the limit")


def _elements(value: Value, place: Place, levels: int) -> Iterator[tuple[Value, Place]]:
    if not isinstance(value, Items):
        yield value, place
    elif levels == 0:
        raise Invalid("lists within lists are nested too deep")
    else:
        for inner, at in zip(value, value.places, strict=True):
            yield from _elements(inner, at, levels - 1)
