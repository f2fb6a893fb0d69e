"""Releases as GitLab's JSON."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import quote

from api.v4.representation.commits import SHORT, commit
from api.v4.representation.people import person
from domain.moments import moment
from domain.projects.release_links import links_of
from git.reading.commit import Commit


def release(
    row: Any, users: Mapping[int, Any], commits: Mapping[str, Commit], project: Any, url: str, now: datetime
) -> dict[str, Any]:
    """One release; the commit is left empty but for its id when the repository has lost it."""
    author = users.get(row.user_id)
    page = release_page(row, project, url)
    links = [release_link(link, page) for link in links_of(row.assets)]
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
        "assets": {"count": len(links), "sources": [], "links": links},
        "evidences": [],
        "_links": {"self": f"{url}/api/v4/projects/{project.id}/releases/{quote(row.tag, safe='')}"},
    }


def release_page(row: Any, project: Any, url: str) -> str:
    """The address below which the files of a release are found."""
    return f"{url}/{project.full_path}/-/releases/{quote(row.tag, safe='')}"


def release_link(link: Mapping[str, Any], page: str) -> dict[str, Any]:
    """A link of a release, with its id; one that has a path is found below the release's own address."""
    path = link.get("filepath")
    return {
        "id": link["id"],
        "name": link["name"],
        "url": link["url"],
        "direct_asset_url": f"{page}/downloads{path}" if path else link["url"],
        "link_type": link.get("link_type") or "other",
    }


def _commit(sha: str, found: Commit | None, full_path: str, url: str) -> dict[str, Any]:
    return {"id": sha, "short_id": sha[:SHORT]} if found is None else commit(found, full_path, url)
