"""What is kept of files with inputs: what was made of them, and of what exactly it was made."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from sys import getsizeof
from typing import Any, Final, NamedTuple, TypeAlias

from domain.config.reading.source import Written
from domain.config.reading.tree import Items, Map

OF_VALUE: Final = 300
"""Bytes that a value takes with its key and its place, about."""
_OF_CELL: Final = 64
"""Bytes of an element of a key, about."""
_SHORT: Final = 64
"""Characters of a text that count as a part of its value."""

Exact: TypeAlias = tuple[Hashable, ...]
"""Equal only for values that nothing can tell apart."""


class FilledKey(NamedTuple):
    """All that decides what a file becomes, but the variables that it asks for.

    `written` are the file and those of its `spec:include`; `given` are the values that were handed over, with their
    places, and `component` are the facts of the component that it belongs to.
    """

    written: tuple[Written, ...]
    given: Exact
    component: Exact


@dataclass(frozen=True, slots=True)
class Filled:
    """A file with the values of its inputs.

    `values` is how many it has, 0 if it stayed as it was. `saw` are the variables that were asked for, in their order,
    with what they were; where one of them is another, or must not be shown, this does not hold.
    """

    root: Map
    values: int
    saw: tuple[tuple[str, str | None], ...]
    size: int
    """Bytes that it takes, about."""


def exact(values: Iterable[Any]) -> Exact | None:
    """Values as something to compare: types, order and places count, true is not 1. None for what is no JSON.

    What is shared is written once, so that aliases multiply nothing, and without recursion: it was not checked yet.
    """
    ahead: list[Any] = [list(values)]
    numbers = {id(ahead[0]): 0}
    rows: list[Hashable] = []
    for node in ahead:
        row: list[Any] = [type(node), getattr(node, "place", None)]
        if isinstance(node, dict):
            if not all(type(key) is str for key in node):
                return None
            row += [tuple(node), *(node.places[key] for key in node if isinstance(node, Map))]
        elif isinstance(node, Items):
            row += node.places
        for value in node.values() if isinstance(node, dict) else node:
            if isinstance(value, dict | list | tuple):
                number = numbers.setdefault(id(value), len(ahead))
                if number == len(ahead):
                    ahead.append(value)
                row.append((list, number))
            elif value is None or type(value) in (str, int, bool):
                row.append((type(value), value))
            elif type(value) is float:
                row.append((float, value.hex()))  # 0.0 equals -0.0, and what is no number nothing
            else:
                return None
        rows.append(tuple(row))
    return tuple(rows)


def size_of_filled(key: FilledKey, root: Map) -> int:
    """Bytes that a file with its inputs takes, about, with all that it may share."""
    texts = sum(getsizeof(one.text) for one in key.written)
    return texts + _size(key.given) + _size(key.component) + _size(root)


def _size(top: Sequence[Any] | Map) -> int:
    """What is shared counts once."""
    seen: set[int] = set()
    ahead: list[Any] = [top]
    size = 0
    while ahead:
        node = ahead.pop()
        size += len(node) * (_OF_CELL if isinstance(node, tuple) else OF_VALUE)
        for value in (*node, *node.values()) if isinstance(node, dict) else node:
            if isinstance(value, dict | list | tuple) or (isinstance(value, str) and len(value) > _SHORT):
                if id(value) in seen:
                    continue
                seen.add(id(value))
                if isinstance(value, str):
                    size += getsizeof(value)
                else:
                    ahead.append(value)
    return size
