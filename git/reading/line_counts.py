"""How many lines differ between two commits, file by file, as git counts them."""

from collections.abc import Iterator
from dataclasses import dataclass

from git.command import run_and_read
from git.names import checked_sha
from git.output import PATHS_LIMIT, Completed
from git.reading.diffs import RENAMES
from git.repository import Repository


@dataclass(frozen=True, slots=True)
class LineCounts:
    """Lines that came and went; None for a binary file."""

    added: int | None
    removed: int | None


async def line_counts(repository: Repository, old: str, new: str) -> dict[str, LineCounts]:
    """The counts of each file that differs between two commits or trees, by its newer path. Raises `TooLarge`."""
    git = [f"--git-dir={repository.path}", "diff-tree", "-r", "-z", "--numstat", *RENAMES]
    return await run_and_read([*git, checked_sha(old), checked_sha(new)], read_counts, limit=PATHS_LIMIT)


def read_counts(answer: Completed) -> dict[str, LineCounts]:
    """What `git diff-tree -z --numstat` says; a file that was renamed has its two paths after the counts."""
    words = iter(answer.out.decode("utf-8", "replace").split("\0"))
    return dict(_row(word, words) for word in words if word)


def _row(word: str, following: Iterator[str]) -> tuple[str, LineCounts]:
    added, removed, path = word.split("\t", 2)
    if not path:
        next(following)
        path = next(following)
    return path, LineCounts(_number(added), _number(removed))


def _number(text: str) -> int | None:
    return int(text) if text.isdigit() else None
