"""Unpacks the layers of an image into a folder, one over the other; nothing gets out of it, and nothing endless in.

A link that is absolute means the root of the image, as it does in a container; all links are written anew, relative and
without any `..` behind a name, so that none leads out, whatever the names on its way become. Owners are not kept, nor
bits that let a program run as somebody else.
"""

import gzip
import os
import posixpath
import shutil
import stat
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Any, BinaryIO, Final

import zstandard

from domain.errors import Invalid, TooLarge
from domain.steps.images import Compression

MAX_UNPACKED: Final = 1024**3
"""Bytes of all layers of an image together, unpacked."""
MAX_ENTRIES: Final = 100_000
"""Files, folders and links in all layers together."""
WHITEOUT: Final = ".wh."
"""Begins the name of what is removed from the layers below (docs/reference/steps.md, "Steps in images")."""
OPAQUE: Final = ".wh..wh..opq"
_MAX_HEADER: Final = 1024 * 1024
"""Bytes that a layer may have read at once: the headers with long names are read as a whole."""
_PIECE: Final = 256 * 1024
_BROKEN: Final = (tarfile.TarError, EOFError, zlib.error, zstandard.ZstdError, OSError, ValueError, RuntimeError)


@dataclass(slots=True)
class Unpacking:
    """A folder that is filled; nobody else writes there meanwhile."""

    root: Path
    max_size: int = MAX_UNPACKED
    max_entries: int = MAX_ENTRIES
    size: int = field(default=0, init=False)
    written: int = field(default=0, init=False)
    entries: int = field(default=0, init=False)
    _ours: set[Path] = field(default_factory=set, init=False)
    """What the layer that is being unpacked has put there, and the folders around it."""
    _emptied: set[Path] = field(default_factory=set, init=False)
    """Folders from which that layer has removed what was there."""

    def __post_init__(self) -> None:
        """Links on the way to the folder itself are not the image's."""
        self.root = self.root.resolve()

    def unpack(self, layer: Path, compression: Compression) -> None:
        """Unpack the next layer. Raises `Invalid` for one that is broken or would get out, `TooLarge`."""
        plain = layer.with_name(f"{layer.name}.tar")
        self._ours.clear()
        self._emptied.clear()
        try:
            self._decompress(layer, compression, plain)
            with plain.open("rb") as file:
                bounded: Any = _Bounded(file)
                archive = tarfile.open(fileobj=bounded, mode="r:")  # noqa: SIM115  # it has nothing to close
                for entry in _entries(archive):
                    self._take(archive, entry)
        except _BROKEN as error:
            raise Invalid(f"a layer of the image cannot be unpacked: {error}") from None
        finally:
            plain.unlink(missing_ok=True)

    def _decompress(self, layer: Path, compression: Compression, target: Path) -> None:
        """What the headers take counts, too: so no archive is larger than what may come of it."""
        with layer.open("rb") as packed, target.open("xb") as plain, _opened(packed, compression) as source:
            while piece := source.read(_PIECE):
                self.size += len(piece)
                if self.size > self.max_size:
                    raise TooLarge(f"the layers of the image have more than {self.max_size:,} bytes unpacked")
                plain.write(piece)

    def _take(self, archive: tarfile.TarFile, entry: tarfile.TarInfo) -> None:
        self.entries += 1
        if self.entries > self.max_entries:
            raise TooLarge(f"the layers of the image have more than {self.max_entries:,} files")
        parts = _parts(entry.name)
        if not parts:
            return  # the root itself
        folder, name = self._folder(parts), parts[-1]
        if name == OPAQUE:
            self._empty(folder)
        elif name.startswith(WHITEOUT):
            self._remove_below(folder, name)
        else:
            self._put(archive, entry, folder / name)

    def _folder(self, parts: tuple[str, ...]) -> Path:
        """The folder of an entry; it is made where the archive has no entry for it. Links on the way stay inside."""
        folder = self.root.joinpath(*parts[:-1]).resolve()
        if not folder.is_relative_to(self.root):
            raise Invalid(f"the image puts {'/'.join(parts)} through a link that leads out of it")
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        return folder

    def _put(self, archive: tarfile.TarFile, entry: tarfile.TarInfo, path: Path) -> None:
        if not (entry.isdir() and path.is_dir() and not path.is_symlink()):
            _remove(path)
        if entry.isdir():
            path.mkdir(exist_ok=True)
            path.chmod(entry.mode & 0o777 | stat.S_IRWXU)
        elif entry.issym():
            path.symlink_to(self._link(entry, path))
        elif entry.islnk():
            self._link_hard(entry, path)
        elif entry.isreg():
            self._write(archive, entry, path)
        else:
            raise Invalid(f"the image has {entry.name}, which is a device, a pipe or the like")
        while path != self.root and path not in self._ours:
            self._ours.add(path)
            path = path.parent

    def _link(self, entry: tarfile.TarInfo, path: Path) -> str:
        """Where a link leads, from the folder in which it really is."""
        here = PurePosixPath(path.parent.relative_to(self.root)).parts
        reached = [] if entry.linkname.startswith("/") else list(here)
        for part in entry.linkname.split("/"):
            if part == ".." and not reached:
                raise Invalid(f"the image has a link {entry.name} to {entry.linkname}, which leads out of it")
            if part == "..":
                reached.pop()
            elif part not in {"", "."}:
                reached.append(part)
        return posixpath.relpath(posixpath.join("/", *reached), posixpath.join("/", *here))

    def _link_hard(self, entry: tarfile.TarInfo, path: Path) -> None:
        parts = _parts(entry.linkname)
        source = self._folder(parts) / parts[-1] if parts else self.root
        if source.is_symlink() or not source.is_file():
            raise Invalid(f"the image has a second name {entry.name} for {entry.linkname!r}, which is no file of it")
        os.link(source, path, follow_symlinks=False)

    def _write(self, archive: tarfile.TarFile, entry: tarfile.TarInfo, path: Path) -> None:
        source = archive.extractfile(entry)
        assert source is not None  # a regular file
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with source, os.fdopen(os.open(path, flags, 0o600), "wb") as target:
            while piece := source.read(_PIECE):
                self.written += len(piece)
                if self.written > self.max_size:  # a file with holes is larger than what stands in the archive
                    raise TooLarge(f"the layers of the image have more than {self.max_size:,} bytes unpacked")
                target.write(piece)
            os.fchmod(target.fileno(), entry.mode & 0o777 | stat.S_IRUSR | stat.S_IWUSR)

    def _empty(self, folder: Path) -> None:
        """Remove what layers below have put into a folder."""
        if folder in self._emptied:
            return
        self._emptied.add(folder)
        for path in folder.iterdir():
            if path not in self._ours:
                _remove(path)
            elif path.is_dir() and not path.is_symlink():
                self._empty(path)

    def _remove_below(self, folder: Path, name: str) -> None:
        gone = name.removeprefix(WHITEOUT)
        if gone.startswith(WHITEOUT):
            return  # notes of a file system that some builders leave there
        if gone in {"", ".", ".."}:
            raise Invalid(f"the image removes {gone!r}, which is no name")
        path = folder / gone
        if path not in self._ours:
            _remove(path)
        elif path.is_dir() and not path.is_symlink():
            self._empty(path)


class _Bounded:
    """A file of which nobody reads much at once: sizes that stand in an archive are somebody else's."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.seek, self.tell = file.seek, file.tell

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _MAX_HEADER:
            raise ValueError(f"a header has {size:,} bytes; at most {_MAX_HEADER:,} are read")
        return self._file.read(size)


def _opened(packed: BinaryIO, compression: Compression) -> IO[bytes] | Any:
    if compression is Compression.GZIP:
        return gzip.GzipFile(fileobj=packed)
    if compression is Compression.ZSTD:
        return zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True, closefd=False)
    return packed


def _entries(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """Each entry as it comes; the archive keeps a list of them, which nobody needs."""
    while (entry := archive.next()) is not None:
        yield entry
        archive.members.clear()  # type: ignore[attr-defined]  # its types have it not


def _parts(name: str) -> tuple[str, ...]:
    """The parts of a name in an archive. Raises `Invalid` for one that leads out."""
    if name.startswith("/") or ".." in name.split("/") or "\0" in name:
        raise Invalid(f"the image has an entry {name!r}, which leads out of it")
    return PurePosixPath(name).parts


def _remove(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)
