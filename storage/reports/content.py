"""What all readers of reports share: unpacking, safe XML and JSON, and the shape of the result.

Reference: reliability, row F3 (no entity is ever expanded, nothing outside is fetched, size is bounded); runner
protocol, section 6.1 (several reports come as concatenated gzip members).
"""

import io
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from xml.etree.ElementTree import Element, ParseError

import orjson
from defusedxml import DefusedXmlException
from defusedxml.ElementTree import iterparse

from domain.errors import Invalid, TooLarge

UNPACKED_LIMIT: Final = 10 * 1024 * 1024
"""Bytes of all reports of one upload, unpacked."""
ENTRY_LIMIT: Final = 50_000
"""Entries of one report."""
TEXT_LIMIT: Final = 4 * 1024
"""Characters of one text of an entry that are kept."""
DEPTH_LIMIT: Final = 32
"""Elements inside each other."""
_GZIP: Final = b"\x1f\x8b"


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
    room = UNPACKED_LIMIT
    while data.startswith(_GZIP):
        unpacking = zlib.decompressobj(wbits=31)
        try:
            document = unpacking.decompress(data, room + 1)
        except zlib.error as error:
            raise Invalid(f"The {what} is broken gzip data: {error}") from error
        room -= len(document)
        if room < 0:
            raise TooLarge(f"The {what} has more than {UNPACKED_LIMIT} bytes when unpacked.")
        if not unpacking.eof:
            raise Invalid(f"The {what} is gzip data that ends too early; upload it again.")
        found.append(document)
        data = unpacking.unused_data
    return found


def elements(document: bytes, what: str, *, doctype: bool = False) -> Iterator[tuple[Element, list[Element]]]:
    """Every element of an XML text at its end, and those around it, the root first.

    Whoever has no more need of an element takes it out of the one around it, so that memory stays small. `doctype`
    permits a document type that defines nothing; it is never fetched. Raises Invalid.
    """
    path: list[Element] = []
    try:
        for event, element in iterparse(io.BytesIO(document), events=("start", "end"), forbid_dtd=not doctype):
            if event == "start":
                path.append(element)
                if len(path) > DEPTH_LIMIT:
                    raise Invalid(f"The {what} has elements more than {DEPTH_LIMIT} deep.")
                continue
            path.pop()
            yield element, path
    except ParseError as error:
        line, column = error.position
        raise Invalid(f"The {what} is broken XML at line {line}, column {column + 1}: {error}") from error
    except DefusedXmlException as error:
        raise Invalid(
            f"The {what} has a document type or entities, which are refused; remove them. ({error})"
        ) from error
    except (LookupError, ValueError) as error:
        raise Invalid(f"The {what} has an encoding that cannot be read: {error}") from error


def require_root(element: Element, path: list[Element], tags: frozenset[str], what: str) -> None:
    """Raise Invalid unless the outermost element is one of these."""
    root = path[0] if path else element
    if tag(root) not in tags:
        raise Invalid(f"The report is no {what}: its root is <{root.tag[:80]}>.")


def tag(element: Element) -> str:
    """The tag without a name space."""
    return element.tag.rpartition("}")[2]


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
