"""The links of a release: which are right, and how they are added, changed and taken away.

They are kept in the `assets` of a release: `links`, each with `name`, `url`, `link_type`, perhaps `filepath`, and an
`id` as soon as one was changed by itself; `last_link` is the largest id ever given. Ids count within a release.
Source: GitLab: "Release links API"; its `Releases::Link` for what a `filepath` may be.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from domain.errors import Invalid, NotFound

MAX_LINKS: Final = 100
LINK_SCHEMES: Final = frozenset({"http", "https", "ftp"})

Link = Mapping[str, Any]

_FILEPATH: Final = re.compile(r"(?:/[\w.-]+)+", re.ASCII)
_UNIQUE: Final = ("name", "url", "filepath")


def check_links(links: Sequence[Link]) -> None:
    """Raise `Invalid` for links that a release cannot have, alone or together."""
    if len(links) > MAX_LINKS:
        raise Invalid(f"assets has {len(links):,} links; at most {MAX_LINKS} are taken.")
    for link in links:
        if not link["name"].strip():
            raise Invalid("assets has a link without a name.")
        if any("\x00" in str(value) for value in link.values()):
            raise Invalid("assets has a link with a null character; leave it out.")
        if not _is_address(link["url"]):
            raise Invalid(f"assets: the link {link['name']} has url {link['url']!r}; use http, https or ftp.")
        path = link.get("filepath", "")
        if path and not (_FILEPATH.fullmatch(path) and path[-1].isalnum()):
            raise Invalid(f"assets: the link {link['name']} has filepath {path!r}; write it like /bin/app-1.0.zip.")
    for key in _UNIQUE:
        values = [link[key] for link in links if link.get(key)]
        twice = next((value for value in values if values.count(value) > 1), "")
        if twice:
            raise Invalid(f"assets has two links with {key} {twice!r}; each must have its own.")


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in LINK_SCHEMES and bool(parts.hostname)


def links_of(assets: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The links, each with its id: those that were made with their release are numbered by their place."""
    return [{"id": place, **link} for place, link in enumerate(assets.get("links", ()), 1)]


def link_of(assets: Mapping[str, Any], link_id: int) -> Link:
    """One link. Raises `NotFound`."""
    found = next((link for link in links_of(assets) if link["id"] == link_id), None)
    if found is None:
        raise NotFound("Not Found")
    return found


def link_at(assets: Mapping[str, Any], filepath: str) -> Link:
    """The link whose asset is at a path, which begins with a slash. Raises `NotFound`."""
    found = next((link for link in links_of(assets) if link.get("filepath") == filepath), None)
    if found is None:
        raise NotFound("Not Found")
    return found


def with_link(assets: Mapping[str, Any], link: Link) -> tuple[dict[str, Any], Link]:
    """The assets with one link more, and that link with its id. Raises `Invalid`."""
    made = {"id": _last(assets) + 1, **link}
    return _with(assets, [*links_of(assets), made]), made


def with_changed_link(assets: Mapping[str, Any], link_id: int, changes: Link) -> tuple[dict[str, Any], Link]:
    """The assets with a link changed, and that link. Raises `Invalid`, `NotFound`."""
    changed = {**link_of(assets, link_id), **changes}
    return _with(assets, [changed if link["id"] == link_id else link for link in links_of(assets)]), changed


def without_link(assets: Mapping[str, Any], link_id: int) -> tuple[dict[str, Any], Link]:
    """The assets without a link, and that link. Raises `NotFound`."""
    gone = link_of(assets, link_id)
    return _with(assets, [link for link in links_of(assets) if link["id"] != link_id]), gone


def _with(assets: Mapping[str, Any], links: list[dict[str, Any]]) -> dict[str, Any]:
    check_links(links)
    return {**assets, "links": links, "last_link": max([_last(assets), *(link["id"] for link in links)])}


def _last(assets: Mapping[str, Any]) -> int:
    return max([int(assets.get("last_link", 0)), *(link["id"] for link in links_of(assets))], default=0)
