"""Commits, and what they differ in, as GitLab's JSON."""

from datetime import datetime
from typing import Any, Final

from git.reading.commit import Commit
from git.reading.diffs import FileDiff
from git.reading.history import ChangedLines
from git.reading.trailers import trailers_of

SHORT: Final = 8
"""Digits of a short id."""


def commit(found: Commit, full_path: str, url: str) -> dict[str, Any]:
    """One commit, with the times in the zones of those who wrote it."""
    trailers = trailers_of(found.message)
    return {
        "id": found.sha,
        "short_id": found.sha[:SHORT],
        "created_at": _moment(found.committed_at),
        "parent_ids": list(found.parents),
        "title": found.title,
        "message": found.message,
        "author_name": found.author_name,
        "author_email": found.author_email,
        "authored_date": _moment(found.authored_at),
        "committer_name": found.committer_name,
        "committer_email": found.committer_email,
        "committed_date": _moment(found.committed_at),
        "trailers": {key: values[-1] for key, values in trailers.items()},
        "extended_trailers": trailers,
        "web_url": f"{url}/{full_path}/-/commit/{found.sha}",
    }


def _moment(value: datetime) -> str:
    return value.isoformat(timespec="milliseconds")


def stats(lines: ChangedLines) -> dict[str, int]:
    """`stats` of a commit."""
    return {
        "additions": lines.additions,
        "deletions": lines.deletions,
        "total": lines.additions + lines.deletions,
    }


def diff(file: FileDiff, *, unidiff: bool = False) -> dict[str, Any]:
    """One file that differs; with `unidiff` its patch can be applied by `patch`."""
    text = file.diff
    if unidiff and text.startswith("@@"):
        old = "/dev/null" if file.new_file else f"a/{file.old_path}"
        new = "/dev/null" if file.deleted_file else f"b/{file.new_path}"
        text = f"--- {old}\n+++ {new}\n{text}"
    return {
        "old_path": file.old_path,
        "new_path": file.new_path,
        "a_mode": file.a_mode,
        "b_mode": file.b_mode,
        "new_file": file.new_file,
        "renamed_file": file.renamed_file,
        "deleted_file": file.deleted_file,
        "diff": text,
        "collapsed": file.collapsed,
        "too_large": file.too_large,
    }
