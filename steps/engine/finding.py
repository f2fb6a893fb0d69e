"""Finds steps: the folder that a reference names, and what the file in it says."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, Protocol

from domain.errors import Invalid
from domain.steps.definition import Definition
from domain.steps.reading import read_definition
from domain.steps.references import FILES, LocalReference, Reference

MAX_FILE: Final = 2 * 1024 * 1024
"""Bytes of a step file."""
_PIECE: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Found:
    """A step: what its file says, and the folder in which that is."""

    definition: Definition
    folder: Path


class Finder(Protocol):
    """Finds steps of one kind of reference."""

    def find(self, reference: Reference, folder: Path) -> Found:
        """The step that is named by a definition in `folder`. Raises `Invalid` that says what is missing."""


class LocalFinder:
    """Finds steps in folders of this machine."""

    def find(self, reference: Reference, folder: Path) -> Found:
        """Relative paths count from `folder`."""
        assert isinstance(reference, LocalReference)
        path = folder / reference.path
        if path.suffix in {".yml", ".yaml"}:
            return found_in(path.parent, path.name)
        return found_in(path)


class Finders:
    """Finds steps of every kind of reference."""

    def __init__(self, by_kind: Mapping[type[Reference], Finder]) -> None:
        """Each kind has one that finds it."""
        self._by_kind = by_kind

    def find(self, reference: Reference, folder: Path) -> Found:
        """The step that is named. Raises `Invalid`, also for a kind that this step runner does not know."""
        finder = self._by_kind.get(type(reference))
        if finder is None:
            raise Invalid(f"this step runner has no steps of this kind ({type(reference).__name__})")
        return finder.find(reference, folder)


def found_in(folder: Path, name: str = "", within: Path | None = None) -> Found:
    """The step of a folder; of its file with this name, or of the first of `FILES`. Raises `Invalid`.

    No link leads out of `within`.
    """
    for one in (name,) if name else FILES:
        path = folder / one
        if within is not None and not path.resolve().is_relative_to(within.resolve()):
            raise Invalid(f"{path.relative_to(within)} is a link that leads out of where the step is")
        if path.is_file():
            return Found(_read(_text(path), one), folder)
    if not folder.is_dir():
        raise Invalid(f"there is no folder {folder}")
    raise Invalid(f"there is no {name or ' or '.join(FILES)} in {folder}")


@lru_cache(maxsize=32)
def _read(text: str, name: str) -> Definition:
    """What a file says; the same text says the same when its step is called again."""
    return read_definition(text, name)


def _text(path: Path) -> str:
    """No more is read than a step file may have, and nothing is waited for, whatever stands there: `/proc` has both."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            content = _content(fd)
        finally:
            os.close(fd)
        if len(content) > MAX_FILE:
            raise Invalid(f"{path} has more than {MAX_FILE:,} bytes, which is all that a step file may have")
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Invalid(f"{path} is no UTF-8: {error}") from None
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror}") from None


def _content(fd: int) -> bytes:
    """A byte more than a step file may have at most."""
    found = b""
    while piece := os.read(fd, min(_PIECE, MAX_FILE + 1 - len(found))):
        found += piece
    return found
