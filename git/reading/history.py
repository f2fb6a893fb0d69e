"""Commits in lists: those that a ref leads to, those of many ids, and what they changed in figures."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from domain.text_lines import lines_of
from git.command import TIME_LIMIT, run
from git.names import checked_path, checked_sha
from git.output import PATHS_LIMIT
from git.reading.commit import COMMIT_FORMAT, Commit, parse_commit
from git.repository import Repository
from git.writing.object_writing import EMPTY_TREE

_FIELDS: Final = 9
"""Of one commit in `COMMIT_FORMAT`."""
_MAX_SKIP: Final = 2**31 - 1
"""Git counts no further."""
_SHOWN: Final = ("-z", "--no-show-signature", "--no-mailmap", "--date=raw", f"--format=tformat:{COMMIT_FORMAT}")
_STAT: Final = re.compile(r"(\d+) (insertion|deletion)")


@dataclass(frozen=True, slots=True)
class HistoryQuery:
    """Which commits. `revisions` are ids, with `^` before those whose history is left out; none means all refs.

    `skip` and `limit` count commits. `since` and `until` compare with the committer's date; `author` is a part of name
    or address, as it is written; `message` is in that of the commit, in any case.
    """

    revisions: Sequence[str]
    path: str = ""
    since: datetime | None = None
    until: datetime | None = None
    author: str = ""
    message: str = ""
    first_parent: bool = False
    topological: bool = False
    follow: bool = False
    oldest_first: bool = False
    skip: int = 0
    limit: int = 20


@dataclass(frozen=True, slots=True)
class ChangedLines:
    """How many lines a commit added and took away."""

    additions: int = 0
    deletions: int = 0


async def commits(repository: Repository, query: HistoryQuery, seconds: float = TIME_LIMIT) -> list[Commit]:
    """The commits of one page, the newest first; git reads no further than that. Raises `Invalid`."""
    revisions = ["^" * one.startswith("^") + checked_sha(one.removeprefix("^")) for one in query.revisions]
    switches = {
        "--first-parent": query.first_parent,
        "--topo-order": query.topological,
        "--reverse": query.oldest_first,
        "--follow": query.follow and bool(query.path),
    }
    words = [switch for switch, wanted in switches.items() if wanted]
    words += [f"--since={_time(query.since)}"] if query.since is not None else []
    words += [f"--until={_time(query.until)}"] if query.until is not None else []
    words += ["--fixed-strings", f"--author={query.author}"] if query.author else []
    words += ["--fixed-strings", "--regexp-ignore-case", f"--grep={query.message}"] if query.message else []
    words += [f"--skip={min(query.skip, _MAX_SKIP)}", f"--max-count={query.limit}"]
    path = [checked_path(query.path)] if query.path else []
    git = ["--literal-pathspecs", f"--git-dir={repository.path}", "log", *_SHOWN, *words]
    seen = revisions or ["--branches", "--tags"]
    return _parsed((await run([*git, *seen, "--", *path], limit=PATHS_LIMIT, seconds=seconds)).out)


async def commits_by_sha(repository: Repository, shas: Iterable[str]) -> dict[str, Commit]:
    """Commits by id; those that are there."""
    wanted = list(dict.fromkeys(checked_sha(sha) for sha in shas))
    if not wanted:
        return {}
    question = "".join(f"{sha}\n" for sha in wanted).encode()
    git = [f"--git-dir={repository.path}", "log", *_SHOWN, "--no-walk=unsorted", "--ignore-missing", "--stdin"]
    return {commit.sha: commit for commit in _parsed((await run(git, question, limit=PATHS_LIMIT)).out)}


def _parsed(out: bytes) -> list[Commit]:
    fields = out.split(b"\0")[:-1]
    return [parse_commit(b"\0".join(fields[at : at + _FIELDS])) for at in range(0, len(fields), _FIELDS)]


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


async def changed_lines(repository: Repository, wanted: Collection[Commit]) -> dict[str, ChangedLines]:
    """What commits changed against their first parent, by id."""
    if not wanted:
        return {}
    question = "".join(f"{' '.join((commit.sha, *commit.parents[:1]))}\n" for commit in wanted).encode()
    git = [f"--git-dir={repository.path}", "diff-tree", "--stdin", "--root", "-r", "-M", "--shortstat"]
    found = {commit.sha: ChangedLines() for commit in wanted}
    sha = ""
    for line in lines_of((await run(git, question)).out.decode("ascii", "replace")):
        if line.strip() in found:
            sha = line.strip()
        elif sha:
            counts = {word: int(count) for count, word in _STAT.findall(line)}
            found[sha] = ChangedLines(counts.get("insertion", 0), counts.get("deletion", 0))
    return found


async def count_commits(repository: Repository, sha: str, *, first_parent: bool = False) -> int:
    """How many commits lead to this one, itself included."""
    words = ["--first-parent"] if first_parent else []
    git = [f"--git-dir={repository.path}", "rev-list", "--count", *words, checked_sha(sha), "--"]
    return int((await run(git)).out)


def parent_of(commit: Commit) -> str:
    """What a commit is compared with: its first parent, or the tree without files."""
    return commit.parents[0] if commit.parents else EMPTY_TREE


@dataclass(frozen=True, slots=True)
class Contributor:
    """Somebody who wrote commits."""

    name: str
    email: str
    commits: int


async def contributors(repository: Repository, sha: str) -> list[Contributor]:
    """Authors of all commits up to one, those of the most commits first; merges do not count."""
    git = [f"--git-dir={repository.path}", "shortlog", "--summary", "--numbered", "--email", "--no-merges"]
    out = (await run([*git, checked_sha(sha), "--"])).out.decode("utf-8", "replace")
    rows = (line.strip().partition("\t") for line in lines_of(out) if line.strip())
    people = ((int(count), *who.rpartition(" <")[::2]) for count, _, who in rows)
    return [Contributor(name, email.removesuffix(">"), count) for count, name, email in people]


async def count_between(repository: Repository, sha: str, without: str, most: int) -> int:
    """How many commits lead to one and not to another, `most` at most."""
    git = [f"--git-dir={repository.path}", "rev-list", "--count", f"--max-count={most}"]
    return int((await run([*git, checked_sha(sha), f"^{checked_sha(without)}", "--"])).out)
