"""The project file `.perdure.toml` at the top of a working copy: `server` and `project`, for everybody who clones it.

It is in the repository, so it never holds a token, and never decides which token is sent where.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from domain.errors import Invalid

NAME: Final = ".perdure.toml"
KEYS: Final = frozenset({"server", "project"})


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """What the file says; empty for what it leaves out."""

    server: str = ""
    project: str = ""


def read_project_file(folder: Path) -> ProjectFile:
    """The file of a folder, or nothing. Raises `Invalid` for one that is wrong."""
    path = folder / NAME
    try:
        raw = tomllib.loads(path.read_text())
    except (FileNotFoundError, NotADirectoryError):
        return ProjectFile()
    except (OSError, ValueError) as error:
        raise Invalid(f"{path} cannot be read: {error}. It is TOML with `server` and `project`.") from error
    if "token" in raw:
        raise Invalid(f"{path} holds a token, and everybody reads it there. Revoke that token, and `perdure login`.")
    unknown = sorted(raw.keys() - KEYS)
    if unknown or not all(isinstance(value, str) for value in raw.values()):
        raise Invalid(
            f"{path} is wrong: it takes the texts {', '.join(sorted(KEYS))}; {', '.join(unknown) or 'texts'}?"
        )
    return ProjectFile(raw.get("server", "").rstrip("/"), raw.get("project", ""))
