"""Many files at once, paths of trees, differences: of real repositories."""

from pathlib import Path
from typing import Any

import pytest

from domain.errors import Invalid, TooLarge
from git.command import run
from git.output import Completed
from git.reading import tree_reading
from git.reading.tree_reading import FileAt, TooBig, changed_between, list_files, merge_base, read_files_at
from git.repository import Repository
from tests.git.serving import git, new_commit, new_work_tree


@pytest.fixture
async def work(repository: Repository, tmp_path: Path) -> tuple[Path, str]:
    """A work tree whose first commit is pushed to the repository; its sha."""
    folder = tmp_path / "work"
    files = {"a b.txt": "hello", "ci/ä.yml": "x" * 100, "ci/deep/copy.yml": "x" * 100, "empty": "", "line\nfeed": "1"}
    sha = await new_work_tree(folder, files)
    (folder / "link").symlink_to("a b.txt")
    sha = await new_commit(folder, {})
    await git("push", "-q", repository.path, "main", cwd=folder)
    return folder, sha


async def test_files_of_several_commits_by_two_processes(
    repository: Repository, work: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, first = work
    second = await new_commit(folder, {"a b.txt": "changed"})
    await git("push", "-q", repository.path, "main", cwd=folder)
    calls: list[object] = []

    async def counted(*arguments: Any, **options: Any) -> Completed:
        calls.append(arguments)
        return await run(*arguments, **options)

    monkeypatch.setattr(tree_reading, "run", counted)
    asked = {
        FileAt(first, "a b.txt"): b"hello",
        FileAt(second, "a b.txt"): b"changed",
        FileAt(first, "ci/ä.yml"): b"x" * 100,
        FileAt(first, "ci/deep/copy.yml"): b"x" * 100,
        FileAt(first, "empty"): b"",
        FileAt(first, "link"): b"a b.txt",
        FileAt(first, "ci"): None,
        FileAt(first, "missing file"): None,
        FileAt("0" * 40, "a b.txt"): None,
        FileAt(first, "../a b.txt"): None,
        FileAt(first, "/a b.txt"): None,
        FileAt(first, "line\nfeed"): None,
    }
    assert await read_files_at(repository, asked) == asked
    assert len(calls) == 2


async def test_nothing_asked_and_nothing_found(repository: Repository, work: tuple[Path, str]) -> None:
    assert await read_files_at(repository, []) == {}
    assert await read_files_at(repository, [FileAt(work[1], "..")]) == {FileAt(work[1], ".."): None}
    with pytest.raises(Invalid, match="is not a commit"):
        await read_files_at(repository, [FileAt("main", "a b.txt")])


async def test_limits_for_one_file_and_for_all(repository: Repository, work: tuple[Path, str]) -> None:
    one, other = FileAt(work[1], "ci/ä.yml"), FileAt(work[1], "a b.txt")
    assert await read_files_at(repository, [one, other], limit=99) == {one: TooBig(100), other: b"hello"}
    assert await read_files_at(repository, [one, other], limit=100) == {one: b"x" * 100, other: b"hello"}
    assert await read_files_at(repository, [one, other], total=104) == {one: b"x" * 100, other: TooBig(5)}
    assert await read_files_at(repository, [one, other], total=105) == {one: b"x" * 100, other: b"hello"}


async def test_files_of_a_tree(repository: Repository, work: tuple[Path, str]) -> None:
    folder, sha = work
    expected = ("a b.txt", "ci/deep/copy.yml", "ci/ä.yml", "empty", "line\nfeed", "link")
    assert await list_files(repository, sha) == expected
    await git("-c", "protocol.file.allow=always", "submodule", "add", "-q", folder, "sub", cwd=folder)
    newer = await new_commit(folder, {})
    await git("push", "-q", repository.path, "main", cwd=folder)
    assert set(await list_files(repository, newer)) == {*expected, ".gitmodules"}
    with pytest.raises(Invalid, match="has no commit"):
        await list_files(repository, "1" * 40)


async def test_tree_with_too_many_paths(
    repository: Repository, work: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_reading, "PATHS_LIMIT", 20)
    with pytest.raises(TooLarge, match="wrote more than 20 bytes"):
        await list_files(repository, work[1])


async def test_changes_and_common_ancestor(repository: Repository, work: tuple[Path, str]) -> None:
    folder, first = work
    await git("mv", "a b.txt", "moved", cwd=folder)
    second = await new_commit(folder, {"new/file": "1"})
    await git("checkout", "-q", "-b", "side", first, cwd=folder)
    side = await new_commit(folder, {"side": "1"})
    await git("checkout", "-q", "--orphan", "alone", cwd=folder)
    alone = await new_commit(folder, {"alone": "1"})
    await git("push", "-q", repository.path, "main", "side", "alone", cwd=folder)
    assert await changed_between(repository, first, second) == ("a b.txt", "moved", "new/file")
    assert await changed_between(repository, first, first) == ()
    assert await changed_between(repository, "1" * 40, second) is None
    assert await merge_base(repository, second, side) == first
    assert await merge_base(repository, second, alone) is None
    assert await merge_base(repository, second, "1" * 40) is None
