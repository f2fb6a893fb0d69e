"""The object store for logs, artifacts and reports: files or S3, streamed, whole or not at all."""

import hashlib
import re
import zlib
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, Self
from urllib.parse import unquote, urlsplit

import obstore
from obstore.store import LocalStore, S3Store

from domain.errors import Invalid, NotFound, TooLarge, Unavailable
from storage.durable_file import STAGING, DurableFile, remove_abandoned, translated_errors
from storage.s3_upload import S3Upload
from storage.store_errors import reading

if TYPE_CHECKING:
    from obstore import GetOptions

KEY_LIMIT: Final = 900
"""Characters of a key; S3 takes 1,024 bytes with its prefix."""
CHUNK: Final = 256 * 1024
"""Bytes that are read, written and hashed at a time."""
RETRIES: Final = {
    "backoff": {"init_backoff": timedelta(seconds=0.2), "max_backoff": timedelta(seconds=3), "base": 2},
    "max_retries": 100,
    "retry_timeout": timedelta(seconds=20),
}
"""How long a call to S3 is tried again before it is Unavailable; the callers have retries of their own.

The time decides: no more tries than `max_retries` fit into it, since obstore does not heed `Retry-After`, and its
pauses are random.
"""
ADDRESS_LIFE: Final = timedelta(minutes=10)
"""How long the address of an object is good; a download that has begun goes on."""
_SEGMENT: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+=@-]{0,199}")


@dataclass(frozen=True, slots=True)
class Stored:
    """What was stored: bytes, SHA-256 in hex, CRC-32 as an unsigned number."""

    size: int
    sha256: str
    crc32: int


class Sink(Protocol):
    """Where `put` writes to."""

    async def write(self, chunk: bytes) -> None:
        """Append."""


class Watch(Protocol):
    """Who wants to know how the store fares."""

    def store_call(self, operation: str) -> AbstractContextManager[None]:
        """A call of it begins."""

    def stored(self, operation: str, size: int) -> None:
        """So many bytes went through it."""


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """Objects by key. A key is a relative path of plain segments (letters, digits, `_.+=@-`, no leading dot)."""

    store: LocalStore | S3Store
    root: Path | None
    """Folder of a store of files; None for S3."""
    watch: Watch | None = None

    @classmethod
    def open(cls, url: str, *, watch: Watch | None = None, **options: Any) -> Self:
        """Open `file:///path` (the folder is made) or `s3://bucket/prefix`.

        S3 takes address, keys and region from the usual `AWS_*` environment variables (`AWS_ENDPOINT_URL`,
        `AWS_ALLOW_HTTP` for a test server); `options` are obstore's own and come before those. Raises Invalid for any
        other address, StorageFull or Unavailable when the folder cannot be made.
        """
        address = urlsplit(url)
        if address.scheme == "file" and address.netloc in {"", "localhost"} and address.path:
            root = Path(unquote(address.path))
            with translated_errors(root):
                root.mkdir(parents=True, exist_ok=True)
                remove_abandoned(root)
            return cls(LocalStore(root), root, watch)
        if address.scheme == "s3" and address.netloc:
            return cls(S3Store.from_url(url, **{"retry_config": RETRIES, **options}), None, watch)
        raise Invalid(f"PERDURE_OBJECT_STORE is {url!r}; it must be file:///path or s3://bucket/prefix.")

    async def put(
        self, key: str, chunks: AsyncIterator[bytes] | bytes, limit: int | None = None, limit_set_by: str = ""
    ) -> Stored:
        """Store everything under `key`, in place of what was there; returns once it is durable.

        Nobody sees the object before it is whole. When `chunks` raises, the caller is cancelled, more than `limit`
        bytes come (TooLarge, which names what set it), room runs out (StorageFull) or the store fails (Unavailable),
        nothing is left and an older object stays.
        """
        size = crc32 = 0
        digest = hashlib.sha256()
        with self._called("put"):
            async with self._sink(checked_key(key)) as sink:
                async for chunk in _sliced(chunks):
                    size += len(chunk)
                    if limit is not None and size > limit:
                        raise TooLarge(f"{key} has more than {limit} bytes, the limit set by {limit_set_by}.")
                    digest.update(chunk)
                    crc32 = zlib.crc32(chunk, crc32)
                    await sink.write(chunk)
        self._passed("put", size)
        return Stored(size, digest.hexdigest(), crc32)

    async def read(self, key: str, start: int = 0, end: int | None = None) -> AsyncIterator[bytes]:
        """The bytes from `start` up to, without, `end` (None: to the last), in chunks; nothing beyond the last byte.

        Raises NotFound, with the first chunk at the latest, and Unavailable also in the middle.
        """
        checked_key(key)
        if start < 0 or (end is not None and end <= start):
            return
        options: GetOptions = {"range": {"offset": start} if end is None else (start, end)}
        try:
            with self._called("read"), reading(key):
                whole = start == 0 and end is None
                result = await obstore.get_async(self.store, key, options=None if whole else options)
        except Unavailable:
            # Stores answer a range that starts behind the end with an error.
            if start >= await self.size(key):
                return
            raise
        stream = aiter(result.stream(min_chunk_size=CHUNK))
        while True:
            with reading(key):
                chunk = await anext(stream, None)
            if chunk is None:
                return
            self._passed("read", len(chunk))
            yield bytes(chunk)

    async def size(self, key: str) -> int:
        """Bytes of the object. Raises NotFound."""
        with reading(key):
            return int((await obstore.head_async(self.store, checked_key(key)))["size"])

    async def delete(self, key: str) -> None:
        """Remove the object; one that is not there is no error."""
        try:
            with self._called("delete"), reading(key):
                await obstore.delete_async(self.store, checked_key(key))
        except NotFound:
            return

    async def is_empty(self) -> bool:
        """Whether there is no object. Raises `Unavailable`."""
        with reading("the store"):
            async for page in obstore.list(self.store, chunk_size=100):
                if any(not _is_staging(item["path"]) for item in page):
                    return False
        return True

    async def clear(self) -> None:
        """Remove every object, those of unfinished uploads too. Raises `Unavailable`."""
        with reading("the store"):
            async for page in obstore.list(self.store, chunk_size=1_000):
                await obstore.delete_async(self.store, [item["path"] for item in page])

    async def address(self, key: str) -> str:
        """Where whoever has this address can read the object for ten minutes; empty for a store of files."""
        if not isinstance(self.store, S3Store):
            return ""
        with reading(key):
            return str(await obstore.sign_async(self.store, "GET", checked_key(key), ADDRESS_LIFE))

    def _called(self, operation: str) -> AbstractContextManager[None]:
        return nullcontext() if self.watch is None else self.watch.store_call(operation)

    def _passed(self, operation: str, size: int) -> None:
        if self.watch is not None:
            self.watch.stored(operation, size)

    def _sink(self, key: str) -> AbstractAsyncContextManager[Sink]:
        if self.root is not None:
            return DurableFile(self.root, key)
        assert isinstance(self.store, S3Store)
        return S3Upload(self.store, key)


def _is_staging(path: str) -> bool:
    return path.startswith(f"{STAGING}/")


def checked_key(key: str) -> str:
    """The same key; raises Invalid unless it is a relative path of plain segments."""
    if len(key) > KEY_LIMIT or not all(_SEGMENT.fullmatch(segment) for segment in key.split("/")):
        raise Invalid(f"{key[:80]!r} is no key of the object store.")
    return key


async def verified(chunks: AsyncIterator[bytes], sha256: str) -> AsyncIterator[bytes]:
    """The same bytes, but the last chunk comes only when the whole has this SHA-256 (hex), else Unavailable.

    A reader that is told the length beforehand can therefore never take rotten data for whole.
    """
    digest = hashlib.sha256()
    held: bytes | None = None
    async for chunk in chunks:
        digest.update(chunk)
        if held is not None:
            yield held
        held = chunk
    if digest.hexdigest() != sha256:
        raise Unavailable("The stored object is damaged: its SHA-256 is not the one it was stored with.")
    if held is not None:
        yield held


async def _sliced(chunks: AsyncIterator[bytes] | bytes) -> AsyncIterator[bytes]:
    """Pieces small enough to be hashed on the event loop."""
    if isinstance(chunks, bytes):
        for start in range(0, len(chunks), CHUNK):
            yield chunks[start : start + CHUNK]
        return
    async for chunk in chunks:
        for start in range(0, len(chunk), CHUNK):
            yield chunk[start : start + CHUNK]
