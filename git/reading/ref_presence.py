"""Whether a ref is there, read without starting git: hand-outs of jobs ask it within their transaction.

Source of the rules: git's gitrepository-layout(5), `refs` and `packed-refs`.
"""

import asyncio
import mmap
from pathlib import Path

from git.names import checked_ref


async def has_ref(repository: Path, name: str) -> bool:
    """Whether a bare repository has a ref of this full name. Raises `Invalid` for a name that git forbids."""
    if (repository / checked_ref(name)).is_file():
        return True
    # Looked at second: git writes a ref there before it removes the file of its own.
    return await asyncio.to_thread(first_packed, repository, name) == name


def first_packed(repository: Path, name: str) -> str:
    """The first packed ref of a bare repository that is `name` or comes after it; empty if there is none.

    Git keeps the lines sorted by name, so that 100,000 of them are not all read. Raises `OSError`.
    """
    try:
        with (repository / "packed-refs").open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as lines:
            return _first_line(lines, name.encode()).decode("utf-8", "replace")
    except (FileNotFoundError, ValueError):  # nothing was packed yet, or the file is empty
        return ""


def _first_line(lines: mmap.mmap, name: bytes) -> bytes:
    low, high, found = _after_extras(lines, 0), len(lines), b""
    while low < high:
        start = _start_of(lines, low, (low + high) // 2)
        if lines[start : start + 1] == b"^":
            start = _start_of(lines, low, start - 1)
        end = lines.find(b"\n", start)
        ref = lines[start:end].partition(b" ")[2]
        if ref < name:
            low = _after_extras(lines, end + 1)
        else:
            high, found = start, ref
    return found


def _start_of(lines: mmap.mmap, low: int, place: int) -> int:
    """Where the line begins that has this place."""
    return max(low, lines.rfind(b"\n", low, place) + 1)


def _after_extras(lines: mmap.mmap, place: int) -> int:
    """Behind the header, or the line that says what an annotated tag leads to, where one begins here."""
    while lines[place : place + 1] in {b"#", b"^"}:
        place = lines.find(b"\n", place) + 1
    return place
