"""Which commit last changed each line of a file. Source of the format: git's git-blame(1), "The porcelain format"."""

from collections.abc import Sequence
from dataclasses import dataclass

from git.command import run_and_read
from git.names import checked_path, checked_sha, is_sha
from git.output import PATHS_LIMIT, Completed
from git.repository import Repository


@dataclass(frozen=True, slots=True)
class BlamedLines:
    """Lines that follow each other and come from one commit."""

    sha: str
    lines: tuple[str, ...]


async def blame(repository: Repository, sha: str, path: str) -> Sequence[BlamedLines]:
    """The lines of a file of a commit, in order; the file must be there. Raises `TooLarge`."""
    git = [f"--git-dir={repository.path}", "blame", "--porcelain", checked_sha(sha), "--", checked_path(path)]
    return await run_and_read(git, _blamed, limit=PATHS_LIMIT)


def _blamed(answer: Completed) -> list[BlamedLines]:
    parts: list[tuple[str, list[str]]] = []
    commit = ""
    for line in answer.out.decode("utf-8", "replace").split("\n"):
        if line.startswith("\t"):
            if not parts or parts[-1][0] != commit:
                parts.append((commit, []))
            parts[-1][1].append(line[1:])
        elif is_sha(line.split(" ", 1)[0]):
            commit = line.split(" ", 1)[0]
    return [BlamedLines(commit, tuple(lines)) for commit, lines in parts]
