"""Parts of an index as bytes, to be stored."""

import json
import zlib
from collections.abc import Iterator
from dataclasses import astuple, fields
from typing import Any, Final

from domain.logs.index import Checkpoint, Part, State
from domain.logs.sections import Mark
from domain.logs.styles import Style

VERSION: Final = 2
"""Raised whenever the same log has another index than before: what was stored by another version is made anew."""
_LEVEL: Final = 1


def packed(part: Part) -> bytes:
    """A part as bytes."""
    document = {
        "version": VERSION,
        "after": [str(value) if isinstance(value, Style) else value for value in _values(part.after)],
        "checkpoints": [[one.offset, one.line, str(one.style)] for one in part.checkpoints],
        "marks": [astuple(mark) for mark in part.marks],
        "errors": list(part.errors),
    }
    return zlib.compress(json.dumps(document, separators=(",", ":")).encode(), _LEVEL)


def _values(state: State) -> Iterator[Any]:
    return (getattr(state, one.name) for one in fields(state))


def unpacked(content: bytes) -> Part | None:
    """The part of such bytes; None when another version has made them."""
    document: dict[str, Any] = json.loads(zlib.decompress(content))
    if document["version"] != VERSION:
        return None
    offset, lines, start, style, block, marks, errors, last_error, verdict = document["after"]
    after = State(offset, lines, start, Style.parse(style), block, marks, errors, last_error, verdict)
    checkpoints = [Checkpoint(offset, line, Style.parse(style)) for offset, line, style in document["checkpoints"]]
    return Part(after, tuple(checkpoints), tuple(Mark(*mark) for mark in document["marks"]), tuple(document["errors"]))
