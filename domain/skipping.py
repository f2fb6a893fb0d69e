"""Commits that ask for no pipeline. Reference: CI YAML, section 15."""

import re
from typing import Final

_MARKER: Final = re.compile(r"\[(ci[ _-]skip|skip[ _-]ci)\]", re.IGNORECASE)


def asks_to_skip(message: str) -> bool:
    """Whether a commit message holds `[ci skip]` or `[skip ci]`, also written with `-` or `_`, in any case."""
    return _MARKER.search(message) is not None
