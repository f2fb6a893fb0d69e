"""Cherry-picks and reverts: the change of one commit, or its opposite, upon another one.

git 2.39 merges by the ancestor that two commits have in common and takes no other one; so three commits are written
that nobody sees, with the trees that are meant and with the ancestor that is meant.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from git.reading.commit import Commit
from git.reading.signature import Signature
from git.repository import Repository
from git.writing.merging import MergedTree, merged_tree
from git.writing.object_writing import EMPTY_TREE, NewCommit, write_commit

_NOBODY: Final = Signature("perdure", "", datetime.fromtimestamp(0, UTC))


@dataclass(frozen=True, slots=True)
class Picked:
    """What became of it: the new commit; else the paths in conflict; else (neither) nothing was left to change."""

    sha: str | None = None
    conflicts: tuple[str, ...] = ()


async def cherry_pick(repository: Repository, onto: str, picked: Commit, message: str, committer: Signature) -> Picked:
    """The change of a commit upon `onto`, in the name of its author. A merge brings what its first parent lacked.

    Raises `Invalid` for a wrong sha or message, `Unavailable`.
    """
    author = Signature(picked.author_name, picked.author_email, picked.authored_at)
    before = f"{picked.parents[0]}^{{tree}}" if picked.parents else EMPTY_TREE
    return await _upon(
        repository, onto, before, f"{picked.sha}^{{tree}}", NewCommit("", (), message, author, committer)
    )


async def revert(repository: Repository, onto: str, reverted: Commit, message: str, author: Signature) -> Picked:
    """The opposite of a commit upon `onto`. Raises as `cherry_pick` does."""
    before = f"{reverted.parents[0]}^{{tree}}" if reverted.parents else EMPTY_TREE
    return await _upon(repository, onto, f"{reverted.sha}^{{tree}}", before, NewCommit("", (), message, author))


async def _upon(repository: Repository, onto: str, before: str, after: str, commit: NewCommit) -> Picked:
    """A commit upon `onto` with what lies between two trees."""
    trees = await repository.object_ids([f"{onto}^{{tree}}", before, after])
    base = await write_commit(repository, NewCommit(trees[1], (), "base", _NOBODY), durable=False)
    ours = await write_commit(repository, NewCommit(trees[0], (base,), "ours", _NOBODY), durable=False)
    theirs = await write_commit(repository, NewCommit(trees[2], (base,), "theirs", _NOBODY), durable=False)
    merged: MergedTree = await merged_tree(repository, ours, theirs)
    if merged.conflicts:
        return Picked(conflicts=merged.conflicts)
    if merged.sha == trees[0]:
        return Picked()
    done = NewCommit(merged.sha, (onto,), commit.message, commit.author, commit.committer)
    return Picked(await write_commit(repository, done))
