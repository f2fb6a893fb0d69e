"""Names that become part of addresses: of people, organisations and projects."""

import re
from typing import Final

RESERVED: Final = frozenset(
    "- api admin assets dashboard explore favicon.ico files groups health help oauth projects public robots.txt "
    "search snippets uploads users v2".split()
)
"""First parts of addresses that are not an organisation's."""

_PATH: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}")
_FORBIDDEN_ENDS: Final = (".git", ".atom", ".")


def is_path(text: str) -> bool:
    """Whether a text can be one part of an address."""
    return _PATH.fullmatch(text) is not None and not text.lower().endswith(_FORBIDDEN_ENDS)


def is_reserved(path: str) -> bool:
    """Whether a name cannot be the first part of an address of a person or organisation."""
    return path.lower() in RESERVED


def checked_path(path: str) -> str:
    """The same text. Raises `ValueError` unless it can be one part of an address."""
    if not is_path(path):
        raise ValueError(
            "can contain only letters, digits, '_', '-' and '.', cannot start with '-' or '.', end in '.', '.git' "
            "or '.atom', or have more than 255 characters"
        )
    return path


def checked_top_path(path: str) -> str:
    """The same for an organisation, whose path comes first. Raises `ValueError`."""
    if is_reserved(path):
        raise ValueError(f"{path} is a reserved name")
    return checked_path(path)


def path_from(name: str) -> str:
    """A path for something that was only given a name: `My Project` becomes `my-project`. May be no valid path."""
    return re.sub(r"[^A-Za-z0-9_.]+", "-", name).strip("-.").lower()
