"""No way in makes a branch or tag that could be taken for another ref, and what has been made before can go away."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from git.command import run
from git.reading.shadowing import shadowing_refs
from tests.api.test_git_http import remote, try_git
from tests.api.v4.site import Person, Site, open_site, serving
from tests.git.serving import git, new_commit

HOSTILE = ("refs/heads/main", "refs/tags/v1", "HEAD", "REFS/heads/main", "FETCH_HEAD")


@pytest.fixture
def database_url(sqlite_url: str) -> str:
    """One kind of database does: this is about git."""
    return sqlite_url


@pytest.fixture
async def site(tmp_path: Path, database_url: str) -> AsyncIterator[Site]:
    """An installation behind a real web server, whose project has `main` and the tag `v1`."""
    async with open_site(tmp_path, database_url) as opened, serving(opened):
        await opened.commit({"a": "good"})
        tree = opened.folder / "tree"
        await git("push", "-q", folder(opened), "main:refs/tags/v1", cwd=tree)
        await new_commit(tree, {"a": "evil"}, "Evil")
        yield opened


@pytest.fixture
async def developer(site: Site) -> Person:
    """Somebody who may push."""
    return await site.person("dev", 30)


def folder(site: Site) -> Path:
    """The repository."""
    return site.services.repositories.path(site.world.project_id)


async def call(site: Site, person: Person, method: str, path: str, **body: Any) -> tuple[int, str]:
    """The REST API of the project."""
    async with site.client(person) as client:
        found = await client.request(method, f"/api/v4/projects/{site.world.project_id}{path}", json=body or None)
    return found.status_code, found.text


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("kind", ["heads", "tags"])
async def test_a_push_is_refused_in_words(site: Site, developer: Person, kind: str, name: str) -> None:
    address = await remote(site, developer.token, "dev")
    code, words = await try_git("push", address, f"main:refs/{kind}/{name}", cwd=site.folder / "tree")
    noun = "branch" if kind == "heads" else "tag"
    assert (code, f"You cannot create or move a {noun} named {name}: it " in words) == (1, True), words
    assert shadowing_refs(folder(site)) == []


@pytest.mark.parametrize("name", HOSTILE)
async def test_the_api_makes_none(site: Site, developer: Person, name: str) -> None:
    action = {"action": "create", "file_path": "b", "content": "b"}
    wrong: dict[str, dict[str, Any]] = {
        "/repository/branches": {"branch": name, "ref": "main"},
        "/repository/tags": {"tag_name": name, "ref": "main"},
        "/repository/commits": {"branch": name, "start_branch": "main", "commit_message": "x", "actions": [action]},
        "/repository/files/b": {"branch": name, "start_branch": "main", "commit_message": "x", "content": "b"},
        "/releases": {"tag_name": name, "ref": "main", "name": "r"},
    }
    for path, body in wrong.items():
        status, text = await call(site, developer, "POST", path, **body)
        assert (status, path) == (400, path), text
    status, text = await call(site, site.root, "PUT", "", default_branch=name)
    assert status == 400, text
    async with site.client(site.root) as client:
        made = await client.post("/api/v4/projects", json={"name": "other", "default_branch": name})
        fork = {"branches": name, "path": "f"}
        forked = await client.post(f"/api/v4/projects/{site.world.project_id}/fork", json=fork)
    assert (made.status_code, forked.status_code) == (400, 400), made.text + forked.text
    assert shadowing_refs(folder(site)) == []


@pytest.mark.parametrize("is_protected", [False, True])
async def test_no_way_in_makes_a_branch_of_a_tags_name_or_the_reverse(
    site: Site, developer: Person, is_protected: bool
) -> None:
    if is_protected:
        status, text = await call(site, site.root, "POST", "/protected_tags", name="v*")
        assert status == 201, text
    before = {ref.name for ref in await site.services.repositories.get(site.world.project_id).refs()}
    tree, address = site.folder / "tree", await remote(site, developer.token, "dev")
    for specs in (["main:refs/heads/v1"], ["main:refs/tags/main"], ["main:refs/heads/new", "main:refs/tags/new"]):
        code, words = await try_git("push", address, *specs, cwd=tree)
        assert (code, "there is a " in words) == (1, True), words
    action = {"action": "create", "file_path": "b", "content": "b"}
    commit = {"start_branch": "main", "commit_message": "x"}
    wrong: tuple[tuple[str, dict[str, Any]], ...] = (
        ("/repository/branches", {"branch": "v1", "ref": "main"}),
        ("/repository/tags", {"tag_name": "main", "ref": "main"}),
        ("/repository/commits", {"branch": "v1", "actions": [action], **commit}),
        ("/repository/files/b", {"branch": "v1", "content": "b", **commit}),
        ("/releases", {"tag_name": "main", "ref": "main", "name": "r"}),
    )
    for path, body in wrong:
        status, text = await call(site, developer, "POST", path, **body)
        assert (status, "there is a " in text) == (400, True), (path, status, text)
    assert {ref.name for ref in await site.services.repositories.get(site.world.project_id).refs()} == before


async def test_one_from_before_hides_nothing_and_can_only_go_away(site: Site, developer: Person) -> None:
    tree, repository = site.folder / "tree", folder(site)
    evil = await git("rev-parse", "main", cwd=tree)
    await git("push", "-q", repository, "main:refs/heads/other", cwd=tree)
    for name in ("heads/refs/heads/main", "heads/refs/tags/v1", "heads/HEAD", "tags/refs/heads/main"):
        await run([f"--git-dir={repository}", "update-ref", f"refs/{name}", evil])
    for ref in ("main", "refs/heads/main", "v1", "refs/tags/v1", "HEAD"):
        read = await call(site, developer, "GET", f"/repository/files/a/raw?ref={quote(ref, safe='')}")
        assert read == (200, "good"), ref
    address = await remote(site, developer.token, "dev")
    await new_commit(tree, {"a": "more"}, "More")
    code, words = await try_git("push", address, "main:refs/heads/HEAD", cwd=tree)
    assert (code, "cannot create or move a branch named HEAD" in words) == (1, True), words
    assert await try_git("push", address, ":refs/heads/HEAD", ":refs/heads/refs/tags/v1", cwd=tree)
    for path in ("branches", "tags"):
        gone = await call(site, developer, "DELETE", f"/repository/{path}/{quote('refs/heads/main', safe='')}")
        assert gone == (204, "")
    assert shadowing_refs(repository) == []
