"""The user file: the servers that somebody is logged in to, with a token for each.

It is TOML at `$PERDURE_CONFIG`, or `perdure/config.toml` below `$XDG_CONFIG_HOME` (`~/.config`), and only its owner may
read it:

    default = "https://ci.example.org"

    [servers."https://ci.example.org"]
    token = "glpat-..."
    username = "ada"
"""

import contextlib
import fcntl
import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from domain.errors import Invalid
from files import durable

VARIABLE: Final = "PERDURE_CONFIG"
_OTHERS: Final = 0o077


@dataclass(frozen=True, slots=True)
class Login:
    """A token for a server, and whose it was when it was checked."""

    token: str = field(repr=False)
    username: str = ""


@dataclass(frozen=True, slots=True)
class UserFile:
    """What the file says. `servers` are by address, without a slash at its end; `default` is one of them or empty."""

    servers: Mapping[str, Login] = field(default_factory=dict)
    default: str = ""

    def with_login(self, url: str, login: Login, *, make_default: bool) -> "UserFile":
        """The same with a server more, or with another token for one."""
        default = url if make_default or self.default not in self.servers else self.default
        return UserFile({**self.servers, url: login}, default)

    def without(self, url: str) -> "UserFile":
        """The same without a server; another one becomes the default where it was that."""
        left = {name: login for name, login in self.servers.items() if name != url}
        return UserFile(left, self.default if self.default in left else next(iter(left), ""))


def user_file_path(environment: Mapping[str, str] = os.environ) -> Path:
    """Where the file is, whether it exists or not."""
    if environment.get(VARIABLE):
        return Path(environment[VARIABLE])
    base = environment.get("XDG_CONFIG_HOME") or str(Path("~/.config").expanduser())
    return Path(base) / "perdure" / "config.toml"


def read_user_file(path: Path) -> UserFile:
    """The file, empty where there is none. Raises `Invalid` for one that cannot be read."""
    try:
        raw = tomllib.loads(path.read_text())
    except FileNotFoundError:
        return UserFile()
    except (OSError, ValueError) as error:
        raise Invalid(f"{path} cannot be read: {error}. Correct it, or delete it and `perdure login` again.") from error
    servers = raw.get("servers", {})
    if not isinstance(servers, dict) or not all(_is_login(entry) for entry in servers.values()):
        raise Invalid(f'{path} is wrong: each [servers."https://..."] needs a `token`. Delete it and log in again.')
    logins = {url: Login(entry["token"], str(entry.get("username", ""))) for url, entry in servers.items()}
    default = raw.get("default", "")
    return UserFile(logins, default if default in logins else next(iter(logins), ""))


@contextlib.contextmanager
def changing(path: Path) -> Iterator[list[UserFile]]:
    """Change the file while nobody else does: put what it shall say in place of the one item of the list."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with path.with_name(f".{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        before = read_user_file(path)
        held = [replace(before)]
        yield held
        if held[0] != before:
            durable.replace(path, _text(held[0]).encode())


def is_private(path: Path) -> bool:
    """Whether nobody but its owner may read a file."""
    return not path.stat().st_mode & _OTHERS


def _is_login(entry: Any) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("token"), str)


def _text(content: UserFile) -> str:
    """The file's text. A JSON string is a TOML basic string."""
    lines = [f"default = {json.dumps(content.default)}"] if content.default else []
    for url, login in content.servers.items():
        lines += ["", f"[servers.{json.dumps(url)}]", f"token = {json.dumps(login.token)}"]
        lines += [f"username = {json.dumps(login.username)}"] if login.username else []
    return "\n".join(lines).lstrip("\n") + "\n"
