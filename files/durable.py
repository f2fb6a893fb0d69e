"""Small files that survive a crash of the process and a cut of the power: whole, and under their name.

A file's content is on disk when the file was synced; its name is only when its folder was, too (fsync(2), "Notes").
"""

import os
import secrets
from pathlib import Path
from typing import Final

PRIVATE: Final = 0o600
"""Only we can read it."""


def replace(path: Path, content: bytes, mode: int = PRIVATE, *, sync: bool = True) -> None:
    """Write a file so that every reader, and every crash, sees the old content or the new one. Raises `OSError`.

    With `sync` the new one is on disk when this returns, name and all; without, it outlives the process only.
    """
    draft = _draft_of(path, content, mode, sync=sync)
    try:
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    if sync:
        sync_folder(path.parent)


def create(path: Path, content: bytes, mode: int = PRIVATE) -> bool:
    """The same for a file that is new; whether it was. One that is there already stays as it is. Raises `OSError`.

    Either way a file of this name is on disk when this returns: nobody uses what a cut of the power would undo.
    """
    new_folders = [folder for folder in path.parents if not folder.exists()]
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = _draft_of(path, content, mode, sync=True)
    try:
        os.link(draft, path)  # fails where another process was quicker: its file is the one
    except FileExistsError:
        return False
    else:
        return True
    finally:
        draft.unlink(missing_ok=True)
        for folder in (path.parent, *(folder.parent for folder in new_folders)):
            sync_folder(folder)


def sync_folder(folder: Path) -> None:
    """Put on disk which files a folder has. Raises `OSError`."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file(path: Path) -> None:
    """Put the content of a file on disk. Raises `OSError`."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _draft_of(path: Path, content: bytes, mode: int, *, sync: bool) -> Path:
    """The content beside where it belongs, under a name that nobody else takes."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, mode)
            file.write(content)
            file.flush()
            if sync:
                os.fsync(descriptor)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    return draft
