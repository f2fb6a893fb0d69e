"""What all readers of reports share: unpacking, JSON, and the shape of the result.

Source: docs/reference/reliability.md, "Hostile files"; docs/reference/runner-protocol.md, "Artifacts and cache".
"""

import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from domain.errors import Invalid, TooLarge

UNPACKED_LIMIT: Final = 10 * 1024 * 1024
"""Bytes of all reports of one upload, unpacked."""
ENTRY_LIMIT: Final = 50_000
"""Entries of one report."""
TEXT_LIMIT: Final = 4 * 1024
"""Characters of one text of an entry that are kept."""
_GZIP: Final = b"\x1f\x8b"
_PIECE: Final = 1024
"""Bytes that are unpacked at once."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a report says: counts by name, and what was found, each entry plain JSON."""

    summary: dict[str, int | float] = field(default_factory=dict)
    entries: list[dict[str, Any]] = field(default_factory=list)


def documents(data: bytes, what: str) -> list[bytes]:
    """The files of one upload, gzip or plain. Raises Invalid and TooLarge, which call it `what`."""
    if not data.startswith(_GZIP):
        if len(data) > UNPACKED_LIMIT:
            raise TooLarge(f"The {what} has more than {UNPACKED_LIMIT} bytes.")
        return [data]
    found: list[bytes] = []
    room, place = UNPACKED_LIMIT, 0
    while data.startswith(_GZIP, place):
        document, place = _unpacked(data, place, room, what)
        room -= len(document)
        found.append(document)
    return found


def _unpacked(data: bytes, place: int, room: int, what: str) -> tuple[bytes, int]:
    """One file of at most `room` bytes, and where the next one begins.

    A piece at a time: what stands behind a file is copied when it ends, and there may be many small ones.
    """
    unpacking = zlib.decompressobj(wbits=31)
    parts: list[bytes] = []
    while not unpacking.eof:
        piece = data[place : place + _PIECE]
        if not piece:
            raise Invalid(f"The {what} is gzip data that ends too early; upload it again.")
        place += len(piece)
        try:
            parts.append(unpacking.decompress(piece, room + 1))
        except zlib.error as error:
            raise Invalid(f"The {what} is broken gzip data: {error}") from error
        room -= len(parts[-1])
        if room < 0:
            raise TooLarge(f"The {what} has more than {UNPACKED_LIMIT} bytes when unpacked.")
    return b"".join(parts), place - len(unpacking.unused_data)


def json_document(document: bytes, kind: type[list[Any]] | type[dict[str, Any]], what: str) -> Any:
    """The JSON list or object of a report. Raises Invalid."""
    try:
        value = orjson.loads(document.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        raise Invalid(f"The {what} is not JSON: {error}") from error
    if not isinstance(value, kind):
        raise Invalid(f"The {what} must be a JSON {'list' if kind is list else 'object'}.")
    return value


def objects_in(value: Any, what: str) -> list[dict[str, Any]]:
    """The JSON objects of a list, nothing else. Raises Invalid for what is no list of objects, TooLarge."""
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise Invalid(f"The {what} must be a JSON list of objects.")
    require_few(value, what)
    return value


def require_few(entries: list[Any], what: str) -> None:
    """Raise TooLarge above the limit."""
    if len(entries) > ENTRY_LIMIT:
        raise TooLarge(f"The {what} has more than {ENTRY_LIMIT} entries; split it.")


def counted(entries: Iterable[Mapping[str, Any]], name: str, order: Iterable[str]) -> dict[str, int | float]:
    """How many entries have each of these values of `name`, in this order; those that none has are left out."""
    counts = Counter(entry[name] for entry in entries)
    return {value: counts[value] for value in order if counts[value]}


def object_of(value: Any) -> dict[str, Any]:
    """A JSON object of a report; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def text(value: Any) -> str:
    """A text of a report, of bounded length and without NUL, which no database takes; empty for anything else."""
    return value[:TEXT_LIMIT].replace("\0", "") if isinstance(value, str) else ""


def whole_number(value: Any) -> int:
    """A count of a report; 0 for anything else."""
    return value if isinstance(value, int) and 0 <= value < 2**53 and not isinstance(value, bool) else 0
