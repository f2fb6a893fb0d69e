"""Refs that are lines of one file are as much there as those that are files of their own."""

import asyncio
import random
from pathlib import Path

import pytest

from domain.projects.ref_names import HEADS
from git.command import run
from git.reading.measuring import is_empty
from git.reading.ref_presence import first_packed, has_ref
from git.repository import LOOSE_REFS, Repository
from tests.git.serving import git, new_work_tree

WORDS = ("a", "b", "ab", "a-b", "main", "zz", "ü", "1", "10", "9")


@pytest.fixture
async def shas(repository: Repository, tmp_path: Path) -> list[str]:
    """Commits of the repository, which has no refs."""
    work = tmp_path / "work"
    first = await new_work_tree(work, {"a": "a"})
    await git("commit", "-q", "--allow-empty", "-m", "Second", cwd=work)
    second = await git("rev-parse", "HEAD", cwd=work)
    await git("push", "-q", repository.path, "main", cwd=work)
    await git("update-ref", "-d", "refs/heads/main", cwd=repository.path)
    return [first, second]


@pytest.mark.parametrize("seed", range(6))
async def test_packed_refs_are_found_as_git_finds_them(repository: Repository, shas: list[str], seed: int) -> None:
    chance = random.Random(seed)
    folders = ("heads/", "tags/", "pipelines/", "merge-requests/")
    names = {f"refs/{chance.choice(folders)}{chance.choice(WORDS)}.{chance.choice(WORDS)}" for _ in range(4 * seed)}
    for name in names:
        if name.startswith("refs/tags/"):
            await git("tag", "-a", name.removeprefix("refs/tags/"), "-m", "x", shas[0], cwd=repository.path)
        else:
            await git("update-ref", name, shas[0], cwd=repository.path)
    assert await repository.pack_refs(limit=0) is bool(names)
    assert not [path for path in (repository.path / "refs").rglob("*") if path.is_file()]
    asked = sorted({*names, *(name[:-1] for name in names), *(f"{name}x" for name in names), "refs/a", "refs/z"})
    found = [name for name in asked if not name.endswith((".", "/")) and await has_ref(repository.path, name)]
    assert found == sorted(names)
    for name in asked:
        assert first_packed(repository.path, name) == min((one for one in names if one >= name), default="")
    assert is_empty(repository) is not any(name.startswith(HEADS) for name in names)


async def test_few_loose_refs_stay(repository: Repository, shas: list[str]) -> None:
    for number in range(LOOSE_REFS + 1):
        await repository.keep(number, shas[0])
        assert number < LOOSE_REFS - 1 or await repository.pack_refs() is (number == LOOSE_REFS)
    assert len(await repository.refs("refs/pipelines")) == LOOSE_REFS + 1


async def test_what_is_written_while_refs_are_packed_is_not_lost(repository: Repository, shas: list[str]) -> None:
    """Whoever packs removes the file of each ref: not one that was renamed into its place meanwhile."""
    names = [f"refs/merge-requests/{number}/head" for number in range(40)]
    packing = asyncio.create_task(_pack_again_and_again(repository))
    for number in range(20):
        wanted = shas[number % 2]
        await asyncio.gather(*(repository.place(name, wanted) for name in names))
        await repository.keep(number, shas[0])
        lines = {ref.name: ref.sha for ref in await repository.refs("refs/merge-requests")}
        assert lines == dict.fromkeys(names, wanted)
    packing.cancel()
    assert len(await repository.refs("refs/pipelines")) == 20


async def _pack_again_and_again(repository: Repository) -> None:
    while True:
        await run([f"--git-dir={repository.path}", "pack-refs", "--all"])
