"""Branches and tags as GitLab's JSON."""

from dataclasses import dataclass
from urllib.parse import quote

from typing_extensions import TypedDict

from api.v4.representation.commits import CommitResponse, commit
from git.reading.commit import Commit
from git.reading.ref_listing import ListedRef
from models.rows.environments import ReleaseRow


@dataclass(frozen=True, slots=True)
class BranchStanding:
    """What a branch is in its project, and what the caller may do with it."""

    merged: bool = False
    protected: bool = False
    default: bool = False
    developers_can_push: bool = False
    developers_can_merge: bool = False
    can_push: bool = False


class BranchResponse(TypedDict):
    """A branch, and what may be done with it: `can_push` is the caller's."""

    name: str
    commit: CommitResponse
    merged: bool
    protected: bool
    developers_can_push: bool
    developers_can_merge: bool
    can_push: bool
    default: bool
    web_url: str


class TagReleaseResponse(TypedDict):
    """The release of a tag."""

    tag_name: str
    description: str


class TagResponse(TypedDict):
    """A tag; without a commit if it is one of something else, and without a time unless it is annotated."""

    name: str
    message: str
    target: str
    commit: CommitResponse | None
    release: TagReleaseResponse | None
    protected: bool
    created_at: str | None


def branch(name: str, head: Commit, standing: BranchStanding, full_path: str, url: str) -> BranchResponse:
    """One branch."""
    return {
        "name": name,
        "commit": commit(head, full_path, url),
        "merged": standing.merged,
        "protected": standing.protected,
        "developers_can_push": standing.developers_can_push,
        "developers_can_merge": standing.developers_can_merge,
        "can_push": standing.can_push,
        "default": standing.default,
        "web_url": f"{url}/{full_path}/-/tree/{quote(name)}",
    }


def tag(
    found: ListedRef, target: Commit | None, release: ReleaseRow | None, full_path: str, url: str, *, protected: bool
) -> TagResponse:
    """One tag; `release` is the row of its release, `target` is None for a tag of something that is no commit."""
    return {
        "name": found.name,
        "message": found.message,
        "target": found.ref.object,
        "commit": None if target is None else commit(target, full_path, url),
        "release": None if release is None else {"tag_name": release.tag, "description": release.description},
        "protected": protected,
        "created_at": None if found.tagged_at is None else found.tagged_at.isoformat(timespec="milliseconds"),
    }
