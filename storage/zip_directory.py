"""Reads the list of a zip archive and refuses the hostile ones; pure, from bytes that the caller fetches.

Source of the format: PKWARE's APPNOTE, sections 4.3.7 to 4.3.16 and 4.5.3. Names and sizes are believed only as far as
they fit together; nothing is ever unpacked to disk. An entry that is no file of its own, such as a symbolic link, is
listed and never read: archives of `node_modules` and of shared libraries are full of links.
"""

import re
import stat
import struct
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from struct import Struct
from typing import Final

from domain.errors import Invalid, TooLarge

ENTRY_LIMIT: Final = 10_000
"""Entries of an archive."""
UNPACKED_LIMIT: Final = 1024**3
"""Bytes of all entries together."""
RATIO_LIMIT: Final = 100
"""All entries together may be so many times larger than the archive ..."""
RATIO_FREE: Final = 1024 * 1024
"""... beyond this many bytes: a short log of blanks is no attack."""
DIRECTORY_LIMIT: Final = 8 * 1024 * 1024
"""Bytes of the list itself."""

END: Final = Struct("<4s4H2LH")
LOCATOR: Final = Struct("<4sLQL")
END64: Final = Struct("<4sQ2H2L4Q")
ENTRY: Final = Struct("<4s6H3L5H2L")
LOCAL: Final = Struct("<4s5H3L2H")
MAX_TAIL: Final = END.size + 0xFFFF + LOCATOR.size
"""Bytes at the end of an archive that hold its end record, whatever its comment."""

_UNSAFE: Final = re.compile(r"[\\\u202a-\u202e\u2066-\u2069]|^[A-Za-z]:")
"""Backslashes, drive letters, and signs that make a name look like another one."""
_ENCRYPTED: Final = 0x1
_UTF8: Final = 0x800


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or folder in an archive. `offset` is where its local header starts; sizes are bytes.

    `refusal` is why the content of an entry is not given, in words that go behind its name.
    """

    name: str
    size: int
    packed_size: int
    crc32: int
    method: int
    offset: int
    is_folder: bool
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Extent:
    """Where the list of an archive stands and how many entries it claims."""

    start: int
    size: int
    count: int


def locate(tail: bytes, archive_size: int) -> tuple[Extent, int | None]:
    """Find the list by the last bytes of an archive (`MAX_TAIL` of them, or all).

    The second value is None, or the offset of a zip64 end record that has to be read (`END64.size` bytes) and given to
    `locate64`. Raises Invalid for what is no zip archive.
    """
    place = tail.rfind(b"PK\x05\x06")
    if place < 0 or len(tail) - place < END.size:
        raise Invalid("The file is no zip archive: it has no end record.")
    _, disk, first_disk, here, count, size, start, comment = END.unpack_from(tail, place)
    if place + END.size + comment != len(tail):
        raise Invalid("The zip archive has bytes after its end.")
    before = archive_size - len(tail) + place
    if 0xFFFF in (here, count) or 0xFFFFFFFF in (size, start):
        position = place - LOCATOR.size
        if position < 0 or tail[position : position + 4] != b"PK\x06\x07":
            raise Invalid("The zip archive is broken: its zip64 end record is missing.")
        return Extent(0, 0, 0), int(LOCATOR.unpack_from(tail, position)[2])
    if disk or first_disk or here != count:
        raise Invalid("The zip archive is one of several parts; these cannot be read.")
    return _checked(Extent(start, size, count), before), None


def locate64(record: bytes, offset: int) -> Extent:
    """The place of the list from the zip64 end record that stands at `offset`."""
    if len(record) != END64.size or not record.startswith(b"PK\x06\x06"):
        raise Invalid("The zip archive is broken: its zip64 end record is missing.")
    _, _, _, _, disk, first_disk, here, count, size, start = END64.unpack(record)
    if disk or first_disk or here != count:
        raise Invalid("The zip archive is one of several parts; these cannot be read.")
    return _checked(Extent(start, size, count), offset)


def _checked(extent: Extent, end: int) -> Extent:
    if extent.start + extent.size != end:
        raise Invalid("The zip archive is broken: its list is not where the end record says.")
    if extent.count > ENTRY_LIMIT or extent.size > DIRECTORY_LIMIT:
        raise TooLarge(f"The zip archive has more than {ENTRY_LIMIT} entries; only smaller ones are shown.")
    return extent


def read_entries(directory: bytes, extent: Extent) -> tuple[Entry, ...]:
    """All entries, in the order of the list. Raises Invalid or TooLarge for an archive that is broken or hostile."""
    entries = tuple(_entries(directory, extent))
    if len(entries) != extent.count:
        raise Invalid("The zip archive is broken: its list has another length than it says.")
    names = {unicodedata.normalize("NFC", entry.name.rstrip("/")) for entry in entries}
    if len(names) != len(entries):
        raise Invalid("The zip archive has two entries of one name.")
    total = sum(entry.size for entry in entries)
    if total > UNPACKED_LIMIT:
        raise TooLarge(f"The zip archive holds {total} bytes; at most {UNPACKED_LIMIT} are permitted.")
    if total > max(RATIO_FREE, RATIO_LIMIT * (extent.start + extent.size)):
        raise TooLarge(f"The zip archive holds more than {RATIO_LIMIT} times its own size.")
    _check_places(entries, extent)
    return entries


def _check_places(entries: tuple[Entry, ...], extent: Extent) -> None:
    ordered = sorted(entries, key=lambda entry: entry.offset)
    starts = [*(entry.offset for entry in ordered), extent.start]
    for entry, (start, following) in zip(ordered, pairwise(starts), strict=True):
        if start + LOCAL.size + len(entry.name) + entry.packed_size > following:
            raise Invalid(f"The zip archive is hostile: {entry.name!r} overlaps with another entry.")


def _entries(directory: bytes, extent: Extent) -> Iterator[Entry]:
    position = 0
    for _ in range(ENTRY_LIMIT + 1):
        if position >= extent.size:
            return
        try:
            fields = ENTRY.unpack_from(directory, position)
        except struct.error as error:
            raise Invalid("The zip archive is broken: its list is cut.") from error
        name_length, extra_length, comment_length = fields[10], fields[11], fields[12]
        body = position + ENTRY.size
        position = body + name_length + extra_length + comment_length
        if fields[0] != b"PK\x01\x02" or position > len(directory):
            raise Invalid("The zip archive is broken: its list is cut.")
        name = directory[body : body + name_length]
        yield _entry(fields, name, directory[body + name_length : body + name_length + extra_length])
    raise TooLarge(f"The zip archive has more than {ENTRY_LIMIT} entries; only smaller ones are shown.")


def _entry(fields: tuple[int, ...], raw_name: bytes, extra: bytes) -> Entry:
    _, made_by, _, flags, method, _, _, crc32, packed, size, *_, attributes, offset = fields
    name = checked_name(raw_name, utf8=bool(flags & _UTF8))
    # Only archives made on Unix (3) or macOS (19) carry file modes.
    kind = stat.S_IFMT(attributes >> 16) if made_by >> 8 in {3, 19} else 0
    is_folder = name.endswith("/")
    refusal = ""
    if kind == stat.S_IFLNK:
        refusal = "is a symbolic link, which is not followed here: ask for the file that it leads to"
    elif kind not in {0, stat.S_IFDIR if is_folder else stat.S_IFREG}:
        refusal = "is no file: its mode says that it is a device, a pipe or the like"
    elif flags & _ENCRYPTED:
        refusal = "is encrypted and cannot be read here"
    size, packed, offset = _wide(extra, (size, packed, offset))
    if is_folder and size:
        raise Invalid(f"The zip archive has a folder with content: {name!r}.")
    return Entry(name, size, packed, crc32, method, offset, is_folder, refusal)


def _wide(extra: bytes, narrow: tuple[int, int, int]) -> tuple[int, int, int]:
    """Replace each value of all ones by its 64-bit value from the zip64 field (id 1) of `extra`."""
    if 0xFFFFFFFF not in narrow:
        return narrow
    position = 0
    while position + 4 <= len(extra):
        field, length = Struct("<2H").unpack_from(extra, position)
        if field == 1:
            wide = iter(
                Struct(f"<{length // 8}Q").unpack_from(extra[position + 4 : position + 4 + length].ljust(length))
            )
            size, packed, offset = (next(wide, value) if value == 0xFFFFFFFF else value for value in narrow)
            return size, packed, offset
        position += 4 + length
    return narrow


def checked_name(raw: bytes, *, utf8: bool) -> str:
    """The name of an entry as text; raises Invalid unless it is a plain relative path."""
    try:
        name = raw.decode("utf-8" if utf8 else "cp437")
    except UnicodeDecodeError as error:
        raise Invalid("The zip archive has a name that is not UTF-8.") from error
    parts = name.removesuffix("/").split("/")
    wrong_part = any(part in {"", ".", ".."} for part in parts)
    if wrong_part or _UNSAFE.search(name) or any(unicodedata.category(sign) == "Cc" for sign in name):
        raise Invalid(f"The zip archive is hostile: it has an entry named {name[:80]!r}.")
    return name
