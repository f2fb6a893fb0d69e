"""A file system with little room, and a file that takes all of it."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

FILLER: Final = "filler"
PIECES: Final = (64 * 1024, 4096, 256, 1)


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """Mount one of this size (as `1m`) at a new folder; skips the test without the right to."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("not run: no right to mount a small disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path) -> None:
    """Take what room there is; may be called again for what has become free since."""
    with (disk / FILLER).open("ab", buffering=0) as file:
        for piece in PIECES:
            with contextlib.suppress(OSError):
                while True:
                    file.write(b"x" * piece)


def make_room(disk: Path) -> None:
    """Give back what `fill` took."""
    (disk / FILLER).unlink()
