"""Protected branches and tags against the real git command: refused before the ref moves, in words that help."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.v4.site import Person, Site, open_site, serving
from tests.git.serving import git, new_commit, new_work_tree

DEVELOPER, MAINTAINER = 30, 40


@pytest.fixture
async def site(tmp_path: Path, database_url: str) -> AsyncIterator[Site]:
    """An installation behind a real web server, with `main` pushed by its administrator."""
    async with open_site(tmp_path, database_url) as opened, serving(opened):
        await opened.services.repositories.create(opened.world.project_id, "main")
        await new_work_tree(tmp_path / "work", {"README": "first"})
        await push(opened, opened.root, "main")
        yield opened


async def push(site: Site, person: Person, *words: str, code: int = 0) -> str:
    """Push from the work tree as somebody; what git said."""
    host = site.services.settings.url.removeprefix("http://")
    address = f"http://{person.username}:{person.token}@{host}/{await site.path()}.git"
    force = [word for word in words if word.startswith("-")]
    return await git("push", *force, address, *(word for word in words if word not in force), cwd=work(site), code=code)


def work(site: Site) -> Path:
    """The work tree."""
    return site.folder / "work"


async def rest(site: Site, method: str, path: str, body: Any = None, person: Person | None = None) -> Any:
    async with site.client(person or site.root) as client:
        return await client.request(method, f"/api/v4/projects/{site.world.project_id}{path}", json=body)


async def head(site: Site, ref: str) -> str | None:
    """Where a ref of the server stands."""
    return await site.services.repositories.get(site.world.project_id).resolve(ref)


async def test_developers_push_to_branches_that_are_not_protected(site: Site) -> None:
    developer, before = await site.person("dev", DEVELOPER), await head(site, "main")
    await new_commit(work(site), {"a": "1"})
    said = await push(site, developer, "main", code=1)
    assert "! [remote rejected] main -> main" in said
    assert "not allowed to push to protected branches" in said
    assert await head(site, "main") == before
    await push(site, developer, "main:fix")
    assert await head(site, "fix") is not None
    await push(site, await site.person("maint", MAINTAINER), "main")
    assert await head(site, "main") != before


async def test_one_protected_ref_refuses_the_whole_push(site: Site) -> None:
    developer = await site.person("dev", DEVELOPER)
    await new_commit(work(site), {"a": "1"})
    await push(site, developer, "main", "main:fix", code=1)
    assert await head(site, "refs/heads/fix") is None


async def test_nobody_loses_commits_of_a_protected_branch(site: Site) -> None:
    before = await head(site, "main")
    await git("commit", "-q", "--amend", "-m", "Another first", cwd=work(site))
    said = await push(site, site.root, "--force", "main", code=1)
    assert "non-fast-forward" in said
    assert await head(site, "main") == before
    await push(site, site.root, "main:fix")
    await git("commit", "-q", "--amend", "-m", "Again", cwd=work(site))
    await push(site, site.root, "--force", "main:fix")
    assert (await rest(site, "PATCH", "/protected_branches/main", {"allow_force_push": True})).status_code == 200
    await push(site, site.root, "--force", "main")
    assert await head(site, "main") != before


async def test_a_protected_branch_is_deleted_over_the_api_by_maintainers_only(site: Site) -> None:
    await push(site, site.root, "main:release/1")
    await rest(site, "POST", "/protected_branches", {"name": "release/*"})
    said = await push(site, site.root, ":release/1", code=1)
    assert "web interface or the API" in said
    developer = await site.person("dev", DEVELOPER)
    assert (await rest(site, "DELETE", "/repository/branches/release%2F1", person=developer)).status_code == 403
    assert (await rest(site, "DELETE", "/repository/branches/release%2F1")).status_code == 204
    assert await head(site, "refs/heads/release/1") is None
    assert (await rest(site, "DELETE", "/repository/branches/main")).status_code == 403


async def test_protected_tags_are_made_by_maintainers_and_then_stay(site: Site) -> None:
    await rest(site, "POST", "/protected_tags", {"name": "v*"})
    developer = await site.person("dev", DEVELOPER)
    await git("tag", "v1", cwd=work(site))
    await git("tag", "w1", cwd=work(site))
    assert "protected: v1" in await push(site, developer, "v1", code=1)
    await push(site, developer, "w1")
    await push(site, site.root, "v1")
    await new_commit(work(site), {"a": "1"})
    await git("tag", "-f", "v1", cwd=work(site))
    assert "cannot be updated" in await push(site, site.root, "--force", "v1", code=1)
    assert "cannot be deleted" in await push(site, site.root, ":refs/tags/v1", code=1)


async def test_who_may_make_a_protected_tag_is_changed_without_a_moment_of_no_rule(site: Site) -> None:
    await rest(site, "POST", "/protected_tags", {"name": "v/*"})
    developer = await site.person("dev", DEVELOPER)
    await git("tag", "v/1", cwd=work(site))
    await push(site, developer, "v/1", code=1)
    changed = await rest(site, "PATCH", "/protected_tags/v%2F*", {"create_access_level": 30})
    assert (changed.status_code, changed.json()["create_access_levels"][0]["access_level"]) == (200, 30)
    await push(site, developer, "v/1")
    assert (await rest(site, "PATCH", "/protected_tags/v%2F*", {"create_access_level": 35})).status_code == 400
    assert (await rest(site, "PATCH", "/protected_tags/none", {"create_access_level": 30})).status_code == 404
    assert (await rest(site, "PATCH", "/protected_tags/v%2F*", {})).json() == changed.json()


async def test_what_is_written_over_the_api_obeys_the_same_rules(site: Site) -> None:
    developer = await site.person("dev", DEVELOPER)
    body = {"branch": "main", "content": "x", "commit_message": "Leak"}
    refused = await rest(site, "POST", "/repository/files/leak", body, developer)
    assert (refused.status_code, "main is protected" in refused.json()["message"]) == (403, True)
    made = await rest(
        site, "POST", "/repository/files/leak", {**body, "branch": "fix", "start_branch": "main"}, developer
    )
    assert made.status_code == 201, made.text
    await rest(site, "POST", "/protected_tags", {"name": "v*"})
    tag = {"tag_name": "v1", "ref": "main"}
    assert (await rest(site, "POST", "/repository/tags", tag, developer)).status_code == 403
    assert (await rest(site, "POST", "/repository/tags", tag)).status_code == 201


async def test_an_archived_project_takes_nothing(site: Site) -> None:
    assert (await rest(site, "POST", "/archive")).status_code == 201
    await new_commit(work(site), {"a": "1"})
    assert "error: 403" in await push(site, site.root, "main", code=128)
    assert (await rest(site, "POST", "/pipeline", {"ref": "main"})).status_code == 403
    assert (await rest(site, "POST", "/unarchive")).status_code == 201
    await push(site, site.root, "main")
