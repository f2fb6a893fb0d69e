"""One reader of what others write, with a text that costs it most."""

from collections.abc import Callable, Iterator
from typing import Any, AnyStr, NamedTuple

from domain.errors import PerdureError


class Hostile(NamedTuple):
    """A reader, and what it reads at a size; `size` is the smallest that is measured, larger ones if that is quick."""

    read: Callable[[Any], object]
    text: Callable[[int], Any]
    size: int = 1000
    is_bounded: bool = False
    """Whether the text is refused for its length from 16 times the size on."""


def repeated(piece: AnyStr, start: AnyStr) -> Callable[[int], AnyStr]:
    """A beginning, and a piece as often as the size says."""
    return lambda size: start + piece * size


def told(work: Callable[[], object]) -> object:
    """What the work gives, or the error of ours that says why not."""
    try:
        found = work()
        return list(found) if isinstance(found, Iterator) else found
    except PerdureError as error:
        return error
