"""The file of a backup: a compressed tar, written and read as a stream, with a SHA-256 of every member.

`SHA256SUMS` comes after all members, as `sha256sum --check` reads it, and `manifest.json` is the last one: it says what
the backup is of, and holds the SHA-256 of `SHA256SUMS`. A file without it was never finished.
"""

import gzip
import hashlib
import os
import tarfile
import tempfile
import time
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, Self

import orjson
import zstandard

from domain.errors import Invalid, NotFound, StorageFull
from files import durable
from storage.durable_file import NO_ROOM, translated_errors

FORMAT: Final = 1
"""Which members there are and what they mean; a reader refuses a higher one."""
SUMS: Final = "SHA256SUMS"
MANIFEST: Final = "manifest.json"
CHUNK: Final = 1024 * 1024
SUFFIXES: Final = (".tar.zst", ".tar.gz")
_MANIFEST_LIMIT: Final = 16 * 1024 * 1024
_SPOOL: Final = 1024 * 1024
_LEVEL: Final = 3

_MODE: Final = 0o600
_OWNED: Final = b"%07o\0" % _MODE + b"0000000\0" * 2
"""Mode, user and group of a member, as its header has them."""
_REST: Final = (tarfile.REGTYPE + bytes(tarfile.LENGTH_LINK) + tarfile.POSIX_MAGIC).ljust(
    tarfile.BLOCKSIZE - 156, b"\0"
)
"""What the header has behind its checksum."""
_REST_SUM: Final = sum(_REST) + 8 * ord(" ")
"""Its part of the checksum, for which that itself counts as spaces."""
_PLAIN_LIMIT: Final = 8**11 - 1
"""Bytes of a member whose number has a place in the header."""

_BROKEN = (tarfile.TarError, zstandard.ZstdError, zlib.error, EOFError, gzip.BadGzipFile, UnicodeDecodeError)


class Member:
    """One member of an archive that is being read; its bytes can be had once, in order."""

    def __init__(self, path: Path, name: str, size: int, content: IO[bytes]) -> None:
        """`content` gives `size` bytes of the archive `path`."""
        self.name = name
        self.size = size
        self._path = path
        self._content = content

    def chunks(self) -> Iterator[bytes]:
        """The bytes, in pieces. Raises `Invalid` where the file is damaged."""
        while chunk := self._chunk():
            yield chunk

    def _chunk(self) -> bytes:
        with _intact(self._path, self.name):
            return self._content.read(CHUNK)

    async def stream(self) -> AsyncIterator[bytes]:
        """The same for those who want it asynchronous."""
        for chunk in self.chunks():
            yield chunk

    def read(self, limit: int = _MANIFEST_LIMIT) -> bytes:
        """All bytes at once. Raises `Invalid` above the limit."""
        if self.size > limit:
            raise Invalid(f"{self.name} of the backup has {self.size} bytes; {limit} are expected at most.")
        return b"".join(self.chunks())


class ArchiveWriter:
    """Use as `with ArchiveWriter(path) as archive`; the file has its name only after `finish`, with mode 0600.

    What is left of a draft by an error goes. Raises `StorageFull`, `Unavailable`.
    """

    def __init__(self, path: Path) -> None:
        """Raises `Invalid` unless the name says how to compress."""
        if not path.name.endswith(SUFFIXES):
            raise Invalid(f"{path} must end with {' or '.join(SUFFIXES)}.")
        self.path = path
        self.members = 0
        self.bytes = 0
        self._draft = path.with_name(f".{path.name}.{os.getpid()}.part")
        self._sums: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=_SPOOL)  # noqa: SIM115  # closed in __exit__
        self._file: IO[bytes] | None = None
        self._out: Any = None

    def __enter__(self) -> Self:
        """Open the draft, for us only."""
        with translated_errors(self.path):
            descriptor = os.open(self._draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            self._file = os.fdopen(descriptor, "wb")
        if self.path.name.endswith(".gz"):
            self._out = gzip.GzipFile(fileobj=self._file, mode="wb", compresslevel=_LEVEL, mtime=0)
        else:
            compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
            self._out = compressor.stream_writer(self._file, closefd=False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Drop the draft unless it was finished."""
        self._sums.close()
        if self._file is not None:
            with suppress(OSError):
                self._file.close()
        self._draft.unlink(missing_ok=True)

    def add(self, name: str, content: bytes) -> None:
        """A member."""
        self._write(_header(name, len(content)) + content + bytes(-len(content) % tarfile.BLOCKSIZE))
        self._note(name, len(content), hashlib.sha256(content).hexdigest())

    def add_file(self, name: str, path: Path) -> None:
        """A member with the content of a file that nobody changes."""
        with path.open("rb") as file, self._member(name, path.stat().st_size) as write:
            while chunk := file.read(CHUNK):
                write(chunk)

    async def add_stream(self, name: str, size: int, chunks: AsyncIterator[bytes]) -> None:
        """A member of `size` bytes. Raises `Invalid` when it is not as long as was said."""
        with self._member(name, size) as write:
            async for chunk in chunks:
                write(chunk)

    def finish(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """Write sums and manifest, put the file on disk and give it its name; gives back the whole manifest."""
        digest, size = hashlib.sha256(), self._sums.tell()
        whole = {"format": FORMAT, **manifest, "members": self.members, "bytes": self.bytes}
        self._sums.seek(0)
        with self._entry(SUMS, size) as write:
            while chunk := self._sums.read(CHUNK):
                digest.update(chunk)
                write(chunk)
        whole["sums"] = digest.hexdigest()
        content = orjson.dumps(whole, option=orjson.OPT_INDENT_2)
        with self._entry(MANIFEST, len(content)) as write:
            write(content)
        with translated_errors(self.path):
            assert self._file is not None
            self._out.write(bytes(2 * tarfile.BLOCKSIZE))
            self._out.close()
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._draft.replace(self.path)
            durable.sync_folder(self.path.parent)
        return whole

    @contextmanager
    def _member(self, name: str, size: int) -> Iterator[Any]:
        digest = hashlib.sha256()
        with self._entry(name, size) as put:

            def write(chunk: bytes) -> None:
                digest.update(chunk)
                put(chunk)

            yield write
        self._note(name, size, digest.hexdigest())

    def _note(self, name: str, size: int, sha256: str) -> None:
        self._sums.write(f"{sha256}  {name}\n".encode())
        self.members += 1
        self.bytes += size

    @contextmanager
    def _entry(self, name: str, size: int) -> Iterator[Any]:
        left = size

        def write(chunk: bytes) -> None:
            nonlocal left
            left -= len(chunk)
            if left < 0:
                raise Invalid(f"{name} is longer than it was said to be; make the backup again.")
            self._write(chunk)

        self._write(_header(name, size))
        yield write
        if left:
            raise Invalid(f"{name} is {left} bytes shorter than it was said to be; make the backup again.")
        self._write(bytes(-size % tarfile.BLOCKSIZE))

    def _write(self, chunk: bytes) -> None:
        try:
            self._out.write(chunk)
        except OSError as error:
            if error.errno in NO_ROOM:
                raise StorageFull(f"No room for {self.path}: {error.strerror}; nothing of it is left.") from error
            raise


def _header(name: str, size: int) -> bytes:
    """What a tar has before a member. The usual one is put together here: the library takes most of a backup for it."""
    now = int(time.time())
    if len(name) > tarfile.LENGTH_NAME or not name.isascii() or size > _PLAIN_LIMIT:
        info = tarfile.TarInfo(name)
        info.size, info.mode, info.mtime = size, _MODE, now
        return info.tobuf(tarfile.PAX_FORMAT)
    begin = name.encode().ljust(tarfile.LENGTH_NAME, b"\0") + _OWNED + b"%011o\0%011o\0" % (size, now)
    return begin + b"%06o\0 " % (sum(begin) + _REST_SUM) + _REST


def members(path: Path) -> Iterator[Member]:
    """Every member in order. Raises `NotFound`, `Invalid` where the file is damaged or no backup."""
    if not path.is_file():
        raise NotFound(f"There is no file {path}.")
    with path.open("rb") as file, _plain(path, file) as plain:
        with _intact(path, ""):
            tar = tarfile.open(fileobj=plain, mode="r|")  # noqa: SIM115  # it holds nothing of its own
        name = ""
        while True:
            with _intact(path, name):
                info = tar.next()
            if info is None:
                break
            name = info.name
            content = tar.extractfile(info) if info.isreg() else None
            if content is None:
                raise Invalid(f"{path} is no backup of Perdure: {name} in it is no file.")
            yield Member(path, name, info.size, content)
            tar.__dict__["members"] = []  # it would keep all that it has seen
        with _intact(path, name):
            while plain.read(CHUNK):  # the checksum of all comes last
                pass


@contextmanager
def _intact(path: Path, last: str) -> Iterator[None]:
    """Say in words that a file is damaged."""
    try:
        yield
    except _BROKEN as error:
        where = f" at {last}" if last else ""
        raise Invalid(f"{path} is damaged{where}: {error}. Nothing of it was used; take another backup.") from error


def verified_manifest(path: Path) -> dict[str, Any]:
    """The manifest, once every member was read and has its SHA-256. Raises `NotFound`, `Invalid`; writes nothing."""
    count, last = 0, ""
    manifest: dict[str, Any] | None = None
    with (
        tempfile.SpooledTemporaryFile(max_size=_SPOOL) as found,
        tempfile.SpooledTemporaryFile(max_size=_SPOOL) as told,
    ):
        for member in members(path):
            last = member.name
            if member.name == SUMS:
                for chunk in member.chunks():
                    told.write(chunk)
            elif member.name == MANIFEST:
                manifest = _read_manifest(path, member)
            else:
                digest = hashlib.sha256()
                for chunk in member.chunks():
                    digest.update(chunk)
                found.write(f"{digest.hexdigest()}  {member.name}\n".encode())
                count += 1
        if manifest is None or last != MANIFEST:
            raise Invalid(
                f"{path} is not whole: its end is missing{f' after {last}' if last else ''}. Take another backup."
            )
        _compare(path, found, told, str(manifest.get("sums")))
    if manifest.get("members") != count:
        raise Invalid(f"{path} is damaged: it has {count} members, its manifest says {manifest.get('members')}.")
    return manifest


def _read_manifest(path: Path, member: Member) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = orjson.loads(member.read())
    except orjson.JSONDecodeError as error:
        raise Invalid(f"{path} is damaged: {MANIFEST} is no JSON ({error}).") from error
    if not isinstance(manifest.get("format"), int) or manifest["format"] > FORMAT:
        raise Invalid(
            f"{path} has format {manifest.get('format')}, and this Perdure reads up to {FORMAT}: "
            "restore it with the version that made it, or a newer one."
        )
    return manifest


def _compare(path: Path, found: IO[bytes], told: IO[bytes], sums: str) -> None:
    """Raise `Invalid` with the first member that is not what it was."""
    found.seek(0)
    told.seek(0)
    digest = hashlib.sha256()
    for line in told:
        digest.update(line)
        if found.readline() != line:
            name = line.decode("utf-8", "replace").strip().partition("  ")[2]
            raise Invalid(f"{path} is damaged: {name} does not have its SHA-256. Take another backup.")
    if found.readline() or digest.hexdigest() != sums:
        raise Invalid(f"{path} is damaged: {SUMS} is not what the manifest says. Take another backup.")


@contextmanager
def _plain(path: Path, file: IO[bytes]) -> Iterator[Any]:
    """The uncompressed bytes; how they are compressed is told by the first ones."""
    magic = file.read(4)
    file.seek(0)
    if magic == b"\x28\xb5\x2f\xfd":
        with zstandard.ZstdDecompressor().stream_reader(file, read_size=CHUNK) as plain:
            yield plain
    elif magic[:2] == b"\x1f\x8b":
        with gzip.GzipFile(fileobj=file) as plain:
            yield plain
    else:
        raise Invalid(f"{path} is no backup of Perdure: neither zstd nor gzip.")
