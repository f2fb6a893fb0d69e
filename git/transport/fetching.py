"""Bringing objects from one repository of this server into another one: real copies, nothing is shared.

Shared objects would be lost with the repository that they lie in, and would let a fork see what it never had.
"""

import asyncio
from pathlib import Path
from typing import Final
from uuid import uuid4

from domain.errors import NotFound
from domain.projects.ref_names import HEADS, TAGS, gives_way
from git.command import run
from git.names import checked_branch, checked_sha
from git.reading.shadowing import ambiguous_names, shadowing_refs
from git.repository import Repositories, Repository

_COPY_LIMIT: Final = 900.0
"""Seconds that copying the objects of a repository may take."""
_QUIET: Final = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance")


async def fetch_commit(into: Repository, source: Repository, sha: str) -> None:
    """Bring a commit with all that leads to it; no ref names it yet. Raises `NotFound`, `Unavailable`."""
    if await has_commit(into, sha):
        return
    if not await has_commit(source, sha):
        raise NotFound(f"The source repository has no commit {sha}.")
    await run([f"--git-dir={into.path}", *_QUIET, str(source.path), checked_sha(sha)], seconds=_COPY_LIMIT)


async def has_commit(repository: Repository, sha: str) -> bool:
    """Whether a commit is there."""
    git = [f"--git-dir={repository.path}", "cat-file", "-e", f"{checked_sha(sha)}^{{commit}}"]
    return (await run(git, accept=(0, 1, 128))).code == 0


async def copied(repositories: Repositories, source: Repository, default_branch: str, branch: str = "") -> Path:
    """A copy of a repository that has no project yet, with all branches and tags that may exist, or with one branch.

    Of a branch and a tag of one name the tag is copied, but for the default branch.
    `Repositories.adopt` gives it to one; a copy that nobody adopts is a folder that harms nobody. Raises `Unavailable`.
    """
    draft = repositories.root / f".copy-{uuid4().hex}"
    left_out = [f"^{name}" for name in await asyncio.to_thread(shadowing_refs, source.path)]
    pairs = {
        f"{kind}{name}" for name in await asyncio.to_thread(ambiguous_names, source.path) for kind in (HEADS, TAGS)
    }
    left_out += [f"^{name}" for name in sorted(pairs) if gives_way(name, (), pairs, default_branch)]
    refs = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*", *left_out]
    if branch:
        refs = [f"+{HEADS}{checked_branch(branch)}:{HEADS}{branch}"]
    await run(["init", "--quiet", "--bare", "--template=", f"--initial-branch={checked_branch(default_branch)}", draft])
    words = [f"--git-dir={draft}", *_QUIET, "--stdin", str(source.path)]
    await run(words, "".join(f"{ref}\n" for ref in refs).encode(), seconds=_COPY_LIMIT)
    return draft
