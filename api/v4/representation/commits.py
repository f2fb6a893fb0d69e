"""Commits, and what they differ in, as GitLab's JSON."""

from datetime import datetime
from typing import Final, NotRequired

from typing_extensions import TypedDict

from api.v4.representation.pipelines import PipelineResponse
from git.reading.commit import Commit
from git.reading.diffs import FileDiff
from git.reading.history import ChangedLines
from git.reading.trailers import trailers_of

SHORT: Final = 8
"""Digits of a short id."""


class CommitResponse(TypedDict):
    """A commit; of trailers that are there more than once, `trailers` has the last one."""

    id: str
    short_id: str
    created_at: str
    parent_ids: list[str]
    title: str
    message: str
    author_name: str
    author_email: str
    authored_date: str
    committer_name: str
    committer_email: str
    committed_date: str
    trailers: dict[str, str]
    extended_trailers: dict[str, list[str]]
    web_url: str


class CommitStatsResponse(TypedDict):
    """How many lines a commit changed."""

    additions: int
    deletions: int
    total: int


class CountedCommitResponse(CommitResponse):
    """A commit with the lines that it changed, if they were asked for."""

    stats: NotRequired[CommitStatsResponse]


class Counted(TypedDict, total=False):
    """What is told of a commit when its lines are counted."""

    stats: CommitStatsResponse


class CommitDetailsResponse(CountedCommitResponse):
    """A commit with its newest pipeline."""

    status: str | None
    project_id: int
    last_pipeline: PipelineResponse | None


class DiffResponse(TypedDict):
    """A file that differs; modes are octal, `0` where there is no file."""

    old_path: str
    new_path: str
    a_mode: str
    b_mode: str
    new_file: bool
    renamed_file: bool
    deleted_file: bool
    diff: str
    collapsed: bool
    too_large: bool


def commit(found: Commit, full_path: str, url: str) -> CommitResponse:
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


def stats(lines: ChangedLines | None) -> Counted:
    """`stats` of a commit, if its lines were counted."""
    if lines is None:
        return {}
    total = lines.additions + lines.deletions
    return {"stats": {"additions": lines.additions, "deletions": lines.deletions, "total": total}}


def diff(file: FileDiff, *, unidiff: bool = False) -> DiffResponse:
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
