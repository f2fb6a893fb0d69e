"""Rebasing: the commits of a branch made anew, one after the other, upon another commit."""

from typing import Final

from git.history import HistoryQuery, commits
from git.merging import MergeResult
from git.picking import cherry_pick
from git.repository import Repository
from git.signature import Signature
from git.tree_reading import merge_base

MAX_COMMITS: Final = 1_000


async def rebase(repository: Repository, onto: str, head: str, committer: Signature) -> MergeResult:
    """The new head, or the paths that do not go together. Merges are left out, as git does it; nothing is moved."""
    base = await merge_base(repository, onto, head)
    if base == onto:
        return MergeResult(head)
    query = HistoryQuery([head, f"^{onto}"], oldest_first=True, topological=True, limit=MAX_COMMITS)
    at = onto
    for commit in await commits(repository, query):
        if len(commit.parents) > 1:
            continue
        picked = await cherry_pick(repository, at, commit, commit.message, committer)
        if picked.conflicts:
            return MergeResult(conflicts=picked.conflicts)
        at = picked.sha or at
    return MergeResult(at)
