"""A repository as a stream: what its refs name at one moment, and one pack of all that they lead to.

Refs are read first and packed from then on, so that pushes may go on: what they add is not needed, and nothing that a
ref once named is removed from a repository while it is read.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import suppress
from typing import Final

from domain.errors import Unavailable
from domain.text_lines import lines_of
from git.command import run, start
from git.repository import Repository

KEPT: Final = "refs/pipelines/"
"""Refs that hold the commits of pipelines; one for each, named by its id."""
_CHUNK: Final = 256 * 1024
_REFS_LIMIT: Final = 512 * 1024 * 1024


async def refs_of(repository: Repository, pipelines: Mapping[int, str]) -> dict[str, str]:
    """Refs by name: those there are, but of `refs/pipelines` exactly those of these pipelines (sha by id).

    A pipeline whose commit the repository does not have gets none.
    """
    answer = await run([_git_dir(repository), "for-each-ref", "--format=%(objectname) %(refname)"], limit=_REFS_LIMIT)
    rows = (line.split(" ", 1) for line in lines_of(answer.out.decode("utf-8", "surrogateescape")))
    refs = {name: target for target, name in rows if not name.startswith(KEPT)}
    there = await _existing(repository, set(pipelines.values()))
    return refs | {f"{KEPT}{key}": sha for key, sha in pipelines.items() if sha in there}


async def head_of(repository: Repository) -> str:
    """The branch that HEAD points to."""
    answer = await run([_git_dir(repository), "symbolic-ref", "--short", "HEAD"])
    return answer.out.decode().strip()


async def pack_of(repository: Repository, targets: Iterable[str]) -> AsyncIterator[bytes]:
    """One pack of everything that these objects lead to. Raises `Unavailable` when git fails, also at the end."""

    async def wanted() -> AsyncIterator[bytes]:
        for target in sorted(set(targets)):
            yield f"{target}\n".encode()

    words = [_git_dir(repository), "pack-objects", "--revs", "--stdout", "--delta-base-offset", "-q"]
    async with start(words) as git:
        feeding = asyncio.create_task(git.feed(wanted()))
        try:
            while chunk := await git.stdout.read(_CHUNK):
                yield chunk
            await feeding
        finally:
            feeding.cancel()
            with suppress(asyncio.CancelledError):
                await feeding
        code = await git.wait()
        if code:
            raise Unavailable(f"git pack-objects in {repository.path} ended with {code}: {git.err or 'no message'}")


async def take_pack(repository: Repository, chunks: AsyncIterator[bytes]) -> None:
    """Put a pack into a repository. Raises `Unavailable` when git refuses it."""
    async with start([_git_dir(repository), "index-pack", "--stdin"]) as git:
        await git.feed(chunks)
        while await git.stdout.read(_CHUNK):
            pass
        code = await git.wait()
        if code:
            raise Unavailable(f"git index-pack in {repository.path} ended with {code}: {git.err or 'no message'}")


async def set_refs(repository: Repository, refs: Mapping[str, str]) -> None:
    """Let these refs, which are not there yet, name these objects; durably."""
    orders = "".join(f"create {name} {target}\n" for name, target in refs.items())
    if orders:
        await run([_git_dir(repository), "update-ref", "--stdin"], orders.encode("utf-8", "surrogateescape"))
    await repository.harden()


async def forget_pipelines(repository: Repository, pipeline_ids: Iterable[int]) -> None:
    """Remove the refs of pipelines that are no more; those that are not there are fine, too."""
    orders = "".join(f"delete {KEPT}{int(key)}\n" for key in pipeline_ids)
    if orders:
        await run([_git_dir(repository), "update-ref", "--stdin"], orders.encode())


async def _existing(repository: Repository, shas: set[str]) -> set[str]:
    if not shas:
        return set()
    question = "".join(f"{sha}\n" for sha in sorted(shas)).encode()
    answer = await run([_git_dir(repository), "cat-file", "--batch-check=%(objectname)"], question, limit=_REFS_LIMIT)
    return {line for line in lines_of(answer.out.decode()) if " " not in line}


def _git_dir(repository: Repository) -> str:
    return f"--git-dir={repository.path}"
