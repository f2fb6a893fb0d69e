"""Where a project comes from, and where it goes: addresses and paths."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from domain.errors import Invalid
from domain.project_import.plan import Document

_USER: Final = "user"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a project will be: the full path of its group, empty for one's own namespace, and its own path."""

    group: str
    name: str

    @property
    def groups(self) -> list[str]:
        """The full paths of the groups on the way, from the top."""
        return list(_trail(self.group))


def place_of(source: Document, wanted: str, username: str) -> Place:
    """Where a project goes: where `wanted` says (`GROUP/NAME` or `NAME`), else to the path that it has at the source.

    Raises `Invalid` for one in the own namespace of somebody who is not `username`: a group of that name would be in
    that person's way.
    """
    if wanted:
        group, _, name = wanted.strip("/").rpartition("/")
        if "" in wanted.strip("/").split("/"):
            raise Invalid(f"--to {wanted!r} is no path of a project; write it as GROUP/NAME.")
        return Place("" if group == username else group, name)
    path = str(source["path_with_namespace"])
    group, _, name = path.rpartition("/")
    if (source.get("namespace") or {}).get("kind") != _USER:
        return Place(group, name)
    if group != username:
        raise Invalid(
            f"{path} is in the own namespace of {group}, and here you are {username}. "
            "Say where it goes: `--to GROUP/NAME`."
        )
    return Place("", name)


def reference_of(text: str, server: str) -> str:
    """Id or full path of a project that was given as that, or as an address on the server. Raises `Invalid`."""
    if not text.startswith(("https://", "http://")):
        found = text.strip("/").removesuffix(".git")
        if found.isdecimal() or "/" in found:
            return found
        raise Invalid(f"{text!r} names no project of {server}; give its path (GROUP/NAME), id or address.")
    if not text.startswith(f"{server}/"):
        raise Invalid(f"{text} is not on {server}; the two must be of one server.")
    found = unquote(urlsplit(text.removeprefix(server)).path).partition("/-/")[0].strip("/").removesuffix(".git")
    if "/" not in found:
        raise Invalid(f"{text} is the page of no project; paste that of the project, or give its path or id.")
    return found


def clone_url(server: str, path: str) -> str:
    """The address of a repository for git.

    It is always on the server that was named. What the server says (`http_url_to_repo`) is not asked: whoever could
    change that could have the token sent elsewhere.
    """
    return f"{server}/{quote(path)}.git"


def _trail(group: str) -> Iterator[str]:
    parts = group.split("/") if group else []
    for number in range(len(parts)):
        yield "/".join(parts[: number + 1])
