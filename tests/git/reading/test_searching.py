"""Files and commits that hold a text."""

from pathlib import Path

import pytest

from domain.errors import Invalid, Unavailable
from git.reading.searching import SEARCHES, commits_with, files_with, first_places
from git.repository import Repository
from git.turns import CALLER, GitCaller, turn_of
from tests.git.serving import git, new_commit, new_work_tree

FILES = {
    "a/deep-3-file.py": "one\ntwo\nthree\nHay (Needle) hay\nfive\nsix\nseven\n",
    "b:odd*name.txt": "needle\nNEEDLE\n",
    "plain.txt": "nothing of it\n",
    "long.js": "needle" + "x" * 2_000_000 + "\n",
}


@pytest.fixture
async def sha(repository: Repository, tmp_path: Path) -> str:
    """The head of `main`, with files and three commits."""
    tree = tmp_path / "tree"
    await new_work_tree(tree, FILES)
    (tree / "binary").write_bytes(b"needle\0needle")
    await git("add", "-A", cwd=tree)
    await new_commit(tree, {"plain.txt": "nothing here\n"}, message="Fix [the] Bug")
    sha = await new_commit(tree, {"plain.txt": "nothing at all\n"}, message="Other words")
    await git("push", "-q", repository.path, "main", cwd=tree)
    return sha


async def test_files_are_found_by_literal_text_in_any_case(repository: Repository, sha: str) -> None:
    assert await files_with(repository, sha, "nEEDle") == ["a/deep-3-file.py", "b:odd*name.txt", "long.js"]
    assert await files_with(repository, sha, "(needle)") == ["a/deep-3-file.py"]
    assert await files_with(repository, sha, "n.edle") == []
    assert await files_with(repository, sha, "--no-index") == []


async def test_a_file_shows_the_lines_around_the_first_place(repository: Repository, sha: str) -> None:
    paths = ["b:odd*name.txt", "a/deep-3-file.py"]
    odd, deep = await first_places(repository, sha, "needle", paths)
    assert (odd.path, odd.line, odd.data) == ("b:odd*name.txt", 1, "needle\nNEEDLE\n")
    assert (deep.line, deep.data) == (2, "two\nthree\nHay (Needle) hay\nfive\nsix\n")
    assert [(one.line, one.data) for one in await first_places(repository, sha, "needle", ["long.js"])] == [(1, "")]


async def test_commits_are_found_by_literal_words_of_their_messages(repository: Repository, sha: str) -> None:
    assert [one.title for one in await commits_with(repository, sha, "[THE] bug", skip=0, limit=5)] == ["Fix [the] Bug"]
    assert await commits_with(repository, sha, "[THE] bug", skip=1, limit=5) == []
    assert await commits_with(repository, sha, "t.e", skip=0, limit=5) == []


async def test_several_lines_are_refused(repository: Repository, sha: str) -> None:
    for text in ("a\nneedle", " ", "a\0"):
        with pytest.raises(Invalid, match="give one line of text"):
            await files_with(repository, sha, text)


async def test_a_caller_with_a_search_under_way_waits_for_its_end(
    repository: Repository, sha: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("git.turns.PATIENCE", 0.01)
    caller = CALLER.set(GitCaller("somebody"))
    try:
        async with turn_of(SEARCHES, "somebody", "elsewhere"):
            with pytest.raises(Unavailable, match="1 searches of one caller"):
                await files_with(repository, sha, "needle")
        assert await files_with(repository, sha, "needle")
    finally:
        CALLER.reset(caller)
