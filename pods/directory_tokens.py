"""The file in which a directory tells its two tokens: the admin token may do all, the read token only read."""

import json
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from domain.errors import Invalid, NotFound
from files import durable

FILE: Final = "directory-credentials.json"
_ADMIN: Final = "pda-"
_READ: Final = "pdr-"
"""How the two begin, so that who finds one sees what it is."""
_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class DirectoryTokens:
    """The two tokens of a directory."""

    admin: str = field(repr=False)
    read: str = field(repr=False)


def begin(home: Path, url: str) -> None:
    """Make the two tokens, unless there are some."""
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    durable.create(home / FILE, _new(url))


def renew(home: Path, url: str) -> None:
    """Write new tokens, which are in force from the directory's next start on; the old ones are not any more."""
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    durable.replace(home / FILE, _new(url))


def tokens_in(home: Path) -> DirectoryTokens:
    """The two tokens. Raises `NotFound` without the file, `Invalid` for one that is none of ours."""
    file = home / FILE
    try:
        document = json.loads(file.read_bytes())
        admin, read = document["admin_token"], document["read_token"]
    except FileNotFoundError as error:
        raise NotFound(f"{file} is missing; the directory writes it at its first start.") from error
    except (ValueError, LookupError, TypeError) as error:
        raise Invalid(f"{file}: must be an object with url, admin_token and read_token.") from error
    if not all(isinstance(token, str) and len(token) >= _BYTES for token in (admin, read)) or admin == read:
        raise Invalid(f"{file}: admin_token and read_token must be two different texts of {_BYTES} characters or more.")
    return DirectoryTokens(admin, read)


def _new(url: str) -> bytes:
    tokens = {
        "admin_token": _ADMIN + secrets.token_urlsafe(_BYTES),
        "read_token": _READ + secrets.token_urlsafe(_BYTES),
    }
    return json.dumps({"url": url, **tokens}, indent=2).encode() + b"\n"
