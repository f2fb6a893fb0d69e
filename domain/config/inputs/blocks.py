"""Blocks `$[[ ... ]]`: finding them in a text, and the value of what stands in one.

Source: docs/reference/ci-yaml.md, "Inputs".
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from domain.config.inputs.block_functions import Functions
from domain.config.reading.spelling import nearest
from domain.config.reading.tree import Items, Value
from domain.errors import Invalid

OPENING: Final = "$[["
CLOSING: Final = "]]"
LATER: Final = "matrix"
"""Blocks of this context get their value when the jobs of a matrix are made."""

EXPRESSION_BYTES: Final = 1_024
"""Longest expression in a block."""
MAX_FUNCTIONS: Final = 3
"""Functions in one block."""
MAX_KEYS: Final = 5
"""Keys in one access, its context included; dots after the last belong to that key."""
MAX_INDICES: Final = 5
"""Indices after one key."""

_BLANK: Final = " \t\n\r\f\v"


class Block(NamedTuple):
    """A block of a text: where it starts and ends there, and what stands in it, without blanks around it."""

    start: int
    end: int
    expression: str


def blocks_of(text: str) -> Iterator[Block]:
    """Every block of a text, in order. An expression has two characters or more, on one line."""
    position = 0
    while (close := text.find(CLOSING, position)) >= 0:
        start = text.find(OPENING, position, close)
        if start >= 0 and "\n" in text[start + len(OPENING) : close].strip(_BLANK):
            start = text.rfind(OPENING, position, close)
        end = close + len(CLOSING)
        if start < 0:
            position = close + 1
            continue
        expression = text[start + len(OPENING) : close].strip(_BLANK)
        if len(expression) > 1 and "\n" not in expression:
            yield Block(start, end, expression)
        position = end


def is_later(expression: str) -> bool:
    """Whether a block is left as it is at this stage."""
    return expression.split("|", 1)[0].strip(_BLANK).split(".", 1)[0] == LATER


@dataclass(frozen=True, slots=True)
class Known:
    """What blocks can ask for: contexts by name (`inputs`, `component`), and what `expand_vars` expands."""

    contexts: Mapping[str, Mapping[str, Value]]
    functions: Functions

    def value(self, expression: str) -> Value:
        """The value of a block; raises `Invalid`, whose text says what is wrong with it."""
        if len(expression.encode()) > EXPRESSION_BYTES:
            raise Invalid(f"maximum interpolation expression size exceeded; the limit is {EXPRESSION_BYTES:,} bytes")
        access, *calls = (part.strip(_BLANK) for part in expression.split("|"))
        value = self._accessed(access)
        if len(calls) > MAX_FUNCTIONS:
            raise Invalid(f"too many functions in interpolation block; the limit is {MAX_FUNCTIONS}")
        for call in calls:
            value = self.functions.apply(call, value)
        return value

    def _accessed(self, access: str) -> Value:
        context, *keys = access.split(".", MAX_KEYS - 1)
        if not keys:
            raise Invalid("invalid pattern used for interpolation. Valid pattern is $[[ inputs.input ]]")
        known: object = _found(self.contexts, context, access)
        for segment in keys:
            key, indices = _indexed(segment, access)
            known = _found(known, key, access)
            for index in indices:
                known = _element(known, index, access)
        value: Value = known  # type: ignore[assignment]  # every context holds values only
        return value


def _found(known: object, key: str, access: str) -> object:
    """What a mapping holds under a key."""
    if isinstance(known, Mapping) and key in known:
        return known[key]
    spelling = nearest([key], known) if isinstance(known, Mapping) else ""
    hint = "; list it in `spec:component` to use it" if access == f"component.{key}" else ""
    raise Invalid(f"unknown interpolation provided: `{key}` in `{access}`{hint}{spelling}")


def _indexed(segment: str, access: str) -> tuple[str, list[int]]:
    """A key and the indices after it."""
    key, bracket, rest = segment.partition("[")
    if not bracket:
        return segment, []
    if not key:
        raise Invalid(f"invalid indexed access without a key in `{access}`")
    if segment.count("[") != segment.count("]"):
        text = f"invalid array index in `{access}`: missing closing bracket"
        raise Invalid(f"{text}; after an index put a blank before `]]`")
    if not rest.endswith("]"):
        raise Invalid(f"invalid array index syntax in `{access}`")
    indices = rest[:-1].split("][")
    wrong = [index for index in indices if not (index.isascii() and index.isdigit())]
    if wrong:
        raise Invalid(f"invalid array index in `{access}`: `{wrong[0]}` is not a valid index")
    if len(indices) > MAX_INDICES:
        raise Invalid(f"too many array indices in `{access}` (maximum depth: {MAX_INDICES})")
    return key, [int(index) for index in indices]


def _element(value: object, index: int, access: str) -> object:
    if not isinstance(value, Items):
        raise Invalid(f"cannot index into non-array value at [{index}] in `{access}`")
    if index >= len(value):
        raise Invalid(f"array index {index} out of bounds (size: {len(value)}) in `{access}`")
    return value[index]
