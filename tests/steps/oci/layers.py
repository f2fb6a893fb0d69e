"""Layers made entry by entry, as nobody's tool would make them."""

import gzip
import io
import tarfile
from pathlib import Path
from typing import Any

import zstandard


def entry(name: str, content: bytes | str | None = None, **fields: Any) -> tuple[tarfile.TarInfo, bytes]:
    """A file with this content; or, by `type` and the like, what else there may be."""
    data = content.encode() if isinstance(content, str) else content or b""
    found = tarfile.TarInfo(name)
    found.size, found.mode = len(data), 0o644
    for key, value in fields.items():
        setattr(found, key, value)
    return found, data


def folder(name: str) -> tuple[tarfile.TarInfo, bytes]:
    """A folder."""
    return entry(name, type=tarfile.DIRTYPE, mode=0o755)


def link(name: str, target: str) -> tuple[tarfile.TarInfo, bytes]:
    """A symbolic link."""
    return entry(name, type=tarfile.SYMTYPE, linkname=target)


def second_name(name: str, target: str) -> tuple[tarfile.TarInfo, bytes]:
    """A hard link."""
    return entry(name, type=tarfile.LNKTYPE, linkname=target)


def archive(*entries: tuple[tarfile.TarInfo, bytes]) -> bytes:
    """An archive of them."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as made:
        for found, data in entries:
            made.addfile(found, io.BytesIO(data))
    return packed.getvalue()


def layer(file: Path, content: bytes, kind: str = "") -> Path:
    """A file with an archive, packed."""
    if kind == "gzip":
        content = gzip.compress(content)
    elif kind == "zstd":
        content = zstandard.ZstdCompressor().compress(content)
    file.write_bytes(content)
    return file
