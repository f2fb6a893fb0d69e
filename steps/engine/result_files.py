"""The files into which a step writes its outputs and exports: a fresh pair for each step, gone when it has ended."""

import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from domain.errors import Invalid
from domain.steps.output_files import MAX_FILE


@dataclass(frozen=True, slots=True)
class FilePair:
    """Two files."""

    output: str
    export: str

    @property
    def names(self) -> Mapping[str, str]:
        """The names by which expressions know them."""
        return {"output_file": self.output, "export_file": self.export}

    def read(self) -> tuple[bytes, bytes]:
        """What stands in them. Raises `Invalid` for one that is too large, or has been removed or replaced."""
        return _content(self.output), _content(self.export)


@dataclass(slots=True)
class ResultFiles:
    """Makes them in a folder that is the run's own."""

    folder: Path
    _numbers: Iterator[int] = field(default_factory=count)

    @contextmanager
    def pair(self) -> Iterator[FilePair]:
        """A pair for as long as the block lasts."""
        number, folder = next(self._numbers), str(self.folder)
        found = FilePair(f"{folder}/output-{number}", f"{folder}/export-{number}")
        for path in (found.output, found.export):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            yield found
        finally:
            for path in (found.output, found.export):
                _remove(path)


def _remove(path: str) -> None:
    """Whatever a step has put there."""
    try:
        os.unlink(path)  # noqa: PTH108  # as all here: it is done for each step, and a text is enough for it
    except FileNotFoundError:
        pass
    except OSError:
        shutil.rmtree(path, ignore_errors=True)


def _content(path: str) -> bytes:
    """A step may have put a link, a pipe or a folder there: none is followed, and nothing is waited for."""
    try:
        if _is_empty(os.lstat(path)):
            return b""  # as of most steps
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise Invalid(f"{_name(path)} cannot be read any more: {error.strerror}") from None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise Invalid(f"{_name(path)} cannot be read any more: it is no file")
        content = os.pread(fd, MAX_FILE + 1, 0)
    finally:
        os.close(fd)
    if len(content) > MAX_FILE:
        raise Invalid(f"{_name(path).partition('-')[0]} file: at most {MAX_FILE:,} bytes are read")
    return content


def _is_empty(found: os.stat_result) -> bool:
    return stat.S_ISREG(found.st_mode) and not found.st_size


def _name(path: str) -> str:
    return path.rpartition("/")[2]
