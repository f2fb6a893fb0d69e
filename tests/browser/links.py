"""Every link of every page: who follows them all, as one person, and what is dead."""

import asyncio
import re
from collections import Counter
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any, Final
from urllib.parse import urldefrag, urljoin, urlsplit

import httpx

MAX_ADDRESSES: Final = 1_500
MAX_OF_A_KIND: Final = 10
"""So many addresses that differ in numbers and names alone are followed; what the others look like is known."""
_CONCURRENT: Final = 6
_NAMES: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{12,16}(?=/)|\d+")
_TAILS: Final = re.compile(r"(/(?:artifacts/(?:file|browse|raw)|tree|blob|raw|commits|branches|tags)/).+")
_STREAMS: Final = ("events",)
"""How the addresses of what never ends do end; tabs read them."""


@dataclass(frozen=True)
class Place:
    """An address that is linked to, and the page that does."""

    address: str
    on: str
    tag: str


class _Reader(HTMLParser):
    """Addresses of a page: links, pictures, styles and scripts to get, and where its forms lead."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if given.get("id"):
            self.names.add(str(given["id"]))
        name = {"a": "href", "area": "href", "link": "href", "img": "src", "script": "src", "iframe": "src"}.get(tag)
        if name and given.get(name):
            self.found.append((tag, str(given[name])))
        if tag == "form" and given.get("action"):
            method = (given.get("method") or "get").lower()
            self.found.append(("form" if method == "post" else "a", str(given["action"])))


@dataclass
class Found:
    """What somebody who follows every link has seen."""

    pages: dict[str, str] = field(default_factory=dict)
    """Addresses of pages, by what they have in common with others of their kind."""
    dead: list[str] = field(default_factory=list)
    asked: int = 0
    foreign: set[str] = field(default_factory=set)
    anchors: list[str] = field(default_factory=list)
    """Links to a place of their own page that is not there."""


def kind_of(path: str, projects: tuple[str, ...] = ()) -> str:
    """What an address has in common with others: numbers, and the names of projects, are left out."""
    parts = urlsplit(path)
    bare = parts.path
    if project := project_of(path, projects):
        bare = "/PROJECT" + bare[len(project) + 1 :]
    query = sorted({pair.partition("=")[0] for pair in parts.query.split("&") if pair})
    bare = _TAILS.sub(r"\1NAME", bare)
    return _NAMES.sub("N", bare) + (f"?{'&'.join(query)}" if query else "")


def project_of(path: str, projects: tuple[str, ...]) -> str:
    """The first of the projects that an address is of; empty if it is of none."""
    bare = urlsplit(path).path
    return next((each for each in projects if f"{bare}/".startswith(f"/{each}/")), "")


class Follower:
    """One person who follows links, in no browser, from some addresses on."""

    def __init__(
        self, url: str, cookies: list[Any], projects: tuple[str, ...], *, within: tuple[str, ...] = ("/",)
    ) -> None:
        """`cookies` are those of a browser; `projects` are full paths, whose pages are of the same kinds.

        Addresses that do not begin as one of `within` are not followed.
        """
        self._url = url
        self._projects = projects
        self._within = within
        jar = httpx.Cookies()
        for cookie in cookies:
            jar.set(cookie["name"], cookie["value"], domain=cookie["domain"], path=cookie["path"])
        self._client = httpx.AsyncClient(base_url=url, cookies=jar, timeout=60, trust_env=False, headers=_BROWSER)
        self._of_kind: Counter[str] = Counter()
        self._known: set[tuple[str, str]] = set()
        self.found = Found()

    async def follow(self, *starts: str) -> Found:
        """Go on until every address was asked for, or as many as are wanted."""
        waiting = [Place(start, "(the test)", "a") for start in starts]
        async with self._client:
            while waiting and self.found.asked < MAX_ADDRESSES:
                turn, waiting = waiting[:_CONCURRENT], waiting[_CONCURRENT:]
                for places in await asyncio.gather(*(self._look(place) for place in turn)):
                    waiting += places
        return self.found

    async def ask(self, *addresses: str) -> Found:
        """Ask for these addresses alone."""
        async with self._client:
            for address in addresses:
                await self._look(Place(address, "(the test)", "a"))
        return self.found

    async def _look(self, place: Place) -> list[Place]:
        self.found.asked += 1
        if place.tag == "form":
            response = await self._client.request("GET", place.address, follow_redirects=True)
            # What takes a form alone says 405; a page of the same address shows itself.
            if response.status_code >= 400 and response.status_code != httpx.codes.METHOD_NOT_ALLOWED:
                self.found.dead.append(f"{response.status_code} form to {place.address} on {place.on}")
            return []
        async with self._client.stream("GET", place.address, follow_redirects=True) as response:
            if response.status_code >= 400:
                self.found.dead.append(f"{response.status_code} {place.address} on {place.on}")
                return []
            kind = response.headers.get("content-type", "")
            if "text/html" not in kind or response.headers.get("content-disposition", "").startswith("attachment"):
                return []
            text = (await response.aread()).decode()
        here = str(response.url)[len(self._url) :] or "/"
        of_kind = kind_of(here, self._projects)
        self.found.pages[of_kind] = min(here, self.found.pages.get(of_kind, here), key=self._rank)
        return self._links(text, here)

    def _rank(self, path: str) -> tuple[int, str]:
        """What shows a kind of pages: a page of the project that was made first, whichever answered first."""
        return (*self._projects, "").index(project_of(path, self._projects)), path

    def _links(self, text: str, here: str) -> list[Place]:
        reader = _Reader()
        reader.feed(text)
        places = []
        for tag, address in reader.found:
            whole, anchor = urldefrag(urljoin(f"{self._url}{here}", address.strip()))
            parts = urlsplit(whole)
            if not whole.startswith(f"{self._url}/") and whole != self._url:
                self.found.foreign.add(f"{whole[:100]} on {here}")
                continue
            if anchor and whole == f"{self._url}{here}" and anchor not in reader.names:
                self.found.anchors.append(f"#{anchor} on {here}")
            path = whole[len(self._url) :] or "/"
            if self._is_new(path, tag) and not parts.path.endswith(_STREAMS):
                places.append(Place(path, here, tag))
        return places

    def _is_new(self, path: str, tag: str) -> bool:
        kind = f"{tag} {kind_of(path, self._projects)}"
        if not path.startswith(self._within):
            return False
        if (path, tag) in self._known or self._of_kind[kind] >= MAX_OF_A_KIND or "/users/sign_out" in path:
            return False
        self._known.add((path, tag))
        self._of_kind[kind] += 1
        return True


_BROWSER: Final = {
    "Accept": "text/html,application/xhtml+xml,*/*;q=0.8",
    "Sec-Fetch-Mode": "navigate",
    "Sec-Fetch-Site": "same-origin",
}
