"""Which commits come after one."""

from git.command import run
from git.names import checked_sha
from git.output import PATHS_LIMIT
from git.repository import Repository

MERGE_REQUESTS = "--glob=refs/merge-requests/*/head"


async def with_descendants(repository: Repository, sha: str) -> frozenset[str]:
    """A commit, and those that come after it on the source branches of merge requests, as they were pushed last.

    They have the commit within them. Raises `TooLarge` for more of them than can be read.
    """
    wanted = ["rev-list", "--ancestry-path", MERGE_REQUESTS, f"^{checked_sha(sha)}"]
    answer = await run([f"--git-dir={repository.path}", *wanted], limit=PATHS_LIMIT)
    return frozenset({sha, *answer.out.decode("ascii", "replace").split()})
