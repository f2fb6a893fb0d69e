"""What a push brought: its newest commits with the files they touch, and how many there are."""

import asyncio
from dataclasses import dataclass, field
from typing import Final

from domain.errors import Invalid, PerdureError
from git.command import run
from git.names import checked_ref, checked_sha
from git.reading.commit import COMMIT_FORMAT, Commit, parse_commit
from git.repository import Repository
from git.transport.push import RefUpdate

NEWEST: Final = 20
"""Commits that are told of; GitLab tells as many in a webhook."""
_FIELDS: Final = 9
"""Of a commit in `COMMIT_FORMAT`."""
_KINDS: Final = {"A": "added", "D": "removed"}
"""Letters of git; every other one is a change of content, type or mode."""


@dataclass(frozen=True, slots=True)
class Changed:
    """A commit, and the paths of files that it adds, changes and removes (against its first parent)."""

    commit: Commit
    added: list[str] = field(default_factory=list)
    modified: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)


async def changes(repository: Repository, update: RefUpdate, default_branch: str) -> tuple[list[Changed], int]:
    """The commits that an update brought to its ref, the oldest first, `NEWEST` at most, and the number of all.

    Of a new ref those are meant which the default branch has not; of a new default branch all. Nothing when the
    repository has lost them, or when they are too large to be read.
    """
    if update.is_delete:
        return [], 0
    try:
        wanted = await _range(repository, update, default_branch)
        total = int(await _git(repository, "rev-list", "--count", *wanted, "--"))
        commits = _commits(
            await _git(
                repository,
                "log",
                "-z",
                f"--max-count={NEWEST}",
                "--no-show-signature",
                "--no-mailmap",
                "--date=raw",
                f"--format={COMMIT_FORMAT}",
                *wanted,
                "--",
            )
        )
        paths = await _paths(repository, [commit.sha for commit in commits])
    except (PerdureError, ValueError):
        return [], 0
    return [_changed(commit, paths.get(commit.sha, [])) for commit in reversed(commits)], total


async def change_of(repository: Repository, sha: str) -> Changed | None:
    """One commit with the files that it touches; None when the repository has lost it, or it is too large."""
    try:
        commit = await repository.commit(sha)
        return _changed(commit, (await _paths(repository, [commit.sha]))[commit.sha])
    except PerdureError:
        return None


async def summary(repository: Repository, update: RefUpdate, default_branch: str) -> tuple[int, str]:
    """How many commits an update brought, as `changes` counts them, and the newest one's title; none if it is lost."""
    if update.is_delete:
        return 0, ""
    try:
        wanted = await _range(repository, update, default_branch)
        count, title = await asyncio.gather(
            _git(repository, "rev-list", "--count", *wanted, "--"),
            _git(repository, "log", "-1", "--no-show-signature", "--format=%s", checked_sha(update.new), "--"),
        )
    except PerdureError:
        return 0, ""
    return int(count), title.decode("utf-8", "replace").strip()


async def _range(repository: Repository, update: RefUpdate, default_branch: str) -> list[str]:
    if not update.is_create:
        return [checked_sha(update.new), f"^{checked_sha(update.old)}"]
    known, default = None, f"refs/heads/{checked_ref(default_branch)}"
    if update.ref != default:
        known = await repository.resolve(default)
    return [checked_sha(update.new)] + ([f"^{known}"] if known is not None else [])


async def _git(repository: Repository, *arguments: str, given: bytes = b"") -> bytes:
    answer = await run([f"--git-dir={repository.path}", *arguments], given, accept=(0, 128))
    if answer.code != 0:
        raise Invalid("The repository does not have these commits.")
    return answer.out


def _commits(output: bytes) -> list[Commit]:
    fields = output.split(b"\0")
    return [parse_commit(b"\0".join(fields[at : at + _FIELDS])) for at in range(0, len(fields) - _FIELDS + 1, _FIELDS)]


async def _paths(repository: Repository, shas: list[str]) -> dict[str, list[tuple[str, str]]]:
    """Letter and path of each file that these commits touch, by commit."""
    options = ["--stdin", "-r", "-z", "--root", "--name-status", "--no-renames", "--diff-merges=first-parent"]
    given = "".join(f"{sha}\n" for sha in shas).encode()
    words = (await _git(repository, "diff-tree", *options, given=given)).decode("utf-8", "replace").split("\0")
    found: dict[str, list[tuple[str, str]]] = {sha: [] for sha in shas}
    current, at = "", 0
    while at < len(words) - 1:
        if words[at] in found:
            current, at = words[at], at + 1
        else:
            found[current].append((words[at], words[at + 1]))
            at += 2
    return found


def _changed(commit: Commit, paths: list[tuple[str, str]]) -> Changed:
    changed = Changed(commit)
    for letter, path in paths:
        getattr(changed, _KINDS.get(letter, "modified")).append(path)
    return changed
