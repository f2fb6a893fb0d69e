"""Rebasing: the commits of a branch made anew, one after the other, upon another commit."""

from typing import Final

from git.reading.history import HistoryQuery, commits
from git.reading.signature import Signature
from git.reading.tree_reading import merge_base
from git.repository import Repository
from git.writing.merging import MergeResult
from git.writing.picking import cherry_pick

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
