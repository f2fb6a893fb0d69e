"""Commits as webhooks tell them; their addresses are added when they are sent."""

from contextlib import suppress
from typing import Any, Final

from domain.errors import PerdureError
from git.reading.changes import Changed
from git.reading.commit import Commit
from git.repository import Repository

MAX_MESSAGE: Final = 50_000
"""Characters of a message that webhooks are told: a push tells of twenty commits, each of which may say megabytes."""


def describe_commit(commit: Commit) -> dict[str, Any]:
    """A commit without the files that it touches."""
    return {
        "id": commit.sha,
        "message": commit.message[:MAX_MESSAGE],
        "title": commit.title[:MAX_MESSAGE],
        "timestamp": commit.authored_at.isoformat(),
        "author": {"name": commit.author_name, "email": commit.author_email},
    }


def describe_change(changed: Changed) -> dict[str, Any]:
    """A commit with the files that it touches."""
    paths = {"added": changed.added, "modified": changed.modified, "removed": changed.removed}
    return {**describe_commit(changed.commit), **paths}


async def find_commit_facts(repository: Repository, sha: str) -> dict[str, Any] | None:
    """The facts of a commit by its sha; None for one that is gone."""
    with suppress(PerdureError):
        return describe_commit(await repository.commit(sha))
    return None
