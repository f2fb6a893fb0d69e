"""What an update of a ref brought."""

from pathlib import Path

import pytest

from git.reading.changes import changes, summary
from git.repository import Repositories, Repository
from git.transport.push import RefUpdate
from tests.git.serving import git, new_commit, new_work_tree

NONE = "0" * 40


@pytest.fixture
async def shas(tmp_path: Path) -> tuple[Repository, list[str]]:
    """A repository with two commits on `main` and one more on `side`."""
    repository = await Repositories(tmp_path / "repositories").create(1, "main")
    tree = tmp_path / "tree"
    found = [await new_work_tree(tree, {"a": "1"}), await new_commit(tree, {"a": "2"}, "Second\n\nbody")]
    await git("checkout", "-q", "-b", "side", cwd=tree)
    found.append(await new_commit(tree, {"b": "1"}, "Side"))
    await git("push", "-q", repository.path, "main", "side", cwd=tree)
    return repository, found


async def test_an_update_brings_what_lies_between(shas: tuple[Repository, list[str]]) -> None:
    repository, (first, second, _) = shas
    update = RefUpdate(first, second, "refs/heads/main")
    commits, total = await changes(repository, update, "main")
    assert ([one.commit.sha for one in commits], total) == ([second], 1)
    assert commits[0].modified == ["a"]
    assert await summary(repository, update, "main") == (1, "Second")


async def test_a_new_branch_brings_what_the_default_branch_has_not(shas: tuple[Repository, list[str]]) -> None:
    repository, (_, second, side) = shas
    assert await summary(repository, RefUpdate(NONE, side, "refs/heads/side"), "main") == (1, "Side")
    assert await summary(repository, RefUpdate(NONE, second, "refs/heads/same"), "main") == (0, "Second")
    assert await changes(repository, RefUpdate(NONE, second, "refs/heads/same"), "main") == ([], 0)


async def test_a_new_default_branch_brings_everything(shas: tuple[Repository, list[str]]) -> None:
    repository, (_, second, _) = shas
    update = RefUpdate(NONE, second, "refs/heads/main")
    assert (await changes(repository, update, "main"))[1] == 2
    assert await summary(repository, update, "main") == (2, "Second")


async def test_what_is_gone_or_lost_brings_nothing(shas: tuple[Repository, list[str]]) -> None:
    repository, (_, second, _) = shas
    for update in (RefUpdate(second, NONE, "refs/heads/main"), RefUpdate(second, "c" * 40, "refs/heads/main")):
        assert await changes(repository, update, "main") == ([], 0)
        assert await summary(repository, update, "main") == (0, "")
