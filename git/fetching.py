"""Bringing objects from one repository of this server into another one: real copies, nothing is shared.

Shared objects would be lost with the repository that they lie in, and would let a fork see what it never had.
"""

from pathlib import Path
from uuid import uuid4

from domain.errors import NotFound
from git.command import run
from git.names import checked_ref, checked_sha
from git.repository import Repositories, Repository

_QUIET = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance")


async def fetch_commit(into: Repository, source: Repository, sha: str) -> None:
    """Bring a commit with all that leads to it; no ref names it yet. Raises `NotFound`, `Unavailable`."""
    if await has_commit(into, sha):
        return
    if not await has_commit(source, sha):
        raise NotFound(f"The source repository has no commit {sha}.")
    await run([f"--git-dir={into.path}", *_QUIET, str(source.path), checked_sha(sha)])


async def has_commit(repository: Repository, sha: str) -> bool:
    """Whether a commit is there."""
    git = [f"--git-dir={repository.path}", "cat-file", "-e", f"{checked_sha(sha)}^{{commit}}"]
    return (await run(git, accept=(0, 1, 128))).code == 0


async def copied(repositories: Repositories, source: Repository, default_branch: str, branch: str = "") -> Path:
    """A copy of a repository that has no project yet, with all branches and tags, or with one branch.

    `Repositories.adopt` gives it to one; a copy that nobody adopts is a folder that harms nobody. Raises `Unavailable`.
    """
    draft = repositories.root / f".copy-{uuid4().hex}"
    refs = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"]
    if branch:
        refs = [f"+refs/heads/{checked_ref(branch)}:refs/heads/{branch}"]
    await run(["init", "--quiet", "--bare", "--template=", f"--initial-branch={checked_ref(default_branch)}", draft])
    await run([f"--git-dir={draft}", *_QUIET, str(source.path), *refs])
    return draft
