"""Tags made on the server."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from domain.errors import Invalid, Refused, Unavailable
from git.repository import Repository
from git.transport.push import RefUpdate
from git.writing.ref_transaction import NOTHING, move_refs
from git.writing.tags import NewTag, ref_of, tag_object
from tests.git.serving import git, new_work_tree

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


async def create_tag_ref(repository: Repository, name: str, target: str) -> None:
    await move_refs(repository, [RefUpdate(NOTHING, target, ref_of(name))])


@pytest.fixture
async def filled(repository: Repository, tmp_path: Path) -> tuple[Repository, str]:
    """The repository with one commit on main; its sha."""
    sha = await new_work_tree(tmp_path / "work", {"a": "1"})
    await git("push", "-q", repository.path, "main", cwd=tmp_path / "work")
    return repository, sha


async def test_a_tag_without_a_message_names_the_commit(filled: tuple[Repository, str]) -> None:
    repository, sha = filled
    target = await tag_object(repository, NewTag("v1", sha))
    assert target == sha
    assert await repository.tags() == ()
    await create_tag_ref(repository, "v1", target)
    assert [(tag.name, tag.object, tag.sha) for tag in await repository.tags()] == [("refs/tags/v1", sha, sha)]


async def test_an_annotated_tag_has_message_tagger_and_time(filled: tuple[Repository, str]) -> None:
    repository, sha = filled
    tag = NewTag("release/1.0", sha, "Erste\n\nVersion ä", "Ada <x>\n", "ada@example.com", NOON)
    target = await tag_object(repository, tag)
    await create_tag_ref(repository, tag.name, target)
    assert [(found.object, found.sha) for found in await repository.tags()] == [(target, sha)]
    form = "--format=%(taggername)|%(taggeremail)|%(taggerdate:unix)|%(contents)"
    shown = await git("for-each-ref", form, "refs/tags", cwd=repository.path)
    assert shown == f"Ada x|<ada@example.com>|{int(NOON.timestamp())}|Erste\n\nVersion ä"
    await git("fsck", "--strict", cwd=repository.path)


async def test_a_tag_that_exists_or_is_in_the_way_is_refused_and_stays(filled: tuple[Repository, str]) -> None:
    repository, sha = filled
    await create_tag_ref(repository, "v1", sha)
    other = await tag_object(repository, NewTag("v1", sha, "another"))
    for name in ("v1", "v1/x"):
        with pytest.raises(Refused, match=f"Could not update {name}: it has changed, or another name is in its way"):
            await create_tag_ref(repository, name, other)
    assert [tag.object for tag in await repository.tags()] == [sha]


async def test_what_cannot_be_a_tag_is_told(filled: tuple[Repository, str]) -> None:
    repository, sha = filled
    for name in ("", "-x", "a b", "a..b", "x.lock"):
        with pytest.raises(Invalid, match="is not the name of a branch, tag or commit"):
            await tag_object(repository, NewTag(name, sha))
    with pytest.raises(Invalid, match=f"the repository has no commit {'1' * 40}"):
        await tag_object(repository, NewTag("v1", "1" * 40, "words"))


async def test_a_lock_of_another_git_is_no_refusal(filled: tuple[Repository, str]) -> None:
    repository, sha = filled
    (repository.path / "refs" / "tags").mkdir(exist_ok=True)
    (repository.path / "refs" / "tags" / "v1.lock").touch()
    with pytest.raises(Unavailable, match=r"v1 cannot be updated now: .*lock"):
        await create_tag_ref(repository, "v1", sha)
