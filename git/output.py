"""What a git process leaves, and how much of it is taken."""

from dataclasses import dataclass
from typing import Final

OUTPUT_LIMIT: Final = 16 * 1024 * 1024
"""Bytes of standard output of one command."""
FILE_LIMIT: Final = 2 * 1024 * 1024
"""Bytes of one file if the caller names no other limit."""
PATHS_LIMIT: Final = 64 * 1024 * 1024
"""Bytes of all paths of a tree, or of a difference; a tree with half a million files has about so many."""


@dataclass(frozen=True, slots=True)
class Completed:
    """What a git process left: exit code (negative: the signal that ended it), all of stdout, the start of stderr."""

    code: int
    out: bytes
    err: str
