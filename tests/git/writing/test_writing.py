"""Commits, merges, picks and refs made by the server, seen by a real git."""

import asyncio
import base64
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from domain.errors import Invalid, Refused, Unavailable
from git.reading.history import commits_by_sha
from git.reading.signature import Signature
from git.reading.trailers import trailers_of
from git.repository import Repository
from git.transport.push import RefUpdate
from git.writing.file_actions import FileAction, Kind, tree_with
from git.writing.merging import fast_forward, merge, merged_tree, squash
from git.writing.object_writing import EMPTY_TREE, NewCommit, write_blobs, write_commit
from git.writing.picking import cherry_pick, revert
from git.writing.ref_transaction import NOTHING, move_refs
from tests.git.serving import git

NOON = datetime(2026, 1, 2, 12, tzinfo=timezone(timedelta(hours=2)))
ADA = Signature("Ada <x>\n", "ada@example.com", NOON)


async def committed(
    repository: Repository, actions: list[FileAction], parent: str | None = None, branch: str = ""
) -> str:
    """A commit of actions, named by a branch if there is one."""
    tree = await tree_with(repository, parent, actions)
    sha = await write_commit(repository, NewCommit(tree, (parent,) if parent else (), "Words ä\n\nBody", ADA))
    if branch:
        await move_refs(repository, [RefUpdate(NOTHING, sha, f"refs/heads/{branch}")])
    return sha


def put(path: str, text: str, **more: Any) -> FileAction:
    return FileAction(Kind.CREATE, path, text.encode(), **more)


def changed(path: str, text: str) -> FileAction:
    return FileAction(Kind.UPDATE, path, text.encode())


async def listing(repository: Repository, sha: str) -> dict[str, tuple[str, str]]:
    """Mode and content by path."""
    found = {}
    for row in (await git("ls-tree", "-r", "-z", sha, cwd=repository.path)).split("\0"):
        if row:
            about, _, path = row.partition("\t")
            mode, _, name = about.split(" ")
            found[path] = (mode, await git("cat-file", "blob", name, cwd=repository.path))
    return found


async def test_actions_of_all_kinds_make_one_tree(repository: Repository) -> None:
    first = await committed(
        repository, [put("a/b/c", "1"), put("a/d", "2"), put("top", "3"), put("a.b", "4"), put("x/ü z", "5")]
    )
    actions = [
        changed("a/b/c", "new"),
        FileAction(Kind.DELETE, "a/d"),
        FileAction(Kind.MOVE, "moved/deep/top", previous_path="top"),
        FileAction(Kind.CHMOD, "a.b", executable=True),
        put("top", "again"),
        FileAction(Kind.MOVE, "x/other", b"with content", previous_path="x/ü z"),
    ]
    second = await committed(repository, actions, first, "main")
    assert await listing(repository, second) == {
        "a.b": ("100755", "4"),
        "a/b/c": ("100644", "new"),
        "moved/deep/top": ("100644", "3"),
        "top": ("100644", "again"),
        "x/other": ("100644", "with content"),
    }
    await git("fsck", "--strict", cwd=repository.path)
    shown = await git("log", "-1", "--format=%an|%ae|%ad|%B", "--date=raw", second, cwd=repository.path)
    assert shown == f"Ada x|ada@example.com|{int(NOON.timestamp())} +0200|Words ä\n\nBody"


async def test_a_folder_that_loses_its_last_file_goes_and_may_become_a_file(repository: Repository) -> None:
    first = await committed(repository, [put("a/b/c", "1"), put("z", "2")])
    gone = await committed(repository, [FileAction(Kind.DELETE, "a/b/c")], first)
    assert list(await listing(repository, gone)) == ["z"]
    turned = await committed(repository, [FileAction(Kind.DELETE, "a/b/c"), put("a", "file")], first)
    assert list(await listing(repository, turned)) == ["a", "z"]
    nothing = await tree_with(repository, gone, [FileAction(Kind.DELETE, "z")])
    assert nothing == EMPTY_TREE


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (put("a/b", "x"), "A file with this name already exists"),
        (put("a", "x"), "A directory with this name already exists"),
        (put("a/b/under", "x"), "A file with this name already exists"),
        (changed("nope", "x"), "A file with this name doesn't exist"),
        (changed("a", "x"), "A file with this name doesn't exist"),
        (FileAction(Kind.DELETE, "nope"), "A file with this name doesn't exist"),
        (FileAction(Kind.MOVE, "a/b", previous_path="c"), "A file with this name already exists"),
        (FileAction(Kind.CHMOD, "sub/mod", executable=True), "A file with this name doesn't exist"),
        (put("../x", "x"), "is not a path in a repository"),
        (put("x/.GIT/config", "x"), "invalid path"),
        (FileAction(Kind.UPDATE, "c", b"x", last_commit_id="1" * 40), "has changed since you started editing it"),
    ],
)
async def test_what_cannot_be_done_is_told_and_writes_no_commit(
    repository: Repository, action: FileAction, message: str
) -> None:
    first = await committed(repository, [put("a/b", "1"), put("c", "2")])
    with pytest.raises(Invalid, match=message):
        await tree_with(repository, first, [put("other", "x"), action])


async def test_many_files_at_once_and_binary_ones(repository: Repository) -> None:
    files = [put(f"d{number % 50}/f{number}", str(number)) for number in range(1_000)]
    binary = bytes(range(256)) * 100
    sha = await committed(repository, [*files, FileAction(Kind.CREATE, "bin", binary)])
    assert await repository.read_file(sha, "bin") == binary
    assert await repository.read_file(sha, "d7/f57") == b"57"
    assert len(await listing_names(repository, sha)) == 1_001
    await git("fsck", "--strict", cwd=repository.path)
    (name,) = await write_blobs(repository, [binary])
    assert name == await git("rev-parse", f"{sha}:bin", cwd=repository.path)


async def listing_names(repository: Repository, sha: str) -> list[str]:
    return (await git("ls-tree", "-r", "--name-only", sha, cwd=repository.path)).splitlines()


async def test_refs_move_all_or_none_and_only_from_where_they_were_seen(repository: Repository) -> None:
    one = await committed(repository, [put("a", "1")], branch="main")
    two = await committed(repository, [changed("a", "2")], one)
    with pytest.raises(Refused, match="Could not update main, other"):
        await move_refs(
            repository,
            [RefUpdate(two, one, "refs/heads/main"), RefUpdate(NOTHING, one, "refs/heads/other")],
        )
    assert [ref.short_name for ref in await repository.branches()] == ["main"]
    with pytest.raises(Refused, match="another name is in its way"):
        await move_refs(repository, [RefUpdate(NOTHING, one, "refs/heads/main/below")])
    with pytest.raises(Invalid, match="no such commit"):
        await move_refs(repository, [RefUpdate(one, "1" * 40, "refs/heads/main")])
    await move_refs(repository, [RefUpdate(one, two, "refs/heads/main"), RefUpdate(NOTHING, one, "refs/heads/x")])
    await move_refs(repository, [RefUpdate(one, NOTHING, "refs/heads/x")])
    assert [(ref.short_name, ref.sha) for ref in await repository.branches()] == [("main", two)]
    (repository.path / "refs" / "heads" / "main.lock").touch()
    with pytest.raises(Unavailable, match="main cannot be updated now"):
        await move_refs(repository, [RefUpdate(two, one, "refs/heads/main")])


async def test_of_two_that_move_a_ref_at_once_one_wins(repository: Repository) -> None:
    one = await committed(repository, [put("a", "1")], branch="main")
    heads = [await committed(repository, [changed("a", str(number))], one) for number in range(6)]
    moves = [move_refs(repository, [RefUpdate(one, head, "refs/heads/main")]) for head in heads]
    ends = await asyncio.gather(*moves, return_exceptions=True)
    assert sum(end is None for end in ends) == 1
    assert all(end is None or isinstance(end, Refused | Unavailable) for end in ends)
    assert await repository.resolve("main") == heads[[end is None for end in ends].index(True)]


async def test_a_merge_has_both_parents_and_both_changes(repository: Repository) -> None:
    base = await committed(repository, [put("a", "1\n2\n3\n4\n5\n6\n7\n"), put("b", "b")], branch="main")
    ours = await committed(repository, [changed("a", "one\n2\n3\n4\n5\n6\n7\n")], base)
    theirs = await committed(repository, [changed("a", "1\n2\n3\n4\n5\n6\nseven\n"), put("c", "c")], base)
    result = await merge(repository, ours, theirs, "Merge", ADA)
    assert result.sha is not None
    assert result.conflicts == ()
    assert (await listing(repository, result.sha))["a"][1] == "one\n2\n3\n4\n5\n6\nseven"
    commit = await repository.commit(result.sha)
    assert (commit.parents, commit.title, commit.committer_name) == ((ours, theirs), "Merge", "Ada x")
    flat = await squash(repository, ours, theirs, "Squashed", ADA, Signature("Bob", "bob@example.com", NOON))
    assert flat.sha is not None
    made = await repository.commit(flat.sha)
    assert (made.parents, made.author_name, made.committer_name) == ((ours,), "Ada x", "Bob")
    assert (await merged_tree(repository, ours, theirs)).sha == await git(
        "rev-parse", f"{flat.sha}^{{tree}}", cwd=repository.path
    )
    assert (await fast_forward(repository, base, theirs)).sha == theirs
    with pytest.raises(Refused, match="fast-forward is not possible"):
        await fast_forward(repository, ours, theirs)


async def test_conflicts_are_named_and_nothing_comes_of_them(repository: Repository) -> None:
    base = await committed(repository, [put("a", "1\n"), put("ä b", "1\n"), put("c", "1\n")])
    ours = await committed(repository, [changed("a", "2\n"), changed("ä b", "2\n"), changed("c", "2\n")], base)
    theirs = await committed(repository, [changed("a", "3\n"), FileAction(Kind.DELETE, "ä b")], base)
    for way in (merge, squash):
        result = await way(repository, ours, theirs, "Merge", ADA)
        assert (result.sha, set(result.conflicts)) == (None, {"a", "ä b"})
    lonely = await committed(repository, [put("x", "1")])
    with pytest.raises(Refused, match="no common ancestor"):
        await merge(repository, ours, lonely, "Merge", ADA)
    with pytest.raises(Unavailable):
        await merge(repository, ours, "1" * 40, "Merge", ADA)


async def test_picks_and_reverts(repository: Repository) -> None:
    base = await committed(repository, [put("a", "1\n2\n3\n4\n5\n")], branch="main")
    ours = await committed(repository, [changed("a", "1\n2\n3\n4\nfive\n")], base)
    side = await committed(repository, [changed("a", "one\n2\n3\n4\n5\n"), put("n", "n")], base)
    picked = await cherry_pick(repository, ours, await repository.commit(side), "Picked", ADA)
    assert picked.sha is not None
    assert (await listing(repository, picked.sha))["a"][1] == "one\n2\n3\n4\nfive"
    assert (await repository.commit(picked.sha)).parents == (ours,)
    again = await cherry_pick(repository, picked.sha, await repository.commit(side), "Again", ADA)
    assert (again.sha, again.conflicts) == (None, ())
    back = await revert(repository, picked.sha, await repository.commit(side), "Back", ADA)
    assert back.sha is not None
    assert await listing(repository, back.sha) == await listing(repository, ours)
    clash = await committed(repository, [changed("a", "uno\n2\n3\n4\n5\n")], base)
    assert (await cherry_pick(repository, clash, await repository.commit(side), "No", ADA)).conflicts == ("a",)
    first = await cherry_pick(
        repository, await committed(repository, [put("z", "z")]), await repository.commit(base), "Root", ADA
    )
    assert first.sha is not None
    assert set(await listing(repository, first.sha)) == {"a", "z"}


async def test_messages_that_git_cannot_hold_are_refused(repository: Repository) -> None:
    for message, words in (("a\0b", "null character"), ("x" * 600_000, "at most")):
        with pytest.raises(Invalid, match=words):
            await write_commit(repository, NewCommit(EMPTY_TREE, (), message, ADA))


async def test_what_a_killed_git_left_is_swept(repository: Repository, tmp_path: Path) -> None:
    folder = repository.path / "objects" / "ab"
    folder.mkdir()
    (folder / "tmp_obj_123").touch()
    assert await repository.sweep(older_than=-1) == 1
    assert list(folder.iterdir()) == []


def test_signatures_and_trailers() -> None:
    assert Signature("", "", datetime.fromtimestamp(5, UTC)).line == "unknown <> 5 +0000"
    assert trailers_of("Title\n\nBody\n\nA: 1\nB-c: x\n  y\nA: 2") == {"A": ["1", "2"], "B-c": ["x y"]}
    assert trailers_of("A: title") == trailers_of("Title\n\nwords: and\nmore") == trailers_of("") == {}


async def test_commits_by_sha_leave_out_what_is_not_there(repository: Repository) -> None:
    sha = await committed(repository, [put("a", base64.b64encode(b"x").decode())])
    assert list(await commits_by_sha(repository, [sha, "1" * 40, sha])) == [sha]
