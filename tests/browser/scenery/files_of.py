"""Folders of this package as what is pushed."""

from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).parent / "files"


def files_of(name: str) -> dict[str, str]:
    """Every file of a folder by its path there."""
    top = _FOLDER / name
    return {str(file.relative_to(top)): file.read_text() for file in sorted(top.rglob("*")) if file.is_file()}
