"""The place of one address in a cache: what it was at each version, and the files of that; for all runs, fetched once.

FOLDER/lock               held by whoever fetches
      /revisions/<name>   what a branch or a tag was, and by its time when
      /trees/<hash>       files, by the hash that stands for them; made aside and renamed, so whole or absent
"""

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

from files.locks import is_taken

FRESH: Final = 300.0
"""Seconds for which a branch or a tag is taken to be what it was; a hash stays what it is."""
MAX_NAME: Final = 255
"""Bytes of the name of a file."""
_LOOK: Final = 0.05


@dataclass(frozen=True, slots=True)
class FetchedPlace:
    """A folder for what comes from one address."""

    folder: Path

    @contextmanager
    def locked(self, check: Callable[[], None]) -> Iterator[None]:
        """One fetches, others wait and find what it has fetched; `check` is called meanwhile, and may raise."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            while not is_taken(fd):
                check()
                time.sleep(_LOOK)
            yield
        finally:
            os.close(fd)

    def known(self, name: str, *, is_lasting: bool = False) -> str:
        """The hash that a name had not long ago, or, of one that means the same for ever, at any time; else nothing."""
        note = self._note(name)
        try:
            is_fresh = is_lasting or time.time() - note.stat().st_mtime < FRESH
            return note.read_text() if is_fresh else ""
        except FileNotFoundError:
            return ""

    def note(self, name: str, value: str) -> None:
        """Note that a name has this hash now."""
        note = self._note(name)
        note.parent.mkdir(mode=0o700, exist_ok=True)
        draft = note.with_name(f".{os.getpid()}-{time.monotonic_ns()}")
        draft.write_text(value)
        draft.rename(note)

    def tree(self, value: str) -> Path:
        """Where the files of a hash are, once they are there."""
        return self.folder / "trees" / value

    def made(self, value: str, fill: Callable[[Path], None]) -> Path:
        """The files of a hash, which `fill` puts into a folder where they are not there yet."""
        tree = self.tree(value)
        if tree.is_dir():
            return tree
        tree.parent.mkdir(mode=0o700, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=tree.parent))
        try:
            fill(draft)
            draft.rename(tree)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        return tree

    def _note(self, name: str) -> Path:
        """By a digest where the name is too long for a file."""
        quoted = quote(name, safe="")
        if len(quoted) > MAX_NAME:
            quoted = f"sha256-{hashlib.sha256(name.encode()).hexdigest()}"
        return self.folder / "revisions" / quoted
