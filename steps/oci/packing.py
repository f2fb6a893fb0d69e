"""Makes an image of a folder: one layer, the same bytes for the same files."""

import gzip
import hashlib
import json
import os
import stat
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

from domain.errors import Invalid, TooLarge
from domain.steps.images import CONFIG_TYPE, LAYER_TYPE, MANIFEST_TYPES, Blob, Platform
from steps.oci.unpacking import MAX_ENTRIES, MAX_UNPACKED, WHITEOUT

_PIECE: Final = 256 * 1024


@dataclass(frozen=True, slots=True)
class Packed:
    """An image: its blobs with the files that hold them, and its manifest."""

    blobs: tuple[tuple[Blob, Path], ...]
    manifest: bytes


def packed(folder: Path, machine: Platform, aside: Path) -> Packed:
    """The image of a folder; its blobs are written into `aside`. Raises `Invalid` and `TooLarge`."""
    layer = aside / "layer"
    with layer.open("xb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as zipped:
        plain = _Hashed(zipped)
        target: Any = plain
        with tarfile.open(fileobj=target, mode="w|", format=tarfile.PAX_FORMAT) as archive:
            _add_all(archive, folder)
    config = aside / "config"
    config.write_text(
        json.dumps(
            {
                "architecture": machine.architecture,
                **({"variant": machine.variant} if machine.variant else {}),
                "os": machine.os,
                "config": {},
                "rootfs": {"type": "layers", "diff_ids": [f"sha256:{plain.hash.hexdigest()}"]},
            }
        )
    )
    blobs = ((_blob(CONFIG_TYPE, config), config), (_blob(LAYER_TYPE, layer), layer))
    first, *others = ({"mediaType": one.media_type, "digest": one.digest, "size": one.size} for one, _ in blobs)
    manifest = {"schemaVersion": 2, "mediaType": MANIFEST_TYPES[0], "config": first, "layers": others}
    return Packed(blobs, json.dumps(manifest).encode())


class _Hashed:
    """A file that is written, and the hash of what was."""

    def __init__(self, file: gzip.GzipFile) -> None:
        self._file = file
        self.hash = hashlib.sha256()

    def write(self, data: bytes) -> int:
        self.hash.update(data)
        return self._file.write(data)


def _add_all(archive: tarfile.TarFile, folder: Path) -> None:
    size = 0
    for count, path in enumerate(_below(folder)):
        found = path.lstat()
        size += found.st_size if stat.S_ISREG(found.st_mode) else 0
        if size > MAX_UNPACKED or count >= MAX_ENTRIES:
            raise TooLarge(f"a step in an image has at most {MAX_UNPACKED:,} bytes and {MAX_ENTRIES:,} files")
        entry = tarfile.TarInfo(str(path.relative_to(folder)))
        if path.name.startswith(WHITEOUT):
            raise Invalid(f"{entry.name}: in a layer this name removes a file")
        entry.mode = stat.S_IMODE(found.st_mode) & 0o777
        _add(archive, entry, path, found)


def _add(archive: tarfile.TarFile, entry: tarfile.TarInfo, path: Path, found: os.stat_result) -> None:
    if stat.S_ISREG(found.st_mode):
        entry.size = found.st_size
        with path.open("rb") as file:
            archive.addfile(entry, file)
        return
    if stat.S_ISDIR(found.st_mode):
        entry.type = tarfile.DIRTYPE
    elif stat.S_ISLNK(found.st_mode):
        entry.type = tarfile.SYMTYPE
        entry.linkname = str(path.readlink())
    else:
        raise Invalid(f"{entry.name} is no file, folder or link")
    archive.addfile(entry)


def _below(folder: Path) -> Iterator[Path]:
    """All that is in a folder, in one order, each folder before what is in it; links are not followed."""
    for path in sorted(folder.iterdir()):
        yield path
        if path.is_dir() and not path.is_symlink():
            yield from _below(path)


def _blob(media_type: str, file: Path) -> Blob:
    with file.open("rb") as content:
        return Blob(media_type, f"sha256:{_sum(content)}", file.stat().st_size)


def _sum(content: BinaryIO) -> str:
    found = hashlib.sha256()
    while piece := content.read(_PIECE):
        found.update(piece)
    return found.hexdigest()
