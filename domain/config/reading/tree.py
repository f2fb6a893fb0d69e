"""The values of a configuration: plain Python values in which every key and element knows its place in the text."""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, TypeAlias


class Place(NamedTuple):
    """A position in a file; both numbers count from 1, and 0 means unknown.

    `file` is the file's name as issues show it; empty for the main one.
    """

    line: int = 0
    column: int = 0
    file: str = ""


NOWHERE: Final = Place()


class Map(dict[str, "Value"]):
    """A mapping. `place` is its start, `places` holds where each key stands.

    Values are shared between aliases and between jobs that extend the same base: never change one after it was read.
    """

    __slots__ = ("place", "places")

    def __init__(self, place: Place = NOWHERE, places: Mapping[str, Place] | None = None) -> None:
        """Start empty; `places` is copied."""
        super().__init__()
        self.place = place
        self.places: dict[str, Place] = dict(places) if places else {}

    def put(self, key: str, value: "Value", place: Place) -> None:
        """Set a key; a later one of the same name wins, as in GitLab."""
        self[key] = value
        self.places[key] = place

    def take(self, other: "Map") -> None:
        """Set every key of another mapping, with its place."""
        self.update(other)
        self.places.update(other.places)


class Items(list["Value"]):
    """A list. `place` is its start, `places` holds where each element stands."""

    __slots__ = ("place", "places")

    def __init__(self, place: Place = NOWHERE, elements: Iterable[tuple["Value", Place]] = ()) -> None:
        """Start with the given (value, place) pairs."""
        super().__init__()
        self.place = place
        self.places: list[Place] = []
        for value, at in elements:
            self.put(value, at)

    def put(self, value: "Value", place: Place) -> None:
        """Append an element."""
        self.append(value)
        self.places.append(place)


class Reference(Items):
    """A list tagged `!reference`: the keys that lead to the value to put here. None is left after that stage."""

    __slots__ = ()


Value: TypeAlias = str | int | float | bool | Map | Items | None


def size_of(root: Map) -> int:
    """How many values a tree has; shared ones count once."""
    seen: set[int] = set()
    ahead: list[Map | Items] = [root]
    size = 0
    while ahead:
        node = ahead.pop()
        if id(node) not in seen:
            seen.add(id(node))
            size += len(node)
            values = node.values() if isinstance(node, Map) else node
            ahead += [value for value in values if isinstance(value, (Map, Items))]
    return size
