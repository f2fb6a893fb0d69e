"""Which server, token and project a command means: flag, environment, project file, git remote, user file.

A token of the environment goes only to a server that the person named: a repository, or an address in a message, must
not be able to have it sent to a server of its own.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from cli.project_file import ProjectFile, read_project_file
from cli.remote.address import Pasted, is_address, read_address
from cli.user_file import UserFile, read_user_file, user_file_path
from domain.errors import Invalid, Unauthenticated, Unavailable
from git.transport.remote_url import project_path_of, server_of
from git.working_copy.checkout import Checkout

SERVER: Final = "PERDURE_SERVER"
TOKEN: Final = "PERDURE_TOKEN"  # noqa: S105  # the name of a variable
PROJECT: Final = "PERDURE_PROJECT"
_BY_PERSON: Final = frozenset({"--server", SERVER, "the user file"})
"""Who may decide where a token of the environment goes."""


@dataclass(frozen=True, slots=True)
class Server:
    """A server and the token for it, which may be empty; `said_by` tells where its address comes from."""

    url: str
    said_by: str
    token: str = field(default="", repr=False)
    username: str = ""


@dataclass(frozen=True)
class CommandContext:
    """Everything that decides, besides the command line; read when it is first asked for."""

    folder: Path
    environment: Mapping[str, str]

    @classmethod
    def here(cls) -> "CommandContext":
        """Those of this process."""
        return cls(Path.cwd(), os.environ)

    @cached_property
    def checkout(self) -> Checkout | None:
        """The working copy around, if there is one that git reads."""
        try:
            found = Checkout.find(self.folder)
        except (Invalid, Unavailable):
            return None
        return found if found.is_repository else None

    @cached_property
    def project_file(self) -> ProjectFile:
        """The project file at the top of the working copy, or of this folder."""
        return read_project_file(self.checkout.root if self.checkout else self.folder)

    @cached_property
    def user_file_path(self) -> Path:
        """Where the user file is."""
        return user_file_path(self.environment)

    @cached_property
    def user_file(self) -> UserFile:
        """The servers that somebody is logged in to."""
        return read_user_file(self.user_file_path)


def checked_server(url: str) -> str:
    """The address of a server as it is kept. Raises `Invalid`."""
    url = url if "://" in url else f"https://{url}"
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError as error:
        raise Invalid(f"{url} is no address of a server: {error}.") from error
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise Invalid(f"{url} is no address of a server; it is like https://ci.example.org.")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}{port}{parts.path.rstrip('/')}"


def checked_token(text: str) -> str:
    """A token without the blanks around it. Raises `Invalid` for what cannot be one."""
    token = text.strip()
    if not token.isascii() or not token.isprintable() or " " in token:
        raise Invalid("The token holds characters that no token has; was something else pasted?")
    return token


def find_server(flag: str, pasted: Pasted | None, around: CommandContext) -> Server:
    """The server that is meant. Raises `Invalid` when two are named, `Unauthenticated` when none is known."""
    named = checked_server(flag) if flag else ""
    if named and pasted and pasted.server != named:
        raise Invalid(f"--server says {named}, but the address that was given is on {pasted.server}.")
    environment = around.environment
    from_environment = checked_server(environment[SERVER]) if environment.get(SERVER) else ""
    places = (
        (named, "--server"),
        (from_environment if pasted and from_environment == pasted.server else "", SERVER),
        (pasted.server if pasted else "", "the address"),
        (from_environment, SERVER),
        (_from_project_file(around), "the project file"),
        (_from_remote(around), "the git remote"),
        (around.user_file.default, "the user file"),
    )
    url, said_by = next(((url, said_by) for url, said_by in places if url), ("", ""))
    if not url:
        raise Unauthenticated(
            f"No server is known: neither --server nor {SERVER} says one, and you are logged in to none. "
            "Next: `perdure login https://ADDRESS`."
        )
    return _with_token(url, said_by, around)


def find_project(flag: str, pasted: Pasted | None, server: Server, around: CommandContext) -> str:
    """The project that is meant: an id or a full path. Raises `Invalid` when none is."""
    given = flag
    if is_address(flag):
        given = read_address(flag, around.user_file.servers).project
    file = around.project_file
    from_file = file.project if file.server in {"", server.url} else ""
    pasted_project = pasted.project if pasted else ""
    places = (given, pasted_project, around.environment.get(PROJECT, ""), from_file, remote_project(server.url, around))
    found = next(filter(None, places), "")
    if not found:
        raise Invalid(
            f"Which project? This folder is no working copy of a project of {server.url}. "
            "Add `--project GROUP/NAME`; `perdure project list` shows which there are."
        )
    return found


def remote_project(server_url: str, around: CommandContext) -> str:
    """Full path of the project behind the git remote of this folder, if that remote is on this server; else empty."""
    remote = around.checkout.remote_url if around.checkout else ""
    base = server_of(remote)
    if not base or not _same_host(base, server_url, remote):
        return ""
    below = urlsplit(server_url).path.strip("/")
    path = project_path_of(remote)
    return path.removeprefix(f"{below}/") if below else path


def _from_project_file(around: CommandContext) -> str:
    return checked_server(around.project_file.server) if around.project_file.server else ""


def _from_remote(around: CommandContext) -> str:
    """The server behind the git remote, if somebody is logged in there."""
    return next((url for url in around.user_file.servers if remote_project(url, around)), "")


def _same_host(base: str, server_url: str, remote: str) -> bool:
    """A remote that is reached by ssh says nothing of the port of the pages."""
    one, other = urlsplit(base), urlsplit(server_url)
    if remote.startswith(("http://", "https://")):
        return one.netloc == other.netloc
    return one.hostname == other.hostname


def _with_token(url: str, said_by: str, around: CommandContext) -> Server:
    token = around.environment.get(TOKEN, "")
    if around.environment.get(SERVER) and checked_server(around.environment[SERVER]) != url:
        token = ""  # it is for that other server
    login = around.user_file.servers.get(url)
    if token and said_by in _BY_PERSON:
        return Server(url, said_by, token)
    if login is not None:
        return Server(url, said_by, login.token, login.username)
    if token:
        raise Unauthenticated(
            f"{TOKEN} is set, but only {said_by} names {url}, and a token is not sent where you did not say. "
            f"Set {SERVER}={url} too if you trust that server, or `perdure login {url}`."
        )
    return Server(url, said_by)
