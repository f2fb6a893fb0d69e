"""What differs between two commits, file by file, with the patches of one page.

Patches are read as a stream: those before the page and the rest of those that are too large pass by. Limits are
GitLab's ("Diff limits administration").
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from domain.errors import Unavailable
from git.command import TIME_LIMIT, run_and_read, start
from git.git_process import CHUNK, GitProcess
from git.names import checked_sha
from git.output import PATHS_LIMIT, Completed
from git.repository import Repository

RENAMES: Final = ("--find-renames=30%", "-l400")
"""Each file that came is compared with each that went: with more than so many, only those that are the same."""
_NEXT: Final = b"\ndiff --git "
_HEAD_LIMIT: Final = 8 * 1024
"""Bytes before the first hunk: two paths, each at most twice."""
_NO_MODE: Final = "000000"
_MAX_BATCH: Final = 100
"""Files that are looked at in one turn of the event loop."""


@dataclass(frozen=True, slots=True)
class DiffLimits:
    """How much is shown: bytes of one patch, and bytes of all patches and files of one answer."""

    patch: int = 200 * 1024
    total: int = 5 * 1024 * 1024
    files: int = 3_000


@dataclass(frozen=True, slots=True)
class FileDiff:
    """One file that differs. `diff` begins at its first hunk; it is empty for one `too_large` or `collapsed`.

    Modes are octal, `0` where there is no file. `collapsed`: the answer is full, ask for this file alone.
    """

    old_path: str
    new_path: str
    a_mode: str
    b_mode: str
    new_file: bool
    renamed_file: bool
    deleted_file: bool
    type_changed: bool = False
    diff: str = ""
    too_large: bool = False
    collapsed: bool = False


async def changed_files(repository: Repository, old: str, new: str) -> list[FileDiff]:
    """The files that differ between two commits or trees, without patches. Raises `Invalid`, `TooLarge`."""
    git = [f"--git-dir={repository.path}", "diff-tree", "-r", "-z", "--raw", *RENAMES]
    return await run_and_read([*git, checked_sha(old), checked_sha(new)], _files, limit=PATHS_LIMIT)


def _files(answer: Completed) -> list[FileDiff]:
    words = iter(answer.out.decode("utf-8", "replace").split("\0"))
    return [_file(word, words) for word in words if word]


def _file(about: str, following: Iterator[str]) -> FileDiff:
    a_mode, b_mode, _, _, status = about.removeprefix(":").split(" ")
    old_path = next(following)
    new_path = next(following) if status[0] in "RC" else old_path
    return FileDiff(
        old_path,
        new_path,
        "0" if a_mode == _NO_MODE else a_mode,
        "0" if b_mode == _NO_MODE else b_mode,
        new_file=status == "A",
        renamed_file=status[0] == "R",
        deleted_file=status == "D",
        type_changed=status == "T",
    )


async def with_patches(
    repository: Repository,
    old: str,
    new: str,
    files: Sequence[FileDiff],
    *,
    first: int = 0,
    count: int | None = None,
    limits: DiffLimits | None = None,
) -> list[FileDiff]:
    """Those of the changed files from `first` on, `count` of them, with their patches; all of `files` are needed.

    There are never more than `limits.files`.
    """
    limits = limits or DiffLimits()
    last = min(len(files), first + (limits.files if count is None else min(count, limits.files)))
    shown: list[FileDiff] = []
    room = limits.total
    if first >= last:
        return shown
    git = ["-c", "core.quotePath=false", f"--git-dir={repository.path}", "diff-tree", "-r", "-p", "--full-index"]
    git += ["--no-color", "--no-ext-diff", "--no-textconv", *RENAMES, checked_sha(old), checked_sha(new)]
    try:
        async with asyncio.timeout(TIME_LIMIT), start(git) as running:
            running.stdin.close()
            sections = _sections(running, limits.patch + _HEAD_LIMIT)
            for position, file in enumerate(files[:last]):
                section = await anext(sections, b"")
                if file.type_changed:
                    # git writes it as a file that goes and another one that comes.
                    section += b"\n" + await anext(sections, b"")
                if position % _MAX_BATCH == 0:
                    await asyncio.sleep(0)  # many sections come with one read: let others have their turn
                if position >= first:
                    one = _limited(file, hunks_of(section), room, limits)
                    room -= len(one.diff)
                    shown.append(one)
    except TimeoutError as error:
        raise Unavailable(f"git diff-tree took more than {TIME_LIMIT:g} s; ask for fewer files at a time.") from error
    return shown


def _limited(file: FileDiff, hunks: bytes, room: int, limits: DiffLimits) -> FileDiff:
    if len(hunks) > limits.patch:
        return replace(file, too_large=True)
    if len(hunks) > room:
        return replace(file, collapsed=True)
    return replace(file, diff=hunks.decode("utf-8", "replace"))


def hunks_of(section: bytes) -> bytes:
    """What follows the head of a file's patch: hunks, or a line that says that binary files differ."""
    for sign in (b"\n@@ ", b"\nBinary files "):
        at = section.find(sign)
        if at >= 0:
            return section[at + 1 :] + (b"" if section.endswith(b"\n") else b"\n")
    return b""


async def _sections(git: GitProcess, limit: int) -> AsyncIterator[bytes]:
    """Each file's patch from `diff --git` to its end, of which at most `limit` bytes and one more chunk are kept."""
    section = bytearray()
    unread = b"\n"
    while True:
        chunk = await git.stdout.read(CHUNK)
        unread += chunk
        while (at := unread.find(_NEXT)) >= 0:
            section += unread[:at]
            if section.strip():
                yield bytes(section)
            section = bytearray(_NEXT[1:])
            unread = unread[at + len(_NEXT) :]
        # The sign may be cut by the edge of a chunk.
        kept = len(_NEXT) if chunk else 0
        if len(section) <= limit:
            section += unread[: len(unread) - kept]
        unread = unread[len(unread) - kept :] if kept else b""
        if not chunk:
            break
    if section.strip():
        yield bytes(section)


async def stream_diff(repository: Repository, old: str, new: str) -> AsyncIterator[bytes]:
    """All that differs between two commits as `git diff` writes it, with binary patches. Raises `Unavailable`."""
    git = ["-c", "core.quotePath=false", f"--git-dir={repository.path}", "diff-tree", "-r", "-p", "--full-index"]
    git += ["--binary", "--no-color", "--no-ext-diff", "--no-textconv", *RENAMES, checked_sha(old), checked_sha(new)]
    async with start(git) as running:
        running.stdin.close()
        while chunk := await running.stdout.read(CHUNK):
            yield chunk
        if await running.wait():
            raise Unavailable(f"git could not compare {old} and {new}: {running.err or 'no message'}")
