"""What lists hold, up to half a million lines, is read in git's threads: the event loop has no time for that."""

import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from git import command
from git.output import Completed
from git.reading.blame import blame
from git.reading.cache_key import digest_of_files
from git.reading.diffs import changed_files
from git.reading.languages import languages_of
from git.reading.ref_listing import list_refs
from git.reading.tree_listing import list_tree
from git.reading.tree_reading import list_files
from git.repository import Repository
from git.writing.object_writing import EMPTY_TREE
from tests.git.serving import git, new_work_tree

LISTS: dict[str, Callable[[Repository, str], Awaitable[object]]] = {
    "a folder": list_tree,
    "all files": list_files,
    "what differs": lambda repository, sha: changed_files(repository, EMPTY_TREE, sha),
    "refs": lambda repository, _: list_refs(repository, "refs/heads"),
    "lines": lambda repository, sha: blame(repository, sha, "a.py"),
    "files for a cache": lambda repository, sha: digest_of_files(repository, sha, ["*.py"]),
    "languages": languages_of,
}


@pytest.mark.parametrize("listed", LISTS.values(), ids=LISTS)
async def test_a_list_is_read_in_a_thread_of_git(
    listed: Callable[[Repository, str], Awaitable[object]],
    repository: Repository,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sha = await new_work_tree(tmp_path / "work", {"a.py": "1\n"})
    await git("push", "-q", repository.path, "main", cwd=tmp_path / "work")
    readers = set()
    run = command._Command.run

    class Watched:
        def __init__(self, answer: Completed) -> None:
            self.code, self.err, self._out = answer.code, answer.err, answer.out

        @property
        def out(self) -> bytes:
            readers.add(threading.current_thread().name.partition("_")[0])
            return self._out

    monkeypatch.setattr(command._Command, "run", lambda self: Watched(run(self)))
    assert await listed(repository, sha)
    assert readers == {"git"}
