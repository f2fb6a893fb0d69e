"""Reading many files and paths of commits at once, by one or two git processes whatever their number."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from domain.errors import Invalid
from git.command import run, run_and_read
from git.names import checked_path, checked_sha, is_sha
from git.output import FILE_LIMIT, PATHS_LIMIT, Completed
from git.repository import Repository

_HEADER: Final = 200
"""Bytes of a line of `cat-file`, at most."""


@dataclass(frozen=True, slots=True)
class FileAt:
    """A path in a commit."""

    sha: str
    path: str


@dataclass(frozen=True, slots=True)
class TooBig:
    """A file that is there, but has more bytes than were asked for."""

    size: int


async def read_files_at(
    repository: Repository, files: Collection[FileAt], limit: int = FILE_LIMIT, total: int = 64 * FILE_LIMIT
) -> dict[FileAt, bytes | TooBig | None]:
    """Files of any commits: their bytes, `TooBig`, or None where there is no file.

    None also for folders, submodules, and paths that cannot be in a repository. `limit` is for each file, `total` for
    all of them: files beyond it are `TooBig`. Raises `Invalid` for a wrong sha.
    """
    asked = [file for file in dict.fromkeys(files) if checked_sha(file.sha) and _is_path(file.path)]
    if not asked:
        return dict.fromkeys(files)
    found: dict[FileAt, bytes | TooBig | None] = dict.fromkeys(files)
    wanted: dict[FileAt, str] = {}
    left = total
    question = "".join(f"{file.sha}:{file.path}\n" for file in asked).encode("utf-8", "surrogateescape")
    answer = await run([_git_dir(repository), "cat-file", "--batch-check"], question)
    for file, line in zip(asked, answer.out.decode("utf-8", "replace").split("\n"), strict=False):
        name, kind, size = _header(line)
        if kind != "blob":
            continue
        if size > min(limit, left):
            found[file] = TooBig(size)
            continue
        left -= size
        wanted[file] = name
    contents = await _blobs(repository, set(wanted.values()), total)
    return found | {file: contents[name] for file, name in wanted.items()}


async def list_files(repository: Repository, sha: str) -> tuple[str, ...]:
    """Paths of all files of a commit, in git's order; submodules are none. Raises `Invalid`, `TooLarge`.

    A byte that is not UTF-8 is shown as the replacement character.
    """
    arguments = ["ls-tree", "-r", "-z", "--full-tree", checked_sha(sha)]

    def read(answer: Completed) -> tuple[str, ...]:
        if answer.code:
            raise Invalid(f"The repository has no commit {sha}.")
        rows = (row.split("\t", 1) for row in answer.out.decode("utf-8", "replace").split("\0") if row)
        return tuple(path for entry, path in rows if " blob " in entry)

    return await run_and_read([_git_dir(repository), *arguments], read, limit=PATHS_LIMIT, accept=(0, 128))


async def changed_between(repository: Repository, before: str, after: str) -> tuple[str, ...] | None:
    """Paths that differ between two commits, of a renamed file both; None when the repository lacks one of them."""
    arguments = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", checked_sha(before), checked_sha(after)]
    answer = await run([_git_dir(repository), *arguments], limit=PATHS_LIMIT, accept=(0, 128))
    if answer.code:
        return None
    return tuple(path for path in answer.out.decode("utf-8", "replace").split("\0") if path)


async def merge_base(repository: Repository, one: str, *others: str) -> str | None:
    """The best common ancestor of commits (of the first one and a merge of the others); None when they have none."""
    shas = [checked_sha(sha) for sha in (one, *others)]
    answer = await run([_git_dir(repository), "merge-base", *shas], accept=(0, 1, 128))
    base = answer.out.decode("ascii", "replace").strip()
    return base if is_sha(base) else None


async def _blobs(repository: Repository, names: Collection[str], total: int) -> dict[str, bytes]:
    """Contents of blobs that are known to be there."""
    if not names:
        return {}
    question = "".join(f"{name}\n" for name in names).encode()
    room = total + len(names) * _HEADER
    out = (await run([_git_dir(repository), "cat-file", "--batch"], question, limit=room)).out
    contents = {}
    position = 0
    while position < len(out):
        end = out.index(b"\n", position)
        name, _, size = _header(out[position:end].decode())
        contents[name] = out[end + 1 : end + 1 + size]
        position = end + 1 + size + 1
    return contents


def _header(line: str) -> tuple[str, str, int]:
    """`<name> <kind> <size>` of an object; without kind for what is missing."""
    words = line.split(" ")
    if len(words) != 3 or not is_sha(words[0]):
        return "", "", 0
    return words[0], words[1], int(words[2])


def _is_path(path: str) -> bool:
    try:
        checked_path(path)
    except Invalid:
        return False
    return True


def _git_dir(repository: Repository) -> str:
    return f"--git-dir={repository.path}"
