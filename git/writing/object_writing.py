"""Writing objects: blobs, trees, commits. Each kind takes one git process, however many objects there are.

What is written here is not seen before a ref leads to it (`git.writing.ref_transaction`), and does no harm if none ever
does.
"""

import asyncio
import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from domain.errors import Invalid, Unavailable
from git.command import run
from git.names import checked_sha, is_sha
from git.reading.signature import Signature
from git.repository import Repository

TREE_MODE: Final = "40000"
"""The mode of a folder, as trees hold it."""
SUBMODULE_MODE: Final = "160000"
"""The mode of a commit of another repository."""
EMPTY_TREE: Final = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""A tree without entries; every git knows it, written or not."""
MESSAGE_LIMIT: Final = 512 * 1024
"""Bytes of a commit's message; what reads commits takes twice as much."""
_KINDS: Final = {TREE_MODE: "tree", SUBMODULE_MODE: "commit"}


@dataclass(frozen=True, slots=True)
class Entry:
    """What a name in a folder stands for."""

    mode: str
    sha: str

    @property
    def is_tree(self) -> bool:
        """Whether it is a folder."""
        return self.mode == TREE_MODE

    @property
    def is_file(self) -> bool:
        """Whether it is a file or a symbolic link."""
        return self.mode not in _KINDS


@dataclass(frozen=True, slots=True)
class NewCommit:
    """A commit to be written; without `committer` its author commits it."""

    tree: str
    parents: tuple[str, ...]
    message: str
    author: Signature
    committer: Signature | None = None


async def write_blobs(repository: Repository, contents: Sequence[bytes]) -> list[str]:
    """Write contents of files, bytes for bytes; their ids in the same order. Raises `Unavailable`."""
    if not contents:
        return []
    with tempfile.TemporaryDirectory(prefix="perdure-blobs-") as folder:
        paths = await asyncio.to_thread(_drafts, Path(folder), contents)
        question = "".join(f"{path}\n" for path in paths).encode()
        git = [f"--git-dir={repository.path}", "hash-object", "-w", "--no-filters", "--stdin-paths"]
        answer = await run(git, question)
    return answer.out.decode("ascii").split()


def _drafts(folder: Path, contents: Sequence[bytes]) -> list[Path]:
    paths = [folder / str(number) for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    return paths


def tree_id(entries: Mapping[str, Entry]) -> str:
    """The id that a folder with these entries has: the hash of its names in git's order, modes and ids."""
    body = b"".join(
        f"{entry.mode} ".encode() + _bytes(name) + b"\0" + bytes.fromhex(entry.sha)
        for name, entry in sorted(entries.items(), key=lambda item: _bytes(item[0]) + b"/" * item[1].is_tree)
    )
    return hashlib.sha1(b"tree %d\0" % len(body) + body, usedforsecurity=False).hexdigest()


async def write_trees(repository: Repository, trees: Sequence[Mapping[str, Entry]]) -> list[str]:
    """Write folders, inner ones before those that hold them; their ids in the same order.

    Raises `Unavailable`, also when an entry leads to no object.
    """
    if not trees:
        return []
    batch = b"".join(b"".join(_line(name, entry) for name, entry in tree.items()) + b"\0" for tree in trees)
    answer = await run([f"--git-dir={repository.path}", "mktree", "-z", "--batch"], batch)
    written = answer.out.decode("ascii").split()
    if written != [tree_id(tree) for tree in trees]:
        raise Unavailable("git wrote other trees than it was told; the repository may be damaged.")
    return written


def _line(name: str, entry: Entry) -> bytes:
    kind = _KINDS.get(entry.mode, "blob")
    return f"{entry.mode} {kind} {entry.sha}\t".encode() + _bytes(name) + b"\0"


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


async def write_commit(repository: Repository, commit: NewCommit, *, durable: bool = True) -> str:
    """Write a commit; its id. Raises `Invalid` for a message that git cannot hold, `Unavailable`.

    One that is not `durable` serves a computation and is never shown to anybody.
    """
    message = commit.message.rstrip().encode("utf-8", "replace")
    if b"\0" in message:
        raise Invalid("commit_message holds a null character; leave it out.")
    if len(message) > MESSAGE_LIMIT:
        raise Invalid(f"commit_message has {len(message):,} bytes; at most {MESSAGE_LIMIT:,} are taken.")
    committer = commit.committer or commit.author
    lines = [f"tree {checked_sha(commit.tree)}", *(f"parent {checked_sha(parent)}" for parent in commit.parents)]
    lines += [f"author {commit.author.line}", f"committer {committer.line}", "", ""]
    text = "\n".join(lines).encode("utf-8", "replace") + message + b"\n"
    quick = [] if durable else ["-c", "core.fsync=none"]
    git = [f"--git-dir={repository.path}", *quick, "hash-object", "-t", "commit", "-w", "--stdin"]
    sha = (await run(git, text)).out.decode("ascii").strip()
    if not is_sha(sha):
        raise Unavailable(f"git wrote a commit without telling its name: {sha[:80]!r}")
    return sha
