"""Packs artifacts and unpacks those of other jobs; nothing is read or written outside the project's folder."""

import gzip
import lzma
import os
import shutil
import stat
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from domain.errors import Invalid

SUFFIXES: Final = {"zip": ".zip", "gzip": ".gz", "raw": ""}
"""Formats that are written here, and how their files end."""
COPY_SIZE: Final = 256 * 1024
MAX_LINK: Final = 4095
"""Bytes of where a symbolic link leads to; a file system takes no more."""
MAX_LINK_TURNS: Final = 8
"""How often links are looked at anew because others on their way went; then all that are left go."""
_UNREADABLE: Final = (zipfile.BadZipFile, EOFError, zlib.error, lzma.LZMAError, RuntimeError)
"""What the library raises for damaged entries, and as `RuntimeError` for encrypted and for unknown ones."""


def pack(form: str, root: Path, names: Sequence[str], target: Path) -> int:
    """Make the file `target` of a format of `SUFFIXES`; how many bytes it has. Raises Invalid, and leaves no file then.

    A raw file is copied: what it is changes no more then.
    """
    if form == "zip":
        pack_zip(root, names, target)
    elif form == "gzip":
        pack_gzip(root, names, target)
    elif len(names) == 1:
        shutil.copyfile(real_file(root, names[0]), target)
    else:
        raise Invalid(f"format 'raw' takes one file, the paths match {len(names)}: {', '.join(names[:5])}")
    return target.stat().st_size


def pack_zip(root: Path, names: Sequence[str], target: Path) -> None:
    """A zip with modes, times and symbolic links kept; `names` are relative to `root`, folders end with a slash."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1, strict_timestamps=False) as archive:
        for name in names:
            path = root / name
            info = path.lstat()
            if stat.S_ISLNK(info.st_mode):
                entry = zipfile.ZipInfo(name)
                entry.create_system = 3
                entry.external_attr = info.st_mode << 16
                archive.writestr(entry, os.fsencode(path.readlink()))
            elif stat.S_ISREG(info.st_mode) or stat.S_ISDIR(info.st_mode):
                archive.write(path, name)


def pack_gzip(root: Path, names: Sequence[str], target: Path) -> None:
    """The files as gzip members one after the other; symbolic links that lead out of `root` are refused."""
    with target.open("wb") as out:
        for name in names:
            with (
                real_file(root, name).open("rb") as content,
                gzip.GzipFile(filename=PurePosixPath(name).name, mode="wb", fileobj=out, compresslevel=6) as member,
            ):
                shutil.copyfileobj(content, member, COPY_SIZE)


def real_file(root: Path, name: str) -> Path:
    """The regular file behind a name, links followed; raises Invalid when it is none or lies outside `root`."""
    real = Path(os.path.realpath(root / name))
    if not real.is_relative_to(os.path.realpath(root)) or not real.is_file():
        raise Invalid(f"{name} leads to no file inside the project's folder; it is not uploaded")
    return real


def unpack_zip(archive_file: Path, root: Path) -> list[str]:
    """Unpack below `root`, overwriting files; returns the symbolic links that were left out because they lead outside.

    Raises Invalid, before anything is written, for what is not a zip or has a path that leaves `root`; and for an entry
    that cannot be read, behind those that could.
    """
    try:
        with zipfile.ZipFile(archive_file) as archive:
            entries = archive.infolist()
            for entry in entries:
                _check_name(entry.filename)
            links = [entry for entry in entries if stat.S_ISLNK(entry.external_attr >> 16)]
            for entry in entries:
                if not stat.S_ISLNK(entry.external_attr >> 16):
                    _unpack_entry(archive, entry, root)
            # Links come last, so that no entry of this archive can be written through one of its own links.
            out = [entry.filename for entry in links if not _unpack_link(archive, entry, root)]
            return out + _drop_leading_out(root, [entry.filename for entry in links])
    except _UNREADABLE as error:
        raise Invalid(f"the archive cannot be read: {error}") from error


def _check_name(name: str) -> None:
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or ":" in name[:2] or "\0" in name:
        raise Invalid(f"the archive holds {name!r}, which leads out of the project's folder; nothing was unpacked")


def _unpack_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, root: Path) -> None:
    target = _safe_target(root, entry.filename)
    if entry.is_dir():
        if target.is_symlink():
            target.unlink()
        target.mkdir(parents=True, exist_ok=True)
        return
    _make_room(target)
    mode = (entry.external_attr >> 16) & 0o777 or 0o644
    fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    with os.fdopen(fd, "wb") as out, archive.open(entry) as content:
        shutil.copyfileobj(content, out, COPY_SIZE)
    target.chmod(mode | stat.S_IRUSR | stat.S_IWUSR)


def _unpack_link(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, root: Path) -> bool:
    target = _safe_target(root, entry.filename)
    with archive.open(entry) as content:
        points_to = os.fsdecode(content.read(MAX_LINK + 1))
    if not points_to or len(points_to) > MAX_LINK or "\0" in points_to or not _stays(root, target.parent / points_to):
        return False
    _make_room(target)
    target.symlink_to(points_to)
    return True


def _stays(root: Path, path: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))


def _drop_leading_out(root: Path, names: Sequence[str]) -> list[str]:
    """Remove the links that lead out of `root` now that others are there, on which their way may go; their names."""
    dropped: list[str] = []
    for turn in range(MAX_LINK_TURNS + 1):
        links = [name for name in names if (root / name).is_symlink()]
        out = links if turn == MAX_LINK_TURNS else [name for name in links if not _stays(root, root / name)]
        for name in out:
            (root / name).unlink()
        dropped += out
        if not out:
            break
    return dropped
    return dropped


def _safe_target(root: Path, name: str) -> Path:
    """Where an entry goes; raises Invalid when a link that is already there would carry it out of `root`."""
    target = root / name
    parent = Path(os.path.realpath(target.parent))
    if not parent.is_relative_to(os.path.realpath(root)):
        raise Invalid(f"{name!r} of the archive would be written through a link to {parent}; it is refused")
    return target


def _make_room(target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.is_dir() and not target.is_symlink():
        raise Invalid(f"{target} is a folder where the archive has a file; remove one of them")
    target.unlink(missing_ok=True)
