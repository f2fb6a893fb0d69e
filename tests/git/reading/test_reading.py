"""Lists of commits, files and refs, differences and archives."""

import bz2
import io
import tarfile
import zipfile
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from domain.errors import NotFound
from git.reading.archives import ArchiveRequest, stream_archive
from git.reading.blame import blame
from git.reading.blobs import blob_size, stream_blob
from git.reading.diffs import DiffLimits, changed_files, with_patches
from git.reading.history import HistoryQuery, changed_lines, commits, contributors, count_commits
from git.reading.ref_listing import list_refs, merged_branches, refs_with, refs_within
from git.reading.revision import commit_named
from git.reading.tree_listing import entry_at, list_tree
from git.reading.tree_reading import merge_base
from git.repository import Repository
from git.transport.copying import all_refs
from git.transport.snapshot import refs_of
from git.writing.object_writing import EMPTY_TREE
from tests.git.serving import git, new_commit, new_work_tree


@pytest.fixture
async def tree(tmp_path: Path) -> Path:
    """A work tree with one commit."""
    folder = tmp_path / "work"
    await new_work_tree(folder, {"a": "1\n2\n3\n", "src/ä b": "x\n", "src/deep/c": "y\n"})
    return folder


async def pushed(tree: Path, repository: Repository) -> str:
    """Everything is pushed; the head."""
    await git(
        "push", "-q", "--force", repository.path, "refs/heads/*:refs/heads/*", "refs/tags/*:refs/tags/*", cwd=tree
    )
    return await git("rev-parse", "HEAD", cwd=tree)


async def test_trees(repository: Repository, tree: Path) -> None:
    await git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},mod", cwd=tree)
    (tree / "link").symlink_to("a")
    await git("add", "link", cwd=tree)
    await git("commit", "-q", "-m", "More", cwd=tree)
    sha = await pushed(tree, repository)
    top = await list_tree(repository, sha)
    assert top is not None
    assert [(entry.kind, entry.path, entry.mode) for entry in top] == [
        ("tree", "src", "040000"),
        ("blob", "a", "100644"),
        ("blob", "link", "120000"),
        ("commit", "mod", "160000"),
    ]
    below = await list_tree(repository, sha, "src", recursive=True)
    assert below is not None
    assert [entry.path for entry in below] == ["src/deep", "src/deep/c", "src/ä b"]
    assert await list_tree(repository, sha, "a") is None
    assert await list_tree(repository, sha, "no") is None
    found = await entry_at(repository, sha, "src/ä b")
    assert found is not None
    assert (found.kind, found.size, found.name) == ("blob", 2, "ä b")
    assert await entry_at(repository, sha, "src/*") is None


async def test_commits_are_paged_and_picked(repository: Repository, tree: Path) -> None:
    for number in range(5):
        stamp = f"2026-01-0{number + 1}T00:00:00Z"
        (tree / "n").write_text(str(number))
        await git("add", ".", cwd=tree)
        await git("commit", "-q", "-m", f"n{number}", cwd=tree, GIT_COMMITTER_DATE=stamp, GIT_AUTHOR_NAME=f"W{number}")
    sha = await pushed(tree, repository)

    async def titles(**more: Any) -> list[str]:
        return [commit.title for commit in await commits(repository, HistoryQuery([sha], **more))]

    assert await titles(limit=2) == ["n4", "n3"]
    assert await titles(limit=2, skip=2) == ["n2", "n1"]
    assert await titles(path="src") == ["First"]
    assert await titles(author="w3") == []
    assert await titles(author="W3") == ["n3"]
    assert await titles(author=".*") == []
    assert await titles(since=datetime.fromisoformat("2026-01-04T00:00:00+00:00"), limit=2) == ["n4", "n3"]
    assert "n4" not in await titles(until=datetime.fromisoformat("2026-01-04T12:00:00+00:00"))
    assert [c.title for c in await commits(repository, HistoryQuery([sha, f"^{sha}"]))] == []
    assert len(await commits(repository, HistoryQuery([]))) == 6
    page = await commits(repository, HistoryQuery([sha]))
    lines = await changed_lines(repository, page)
    assert [(lines[c.sha].additions, lines[c.sha].deletions) for c in page] == [(1, 1)] * 4 + [(1, 0), (5, 0)]
    assert await count_commits(repository, sha) == 6
    assert sorted((one.name, one.commits) for one in await contributors(repository, sha))[1] == ("W0", 1)
    parts = await blame(repository, sha, "a")
    assert [part.lines for part in parts] == [("1", "2", "3")]


async def test_differences_of_all_kinds(repository: Repository, tree: Path) -> None:
    (tree / "bin").write_bytes(bytes(range(256)))
    await new_commit(tree, {"gone": "x\n", "type": "t\n", "long": "".join(f"{n}\n" for n in range(100))})
    before = await pushed(tree, repository)
    await git("mv", "long", "longer name", cwd=tree)
    (tree / "bin").write_bytes(bytes(range(255)))
    (tree / "gone").unlink()
    (tree / "type").unlink()
    (tree / "type").symlink_to("a")
    await new_commit(tree, {"a": "1\nzwei\n3\n", "empty": "", "no end": "x"})
    (tree / "a").chmod(0o755)
    await new_commit(tree, {})
    after = await pushed(tree, repository)
    files = await changed_files(repository, before, after)
    found = {file.new_path: file for file in await with_patches(repository, before, after, files)}
    assert list(found) == ["a", "bin", "empty", "gone", "longer name", "no end", "type"]
    assert (found["a"].diff, found["a"].a_mode, found["a"].b_mode) == (
        "@@ -1,3 +1,3 @@\n 1\n-2\n+zwei\n 3\n",
        "100644",
        "100755",
    )
    assert found["bin"].diff == "Binary files a/bin and b/bin differ\n"
    assert (found["empty"].new_file, found["empty"].diff, found["empty"].a_mode) == (True, "", "0")
    assert (found["gone"].deleted_file, found["gone"].b_mode, found["gone"].diff) == (True, "0", "@@ -1 +0,0 @@\n-x\n")
    assert (found["longer name"].renamed_file, found["longer name"].old_path) == (True, "long")
    assert found["no end"].diff == "@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n"
    assert found["type"].diff.startswith("@@ -1 +0,0 @@\n-t\n")
    assert await changed_files(repository, EMPTY_TREE, before) != []


async def test_patches_are_paged_and_limited(repository: Repository, tree: Path) -> None:
    before = await pushed(tree, repository)
    big = "".join(f"line {number} diff --git a b\n" for number in range(20_000))
    await new_commit(tree, {f"f{number}": f"{number}\n" for number in range(10)} | {"f3": big, "f5": "x" * 300_000})
    after = await pushed(tree, repository)
    files = await changed_files(repository, before, after)
    page = await with_patches(repository, before, after, files, first=2, count=4)
    assert [(file.new_path, file.too_large, file.diff) for file in page] == [
        ("f2", False, "@@ -0,0 +1 @@\n+2\n"),
        ("f3", True, ""),
        ("f4", False, "@@ -0,0 +1 @@\n+4\n"),
        ("f5", True, ""),
    ]
    few = await with_patches(repository, before, after, files, limits=DiffLimits(patch=10_000_000, total=60))
    assert [file.collapsed for file in few] == [False, False, False, True, True, True, True, True, True, True]
    bounded = await with_patches(repository, before, after, files, limits=DiffLimits(files=4))
    assert [file.new_path for file in bounded] == ["f0", "f1", "f2", "f3"]
    assert await with_patches(repository, before, after, files, first=10) == []


async def test_refs_are_listed_and_found(repository: Repository, tree: Path) -> None:
    first = await git("rev-parse", "HEAD", cwd=tree)
    await git("branch", "old", cwd=tree)
    await git("branch", "zoo", cwd=tree)
    await new_commit(tree, {"b": "2"})
    await git("branch", "same", cwd=tree)
    await git("tag", "light", cwd=tree)
    await git("tag", "-a", "-m", "Notes\n\nmore", "noted", cwd=tree)
    await git("checkout", "-q", "zoo", cwd=tree)
    other = await new_commit(tree, {"z": "z"})
    await git("checkout", "-q", "main", cwd=tree)
    head = await pushed(tree, repository)
    assert [ref.name for ref in await list_refs(repository, "refs/heads")] == ["main", "old", "same", "zoo"]
    tags = await list_refs(repository, "refs/tags")
    assert [(tag.name, tag.message, tag.ref.sha, tag.tagged_at is None) for tag in tags] == [
        ("light", "", head, True),
        ("noted", "Notes\n\nmore", head, False),
    ]
    assert await merged_branches(repository, head) == {"old"}
    assert await refs_with(repository, head, "refs/heads") == ["main", "same"]
    assert await merge_base(repository, head, other) == await merge_base(repository, head, other, first) == first
    for name in ("main~1", "main^", "old", f"{head[:10]}~", "refs/heads/old", "light^"):
        assert await commit_named(repository, name) == first, name
    for name in ("main~9", "", "..", "a b", "x" * 5_000, "no", "main:a", "-x", "main@{1}", "HEAD^{tree}"):
        assert await commit_named(repository, name) is None, name


@pytest.mark.parametrize("packing", ["tar.gz", "tar", "tar.bz2", "zip"])
async def test_archives(repository: Repository, tree: Path, packing: str) -> None:
    sha = await pushed(tree, repository)

    async def names(**more: Any) -> set[str]:
        wanted = ArchiveRequest(sha, packing, "top", **more)
        data = b"".join([chunk async for chunk in stream_archive(repository, wanted)])
        if packing == "zip":
            return {name for name in zipfile.ZipFile(io.BytesIO(data)).namelist() if not name.endswith("/")}
        data = bz2.decompress(data) if packing == "tar.bz2" else data
        with tarfile.open(fileobj=io.BytesIO(data)) as packed:
            return {member.name for member in packed if member.isfile()}

    assert await names() == {"top/a", "top/src/ä b", "top/src/deep/c"}
    assert await names(path="src") == {"top/src/ä b", "top/src/deep/c"}
    assert await names(excluded=("src/deep",)) == {"top/a", "top/src/ä b"}


async def test_blobs_are_streamed(repository: Repository, tree: Path) -> None:
    await new_commit(tree, {"large": "x" * 5_000_000})
    sha = await pushed(tree, repository)
    entry = await entry_at(repository, sha, "large")
    assert entry is not None
    chunks = [len(chunk) async for chunk in stream_blob(repository, entry.sha)]
    assert (sum(chunks), max(chunks) <= 64 * 1024) == (5_000_000, True)
    assert await blob_size(repository, entry.sha) == 5_000_000
    for name in (sha, "1" * 40, "x"):
        assert await blob_size(repository, name) is None


async def test_an_empty_repository_has_nothing(repository: Repository) -> None:
    assert await commits(repository, HistoryQuery([])) == []
    assert await list_refs(repository, "refs/heads") == []
    assert await commit_named(repository, "HEAD") is None


async def test_names_with_every_kind_of_line_end_are_whole(repository: Repository, tree: Path) -> None:
    names = {f"refs/heads/a{sign}b" for sign in ("\x85", "\u2028", "\u2029")}
    sha = await git("rev-parse", "HEAD", cwd=tree)
    for name in names:
        await git("update-ref", name, sha, cwd=tree)
    await git("commit", "-q", "--allow-empty", "-m", "x", "--author", "A\u2028B <b@example.com>", cwd=tree)
    head = await pushed(tree, repository)
    assert names < {ref.name for ref in await repository.refs()}
    assert names < set(await all_refs(repository))
    assert names < set(await refs_of(repository, {}))
    assert names < set(await refs_within(repository, head, "refs/heads"))
    with pytest.raises(NotFound, match="has no refs/heads/none"):
        await repository.object_ids([*names, "refs/heads/none\u2028"])
    assert len(await contributors(repository, head)) == 2
