"""Merging two commits without a work tree: what merge requests and merge trains are made of.

Nothing here moves a ref: the commit that comes back is there, and leads nowhere until somebody lets a ref name it.
Source of the rules: git's git-merge-tree(1).
"""

from dataclasses import dataclass
from typing import Final

from domain.errors import Refused, Unavailable
from git.command import run
from git.names import checked_sha, is_sha
from git.output import PATHS_LIMIT
from git.reading.signature import Signature
from git.repository import Repository
from git.writing.object_writing import NewCommit, write_commit

_CONFLICTS: Final = 1
"""How merge-tree ends when it has merged, but not everything."""


@dataclass(frozen=True, slots=True)
class MergeResult:
    """What became of a merge: the new head, or the paths that two sides changed in ways that do not go together."""

    sha: str | None = None
    conflicts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MergedTree:
    """The tree of a merge; with `conflicts` it holds their marks and is no good."""

    sha: str
    conflicts: tuple[str, ...] = ()


async def merge(
    repository: Repository,
    ours_sha: str,
    theirs_sha: str,
    message: str,
    author: Signature,
    committer: Signature | None = None,
) -> MergeResult:
    """A merge commit of two commits, also where a fast-forward would do; parents are ours and theirs in this order.

    Raises `Refused` when the two have no common ancestor, `Invalid` for a wrong sha or message, `Unavailable`.
    """
    tree = await merged_tree(repository, ours_sha, theirs_sha)
    if tree.conflicts:
        return MergeResult(conflicts=tree.conflicts)
    commit = NewCommit(tree.sha, (ours_sha, theirs_sha), message, author, committer)
    return MergeResult(await write_commit(repository, commit))


async def squash(
    repository: Repository,
    ours_sha: str,
    theirs_sha: str,
    message: str,
    author: Signature,
    committer: Signature | None = None,
) -> MergeResult:
    """One commit upon ours that brings all that theirs has changed. Raises as `merge` does."""
    tree = await merged_tree(repository, ours_sha, theirs_sha)
    if tree.conflicts:
        return MergeResult(conflicts=tree.conflicts)
    return MergeResult(await write_commit(repository, NewCommit(tree.sha, (ours_sha,), message, author, committer)))


async def fast_forward(repository: Repository, ours_sha: str, theirs_sha: str) -> MergeResult:
    """Theirs as the new head, if it holds ours already. Raises `Refused` when it does not."""
    if not await is_ancestor(repository, ours_sha, theirs_sha):
        raise Refused(f"A fast-forward is not possible: {theirs_sha[:8]} does not hold {ours_sha[:8]}; rebase it.")
    return MergeResult(theirs_sha)


async def is_ancestor(repository: Repository, older: str, newer: str) -> bool:
    """Whether a commit leads to another one, or is the same."""
    git = [f"--git-dir={repository.path}", "merge-base", "--is-ancestor", checked_sha(older), checked_sha(newer)]
    return (await run(git, accept=(0, 1))).code == 0


async def merged_tree(repository: Repository, ours_sha: str, theirs_sha: str) -> MergedTree:
    """What a merge of two commits would hold. Raises as `merge` does."""
    git = [f"--git-dir={repository.path}", "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages"]
    answer = await run(
        [*git, checked_sha(ours_sha), checked_sha(theirs_sha)], limit=PATHS_LIMIT, accept=(0, _CONFLICTS, 128)
    )
    if "unrelated histories" in answer.err:
        raise Refused(f"{ours_sha[:8]} and {theirs_sha[:8]} have no common ancestor; they cannot be merged.")
    sha, *paths = [word for word in answer.out.decode("utf-8", "replace").split("\0") if word] or [""]
    if not is_sha(sha):
        raise Unavailable(f"git could not merge {ours_sha[:8]} and {theirs_sha[:8]}: {answer.err or 'no message'}")
    return MergedTree(sha, tuple(dict.fromkeys(paths)))
