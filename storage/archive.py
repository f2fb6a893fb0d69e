"""Looks into a zip archive in the object store without unpacking it: its list, and single entries as streams."""

import asyncio
import zlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final, Self

from domain.errors import Invalid, NotFound
from storage.objects import CHUNK, ObjectStore
from storage.zip_directory import END64, LOCAL, MAX_TAIL, Entry, checked_name, locate, locate64, read_entries

STORED: Final = 0
DEFLATED: Final = 8


@dataclass(frozen=True, slots=True)
class Archive:
    """A zip archive whose whole list was read and found harmless (`storage.zip_directory` says what is refused)."""

    store: ObjectStore
    key: str
    entries: tuple[Entry, ...]

    @classmethod
    async def open(cls, store: ObjectStore, key: str) -> Self:
        """Read the list. Raises NotFound without that object, Invalid or TooLarge for a broken or hostile archive."""
        size = await store.size(key)
        tail = await _bytes(store, key, max(0, size - MAX_TAIL), size)
        extent, end64 = locate(tail, size)
        if end64 is not None:
            extent = locate64(await _bytes(store, key, end64, end64 + END64.size), end64)
        directory = await _bytes(store, key, extent.start, extent.start + extent.size)
        # A list of ten thousand takes a tenth of a second.
        return cls(store, key, await asyncio.to_thread(read_entries, directory, extent))

    def entry(self, name: str) -> Entry:
        """The file of that name. Raises NotFound when there is none, or a folder, Invalid for a link and the like."""
        for entry in self.entries:
            if entry.name == name and not entry.is_folder:
                if entry.refusal:
                    raise Invalid(f"{name[:200]!r} in the archive {entry.refusal}.")
                return entry
        raise NotFound(f"The archive has no file {name[:200]!r}.")

    async def read(self, name: str) -> AsyncIterator[bytes]:
        """The content of one file, unpacked as it streams.

        Raises NotFound, and Invalid as soon as the content is not what the list says: also in the middle. The last
        chunk comes only when the checksum is right, so that nobody takes damaged content for whole.
        """
        entry = self.entry(name)
        if entry.method not in {STORED, DEFLATED}:
            raise Invalid(f"{name!r} is packed by method {entry.method}; only deflate and stored can be read here.")
        start = await self._content_start(entry)
        packed = self.store.read(self.key, start, start + entry.packed_size)
        size = crc32 = 0
        held = b""
        async for chunk in packed if entry.method == STORED else _inflate(packed, name):
            size += len(chunk)
            crc32 = zlib.crc32(chunk, crc32)
            if size > entry.size:
                break
            if held:
                yield held
            held = chunk
        if size != entry.size or crc32 != entry.crc32:
            raise Invalid(f"{name!r} in the archive is damaged: size or checksum differ from the archive's list.")
        if held:
            yield held

    async def _content_start(self, entry: Entry) -> int:
        """Where the packed bytes start: the local header has a length of its own, and must bear the same name."""
        header = await _bytes(self.store, self.key, entry.offset, entry.offset + LOCAL.size)
        if len(header) != LOCAL.size or not header.startswith(b"PK\x03\x04"):
            raise Invalid(f"The zip archive is broken: {entry.name!r} is not where the list says.")
        fields = LOCAL.unpack(header)
        flags, name_length, extra_length = int(fields[2]), int(fields[9]), int(fields[10])
        name_start = entry.offset + LOCAL.size
        raw = await _bytes(self.store, self.key, name_start, name_start + name_length)
        if checked_name(raw, utf8=bool(flags & 0x800)) != entry.name:
            raise Invalid(f"The zip archive is hostile: {entry.name!r} has another name in the list.")
        return name_start + name_length + extra_length


async def _bytes(store: ObjectStore, key: str, start: int, end: int) -> bytes:
    return b"".join([chunk async for chunk in store.read(key, start, end)])


async def _inflate(packed: AsyncIterator[bytes], name: str) -> AsyncIterator[bytes]:
    """Raw deflate, at most `CHUNK` bytes at a time."""
    unpacking = zlib.decompressobj(wbits=-15)
    async for chunk in packed:
        rest = chunk
        while rest and not unpacking.eof:
            try:
                unpacked = unpacking.decompress(rest, CHUNK)
            except zlib.error as error:
                raise Invalid(f"{name!r} in the archive is damaged: {error}") from error
            rest = unpacking.unconsumed_tail
            if unpacked:
                yield unpacked
    if not unpacking.eof:
        raise Invalid(f"{name!r} in the archive is damaged: its content is cut.")
