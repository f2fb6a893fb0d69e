"""Commits as webhooks tell them; their addresses are added when they are sent."""

from contextlib import suppress
from typing import Any

from domain.errors import PerdureError
from git.reading.changes import Changed
from git.reading.commit import Commit
from git.repository import Repository


def told(commit: Commit) -> dict[str, Any]:
    """A commit without the files that it touches."""
    return {
        "id": commit.sha,
        "message": commit.message,
        "title": commit.title,
        "timestamp": commit.authored_at.isoformat(),
        "author": {"name": commit.author_name, "email": commit.author_email},
    }


def told_change(changed: Changed) -> dict[str, Any]:
    """A commit with them."""
    paths = {"added": changed.added, "modified": changed.modified, "removed": changed.removed}
    return {**told(changed.commit), **paths}


async def told_of(repository: Repository, sha: str) -> dict[str, Any] | None:
    """A commit by its sha; None for one that is gone."""
    with suppress(PerdureError):
        return told(await repository.commit(sha))
    return None
