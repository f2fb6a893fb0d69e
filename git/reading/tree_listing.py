"""What a folder of a commit holds, and single files of it with size and mode."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from git.command import run, run_and_read
from git.names import checked_path, checked_sha
from git.output import PATHS_LIMIT, Completed
from git.repository import Repository

_RANK: Final = {"tree": 0, "blob": 1, "commit": 2}


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """A file, folder or submodule. `kind` is `blob`, `tree` or `commit`; `size` is bytes, None where not asked for."""

    mode: str
    kind: str
    sha: str
    path: str
    size: int | None = None

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]


async def list_tree(
    repository: Repository, sha: str, path: str = "", *, recursive: bool = False
) -> Sequence[TreeEntry] | None:
    """Entries of a folder ("" is the top), folders first, else in git's order; None when there is no such folder.

    A byte that is not UTF-8 is shown as the replacement character. Raises `Invalid`, and `TooLarge` beyond
    `PATHS_LIMIT`.
    """
    place = f"{checked_sha(sha)}:{checked_path(path)}" if path else checked_sha(sha)
    depth = ["-r", "-t"] if recursive else []
    git = [f"--git-dir={repository.path}", "ls-tree", "-z", *depth, place]

    def read(answer: Completed) -> Sequence[TreeEntry] | None:
        if answer.code:
            return None
        prefix = f"{path}/" if path else ""
        rows = answer.out.decode("utf-8", "replace").split("\0")
        return sorted((_entry(row, prefix) for row in rows if row), key=lambda entry: _RANK[entry.kind])

    return await run_and_read(git, read, limit=PATHS_LIMIT, accept=(0, 128))


async def entry_at(repository: Repository, sha: str, path: str) -> TreeEntry | None:
    """What is at a path of a commit, with the size of a file; None for nothing. Raises `Invalid`."""
    git = ["--literal-pathspecs", f"--git-dir={repository.path}", "ls-tree", "-z", "-l", "--full-tree"]
    answer = await run([*git, checked_sha(sha), "--", checked_path(path)], accept=(0, 128))
    rows = [_entry(row) for row in answer.out.decode("utf-8", "replace").split("\0") if row]
    return next((entry for entry in rows if entry.path == path), None)


def _entry(row: str, prefix: str = "") -> TreeEntry:
    about, _, path = row.partition("\t")
    mode, kind, sha, *size = about.split()
    return TreeEntry(mode, kind, sha, prefix + path, int(size[0]) if size and size[0].isdigit() else None)
