"""Whatever branches and tags exist, `main` means `refs/heads/main`, and a full name means itself."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from domain.errors import AmbiguousRef, Invalid
from domain.projects.ref_names import shadows
from git.command import run
from git.names import checked_branch
from git.reading.ref_in_path import ref_in_path
from git.reading.revision import commit_named
from git.reading.shadowing import ambiguous_names, shadowing_refs
from git.repository import Repositories, Repository
from git.transport.fetching import copied
from git.transport.mirroring import KINDS, NEW, follow, wanted_updates
from tests.git.serving import git, new_commit, new_work_tree

WORDS = "refs heads tags main HEAD v1 FETCH_HEAD ORIG_HEAD remotes origin REFS pipelines".split()
PAIRS = ("a/b", "main", "v1")
EACH_ONCE = {"refs/heads/main", "refs/heads/branch", "refs/tags/v1", "refs/tags/a/b", "refs/tags/tag"}
"""What is taken of the pairs: the default branch, else the tag."""
MEANT = ("main", "refs/heads/main", "v1", "refs/tags/v1", "HEAD", "main~0", "refs/pipelines/1")


def hostile_names() -> Iterator[str]:
    """Every full name and pseudo ref that is meant, as a branch or tag, and many like them."""
    yield from ("refs/heads/main", "refs/tags/v1", "refs/heads/refs/heads/main", "HEAD", "FETCH_HEAD", "heads/main")
    source = random.Random(14)
    for _ in range(80):
        yield "/".join(source.choices(WORDS, k=source.randint(1, 5)))


@pytest.fixture
async def shadowed(repository: Repository, tmp_path: Path) -> tuple[Repository, str, str]:
    """A repository in which whatever can shadow `main` and `v1` does; the commit of these, and that of the others."""
    work = tmp_path / "work"
    good = await new_work_tree(work, {"a": "good"})
    await git("push", "-q", repository.path, "main", "main:refs/tags/v1", cwd=work)
    evil = await new_commit(work, {"a": "evil"}, "Evil")
    await git("push", "-q", repository.path, "main:refs/heads/other", cwd=work)
    await repository.keep(1, good)
    made = 0
    for name in hostile_names():
        for folder in ("refs/heads/", "refs/tags/"):
            if name in {"main", "v1"}:
                continue
            words = [f"--git-dir={repository.path}", "update-ref", folder + name, evil]
            made += (await run(words, accept=(0, 1, 128))).code == 0
    assert made > 40
    return repository, good, evil


@pytest.mark.parametrize("is_packed", [False, True])
async def test_a_name_means_what_it_says(shadowed: tuple[Repository, str, str], is_packed: bool) -> None:
    repository, good, _ = shadowed
    if is_packed:
        await run([f"--git-dir={repository.path}", "pack-refs", "--all"])
    found = {name: await repository.resolve(name.removesuffix("~0")) for name in MEANT}
    assert found == dict.fromkeys(MEANT, good)
    assert await repository.resolve("refs/heads/gone") is None


@pytest.mark.parametrize("is_packed", [False, True])
async def test_what_shadows_is_found(shadowed: tuple[Repository, str, str], is_packed: bool) -> None:
    repository, _, _ = shadowed
    if is_packed:
        await run([f"--git-dir={repository.path}", "pack-refs", "--all"])
    refs = [*await repository.branches(), *await repository.tags()]
    assert shadowing_refs(repository.path) == sorted(ref.name for ref in refs if shadows(ref.short_name))


async def test_a_copy_leaves_it_behind(shadowed: tuple[Repository, str, str], repositories: Repositories) -> None:
    repository, good, _ = shadowed
    copy = Repository(await copied(repositories, repository, "main"))
    assert [await copy.resolve("main"), await copy.resolve("v1")] == [good, good]
    left = [name for name in shadowing_refs(copy.path) if shadows(name.split("/", 2)[2])]
    assert left == []
    with pytest.raises(Invalid, match="begins with refs/"):
        await copied(repositories, repository, "main", "refs/heads/main")


async def test_a_mirror_leaves_it_out(shadowed: tuple[Repository, str, str], repositories: Repositories) -> None:
    origin, good, _ = shadowed
    mirror = await repositories.create(8, "main")
    specs = [f"+refs/{kind}*:{NEW}{kind}*" for kind in KINDS]
    await run([f"--git-dir={mirror.path}", "fetch", "--quiet", "--no-tags", str(origin.path), *specs])
    wanted = {update.ref: update.new for update in await wanted_updates(mirror, "main")}
    assert (wanted["refs/heads/main"], wanted["refs/tags/v1"]) == (good, good)
    assert [ref for ref in wanted if shadows(ref.split("/", 2)[2])] == []


@pytest.fixture
async def pairs(repository: Repository, tmp_path: Path) -> Repository:
    """A repository in which `main`, `v1` and `a/b` are names of a branch and of a tag."""
    work = tmp_path / "work"
    await new_work_tree(work, {"a": "branch"})
    kept = [f"main:refs/heads/{name}" for name in (*PAIRS, "branch")]
    await git("push", "-q", repository.path, *kept, cwd=work)
    await new_commit(work, {"a": "tag"}, "Tag")
    await git("push", "-q", repository.path, *(f"main:refs/tags/{name}" for name in (*PAIRS, "tag")), cwd=work)
    return repository


@pytest.mark.parametrize("is_packed", [False, True])
async def test_a_name_of_two_means_neither(pairs: Repository, is_packed: bool) -> None:
    if is_packed:
        await run([f"--git-dir={pairs.path}", "pack-refs", "--all"])
    branch, tag = await pairs.resolve("branch"), await pairs.resolve("tag")
    assert ambiguous_names(pairs.path) == sorted(PAIRS)
    for name in PAIRS:
        assert [await pairs.resolve(f"refs/{kind}/{name}") for kind in ("heads", "tags")] == [branch, tag]
        for find in (pairs.resolve(name), commit_named(pairs, f"{name}~0"), ref_in_path(pairs, f"{name}/docs/a.md")):
            with pytest.raises(AmbiguousRef, match=f"`{name}` is the name of a branch and of a tag"):
                await find
        found = await ref_in_path(pairs, f"refs/tags/{name}/docs/a.md")
        assert found is not None
        assert (found.sha, found.path) == (tag, "docs/a.md")


async def test_a_copy_has_one_of_a_pair(pairs: Repository, repositories: Repositories) -> None:
    copy = Repository(await copied(repositories, pairs, "main"))
    assert {ref.name for ref in await copy.refs()} == EACH_ONCE


async def test_a_mirror_has_one_of_a_pair(pairs: Repository, repositories: Repositories) -> None:
    mirror = await repositories.create(8, "main")
    specs = [f"+refs/{kind}*:{NEW}{kind}*" for kind in KINDS]
    await run([f"--git-dir={mirror.path}", "fetch", "--quiet", "--no-tags", str(pairs.path), *specs])
    assert {update.ref for update in await wanted_updates(mirror, "main")} == EACH_ONCE
    await follow(mirror, await wanted_updates(mirror, "main"))
    assert await wanted_updates(mirror, "main") == ()


async def test_names_that_may_exist_are_names_for_git(repository: Repository) -> None:
    for name in {*hostile_names(), "a b", "a..b", "a.lock", "-a", "@", "a/.b", "a~", "ä", "a@{b", "a//b", ".a", "a."}:
        git_knows = await run(["check-ref-format", f"refs/heads/{name}"], accept=(0, 1))
        try:
            checked_branch(name)
        except Invalid:
            assert git_knows.code or shadows(name) or name.startswith("-") or name == "@", name
        else:
            assert git_knows.code == 0, name
