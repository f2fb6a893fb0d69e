"""Addresses that people paste: those of pipelines, jobs and projects in the browser."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urlsplit

from domain.errors import Invalid

_PAGE: Final = re.compile(r"/(?P<path>.+?)/-/(?P<kind>pipelines|jobs)/(?P<id>\d+)(?:/.*)?")


@dataclass(frozen=True, slots=True)
class Pasted:
    """What an address names. `kind` is `pipelines`, `jobs` or empty for the project itself, `id` then 0."""

    server: str
    project: str
    kind: str = ""
    id: int = 0


def is_address(text: str) -> bool:
    """Whether an argument is an address and no id or name."""
    return text.startswith(("https://", "http://"))


def read_address(text: str, known: Collection[str] = ()) -> Pasted:
    """Read the address of a page; `known` servers may be below a path of their host. Raises `Invalid`."""
    try:
        parts = urlsplit(text)
        host = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    except ValueError as error:
        raise Invalid(f"{text} is no address: {error}.") from error
    plain = f"{host}{parts.path}"
    below = [server for server in known if plain.startswith(f"{server}/")]
    server = max(below, key=len, default=host)
    path = unquote(plain.removeprefix(server))
    page = _PAGE.fullmatch(path)
    if page:
        return Pasted(server, page["path"], page["kind"], int(page["id"]))
    project = path.partition("/-/")[0].strip("/").removesuffix(".git")
    if "/" not in project:
        raise Invalid(f"{text} is the page of no project, pipeline or job. Give its id, or paste another address.")
    return Pasted(server, project)
