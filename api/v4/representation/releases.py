"""Releases as GitLab's JSON."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote

from typing_extensions import TypedDict

from api.v4.representation.commits import SHORT, CommitResponse, commit
from api.v4.representation.people import PersonResponse, person
from domain.moments import moment
from domain.projects.release_links import links_of
from git.reading.commit import Commit
from models.rows.accounts import UserRow
from models.rows.environments import ReleaseRow
from models.rows.projects import ProjectRow

_PACKINGS: Final = ("zip", "tar.gz", "tar.bz2", "tar")


class LostCommitResponse(TypedDict):
    """A commit that the repository has no more."""

    id: str
    short_id: str


class ReleaseMilestoneResponse(TypedDict):
    """A milestone of a release, which is kept by its title only."""

    title: str


class ReleaseLinkResponse(TypedDict):
    """A link of a release; `direct_asset_url` stays the same when `url` changes, if the link has a path."""

    id: int
    name: str
    url: str
    direct_asset_url: str
    link_type: str


class ReleaseSourceResponse(TypedDict):
    """An archive of what a release was made of."""

    format: str
    url: str


class ReleaseAssetsResponse(TypedDict):
    """What belongs to a release: archives of its source, and links; `count` counts both."""

    count: int
    sources: list[ReleaseSourceResponse]
    links: list[ReleaseLinkResponse]


class ReleaseAddressesResponse(TypedDict):
    """The page of a release."""

    self: str


class ReleaseResponse(TypedDict):
    """A release."""

    tag_name: str
    name: str
    description: str
    created_at: str
    released_at: str
    upcoming_release: bool
    author: PersonResponse | None
    commit: CommitResponse | LostCommitResponse
    milestones: list[ReleaseMilestoneResponse]
    commit_path: str
    tag_path: str
    assets: ReleaseAssetsResponse
    evidences: list[dict[str, Any]]
    _links: ReleaseAddressesResponse


def release(
    row: ReleaseRow,
    users: Mapping[int, UserRow],
    commits: Mapping[str, Commit],
    project: ProjectRow,
    url: str,
    now: datetime,
) -> ReleaseResponse:
    """One release; the commit is left empty but for its id when the repository has lost it."""
    author = users.get(row.user_id)
    page = release_page(row, project, url)
    links = [release_link(link, page) for link in links_of(row.assets)]
    archives = sources(row.tag, project, url)
    return {
        "tag_name": row.tag,
        "name": row.name,
        "description": row.description,
        "created_at": moment(row.created_at),
        "released_at": moment(row.released_at),
        "upcoming_release": row.released_at > now,
        "author": None if author is None else person(author, url),
        "commit": _commit(row.sha, commits.get(row.sha), project.full_path, url),
        "milestones": [{"title": title} for title in row.milestones],
        "commit_path": f"/{project.full_path}/-/commit/{row.sha}",
        "tag_path": f"/{project.full_path}/-/tags/{quote(row.tag, safe='')}",
        "assets": {"count": len(archives) + len(links), "sources": archives, "links": links},
        "evidences": [],
        "_links": {"self": page},
    }


def sources(tag: str, project: ProjectRow, url: str) -> list[ReleaseSourceResponse]:
    """The archives of a tag."""
    name = f"{project.path}-{tag.replace('/', '-')}"
    address = f"{url}/{project.full_path}/-/archive/{quote(tag)}/{quote(name)}"
    return [{"format": packing, "url": f"{address}.{packing}"} for packing in _PACKINGS]


def release_page(row: ReleaseRow, project: ProjectRow, url: str) -> str:
    """The page of a release, below which its files are found."""
    return f"{url}/{project.full_path}/-/releases/{quote(row.tag, safe='')}"


def release_link(link: Mapping[str, Any], page: str) -> ReleaseLinkResponse:
    """A link of a release, with its id; one that has a path is found below the release's own address."""
    path = link.get("filepath")
    return {
        "id": link["id"],
        "name": link["name"],
        "url": link["url"],
        "direct_asset_url": f"{page}/downloads{path}" if path else link["url"],
        "link_type": link.get("link_type") or "other",
    }


def _commit(sha: str, found: Commit | None, full_path: str, url: str) -> CommitResponse | LostCommitResponse:
    return {"id": sha, "short_id": sha[:SHORT]} if found is None else commit(found, full_path, url)
