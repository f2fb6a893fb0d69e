"""Repositories on disk: making them, reading refs, commits and files."""

import asyncio
import os
import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from domain.errors import Invalid, NotFound, TooLarge, Unavailable
from git.command import run
from git.repository import CONFIG, Repositories, Repository
from tests.git.serving import git, new_commit, new_work_tree


@pytest.fixture
async def filled(repository: Repository, tmp_path: Path) -> tuple[Repository, str]:
    """The repository with one commit on main, branch `feature/a` and annotated tag v1; the commit's sha."""
    work = tmp_path / "work"
    sha = await new_work_tree(work, {"a b.txt": "hello", "folder/file": "x" * 1000})
    await git("tag", "-a", "v1", "-m", "release", cwd=work)
    await git("push", "-q", repository.path, "main", "main:feature/a", "v1", cwd=work)
    return repository, sha


async def test_settings_of_a_new_repository_are_those_of_the_table(repository: Repository) -> None:
    for section, name, values in CONFIG:
        found = await run([f"--git-dir={repository.path}", "config", "--get-all", f"{section}.{name}"])
        assert tuple(found.out.decode().split()) == values
    assert (repository.path / "HEAD").read_text() == "ref: refs/heads/main\n"


async def test_create_twice_keeps_the_first_also_when_both_run_at_once(repositories: Repositories) -> None:
    made = await asyncio.gather(*(repositories.create(9, "main") for _ in range(4)))
    (repositories.path(9) / "marker").touch()
    again = await repositories.create(9, "other")
    assert {repository.path for repository in [*made, again]} == {repositories.path(9)}
    assert (again.path / "marker").exists()
    assert [path.name for path in repositories.root.iterdir()] == ["9.git"]


async def test_failed_create_leaves_nothing(repositories: Repositories, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Invalid, match="is not the name of a branch"):
        await repositories.create(9, "-x")
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(Unavailable, match="git command is not on PATH"):
        await repositories.create(9, "main")
    assert list(repositories.root.glob("*")) == []
    with pytest.raises(NotFound, match="Project 9 has no repository"):
        repositories.get(9)
    with pytest.raises(Invalid):
        repositories.path(0)


async def test_root_that_is_no_folder_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Unavailable, match="repository of project 1 cannot be made"):
        await Repositories(tmp_path / "file" / "root").create(1, "main")


async def test_resolve_finds_branches_tags_full_names_and_shas(filled: tuple[Repository, str]) -> None:
    repository, sha = filled
    for ref in ("main", "feature/a", "v1", "refs/heads/main", "refs/tags/v1", sha, sha[:9], "HEAD"):
        assert await repository.resolve(ref) == sha, ref
    for ref in ("nothing", "refs/heads/v1", "0" * 40, "deadbeef"):
        assert await repository.resolve(ref) is None, ref


@pytest.mark.parametrize(
    "ref", ["-x", "--all", "a..b", "a b", "a~1", "a^", "x:y", "@{-1}", "a\nb", "", "/a", "a.lock", "@"]
)
async def test_names_that_git_would_read_as_something_else_are_refused(repository: Repository, ref: str) -> None:
    with pytest.raises(Invalid):
        await repository.resolve(ref)


async def test_read_file(filled: tuple[Repository, str]) -> None:
    repository, sha = filled
    assert await repository.read_file(sha, "a b.txt") == b"hello"
    assert await repository.read_file(sha, "folder/file", limit=1000) == b"x" * 1000
    assert await repository.read_file(sha, "folder") is None
    assert await repository.read_file(sha, "no blob 12") is None
    assert await repository.read_file("0" * 40, "a b.txt") is None
    with pytest.raises(TooLarge, match="folder/file has 1000 bytes; at most 999"):
        await repository.read_file(sha, "folder/file", limit=999)
    paths = ["a b.txt", "missing", "folder/file"]
    found = {path: await repository.read_file(sha, path) for path in paths}
    assert found == {"a b.txt": b"hello", "missing": None, "folder/file": b"x" * 1000}


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a//b", "a/./b", "", "a\nb", "a\0"])
async def test_paths_outside_the_repository_are_refused(filled: tuple[Repository, str], path: str) -> None:
    with pytest.raises(Invalid):
        await filled[0].read_file(filled[1], path)


async def test_commit(filled: tuple[Repository, str]) -> None:
    repository, sha = filled
    commit = await repository.commit(sha)
    assert (commit.sha, commit.title, commit.message, commit.parents) == (sha, "First", "First\n\nBody ä", ())
    assert (commit.author_name, commit.author_email, commit.committer_name) == ("Ada", "ada@example.com", "Bob")
    with pytest.raises(NotFound, match="has no commit"):
        await repository.commit("1" * 40)
    with pytest.raises(Invalid):
        await repository.commit("main")


async def test_commit_keeps_the_zone_of_its_author(repository: Repository, tmp_path: Path) -> None:
    work = tmp_path / "work"
    await new_work_tree(work, {"a": "1"})
    await git("commit", "-q", "--amend", "-m", "x", "--date=2024-02-03T04:05:06-0330", cwd=work)
    sha = await git("rev-parse", "HEAD", cwd=work)
    await git("push", "-q", repository.path, "main", cwd=work)
    authored = (await repository.commit(sha)).authored_at
    assert authored.isoformat() == "2024-02-03T04:05:06-03:30"
    assert authored.utcoffset() == -timedelta(hours=3, minutes=30)


async def test_branches_tags_and_refs(filled: tuple[Repository, str]) -> None:
    repository, sha = filled
    assert [(ref.short_name, ref.sha) for ref in await repository.branches()] == [("feature/a", sha), ("main", sha)]
    (tag,) = await repository.tags()
    assert (tag.short_name, tag.sha) == ("v1", sha)
    assert tag.object != sha
    await repository.keep(1, sha)
    names = [ref.name for ref in await repository.refs()]
    assert names == ["refs/heads/feature/a", "refs/heads/main", "refs/pipelines/1", "refs/tags/v1"]


async def test_keep_may_be_repeated(filled: tuple[Repository, str]) -> None:
    repository, sha = filled
    await repository.keep(3, sha)
    await repository.keep(3, sha)
    assert await repository.resolve("refs/pipelines/3") == sha


async def test_default_branch_can_be_changed(filled: tuple[Repository, str]) -> None:
    await filled[0].set_default_branch("feature/a")
    assert (filled[0].path / "HEAD").read_text() == "ref: refs/heads/feature/a\n"


async def test_sweep_removes_only_old_locks(filled: tuple[Repository, str], tmp_path: Path) -> None:
    repository, _ = filled
    old, fresh = repository.path / "refs/heads/main.lock", repository.path / "packed-refs.lock"
    old.touch()
    fresh.touch()
    os.utime(old, (1, 1))
    quarantine = repository.path / "objects/tmp_objdir-incoming-x"
    quarantine.mkdir()
    os.utime(quarantine, (1, 1))
    assert await repository.sweep() == 2
    assert not old.exists()
    assert not quarantine.exists()
    assert fresh.exists()


async def test_output_beyond_the_limit_is_an_error(filled: tuple[Repository, str]) -> None:
    with pytest.raises(TooLarge, match="wrote more than 10 bytes"):
        await run([f"--git-dir={filled[0].path}", "for-each-ref"], limit=10)


async def test_push_syncs_objects_and_refs_to_disk(filled: tuple[Repository, str], tmp_path: Path) -> None:
    """Not by the setting's word: the system calls of a real push are counted."""
    trace = tmp_path / "trace"
    work = tmp_path / "work"
    await new_commit(work, {"new": "1"})
    command = f"strace -f -y -e trace=fsync -o {trace} git-receive-pack"
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    await git("push", "-q", f"--receive-pack={command}", filled[0].path, "main", cwd=work)
    synced = trace.read_text()
    assert "refs/heads/main.lock" in synced
    assert synced.count("objects/") >= 3
