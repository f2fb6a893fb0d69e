"""Search in the installation, in a group and in a project."""

from typing import Any

import pytest

from tests.api.v4.merge_requests.merging import Merging
from tests.api.v4.site import Person, Site


@pytest.fixture
async def here(site: Site) -> Merging:
    """The project with an open merge request that has a note, and a milestone."""
    here = Merging(site)
    await here.begin(**{"src/app.min.js": "alert(1)\nNeedle = [1]\n"})
    await here.feature("feature", description="a needle in the text")
    await here.good("POST", "milestones", json={"title": "Needles found"})
    for body, internal in (("where is the needle?", False), ("a secret needle", True)):
        await here.good("POST", "merge_requests/1/notes", json={"body": body, "internal": internal})
    return here


async def search(here: Merging, place: str, scope: str, who: Person | None = None, **more: Any) -> Any:
    """What a search for needles finds; the status where it is refused."""
    async with here.site.client(who or here.site.root) as client:
        params = {"scope": scope, "search": "needle", **more}
        response = await client.get(f"/api/v4{place}search", params=params)
    return response.json() if response.is_success else response.status_code


async def test_a_project_is_searched_in_every_scope(here: Merging) -> None:
    place = f"/projects/{here.id}/"
    reporter = await here.site.person("needleman", 20)
    await here.site.set_project(visibility="public")
    stranger = await here.site.person("eve")
    assert [one["iid"] for one in await search(here, place, "merge_requests")] == [1]
    assert await search(here, place, "merge_requests", state="closed") == []
    assert [one["title"] for one in await search(here, place, "milestones")] == ["Needles found"]
    assert [one["username"] for one in await search(here, place, "users")] == ["needleman"]
    notes = await search(here, place, "notes", reporter)
    assert [(one["body"], one["noteable_iid"]) for one in notes] == [
        ("a secret needle", 1),
        ("where is the needle?", 1),
    ]
    assert [one["body"] for one in await search(here, place, "notes", stranger)] == ["where is the needle?"]
    (file,) = await search(here, place, "blobs")
    assert file == {
        "basename": "src/app.min",
        "data": "alert(1)\nNeedle = [1]\n",
        "path": "src/app.min.js",
        "filename": "src/app.min.js",
        "id": None,
        "ref": "main",
        "startline": 1,
        "project_id": here.id,
    }
    assert await search(here, place, "blobs", search="N.edle") == []
    assert await search(here, place, "blobs", ref="nowhere") == 404
    await here.commit("other", {"b.txt": "no\n"}, message="Lose the needle")
    assert await search(here, place, "commits") == []
    (commit,) = await search(here, place, "commits", ref="other")
    assert (commit["title"], commit["project_id"]) == ("Lose the needle", here.id)


async def test_pages_of_files_are_counted(here: Merging) -> None:
    await here.commit("many", {f"{number}.txt": "a needle\n" for number in range(3)})
    async with here.site.client(here.site.root) as client:
        wanted: dict[str, str | int] = {"scope": "blobs", "search": "needle", "ref": "many", "per_page": 2, "page": 2}
        response = await client.get(f"/api/v4/projects/{here.id}/search", params=wanted)
    assert [one["path"] for one in response.json()] == ["2.txt", "src/app.min.js"]
    assert (response.headers["x-total"], response.headers["x-next-page"]) == ("4", "")


async def test_the_installation_and_a_group_are_searched_for_what_the_caller_may_list(here: Merging) -> None:
    async with here.site.client(here.site.root) as client:
        project = (await client.get(f"/api/v4/projects/{here.id}")).json()
    member, guest, eve = [await here.site.person(name, level) for name, level in (("bob", 20), ("gus", 10), ("eve", 0))]
    words = {"projects": project["path"], "users": "bob", "merge_requests": "needle", "milestones": "needle"}
    group = f"/groups/{project['namespace']['id']}/"
    for scope, text in words.items():
        mine = await search(here, "/", scope, member, search=text)
        assert len(mine) == 1, scope
        assert await search(here, "/", scope, eve, search=text) == (mine if scope == "users" else []), scope
        assert len(await search(here, group, scope, member, search=text)) == (scope != "users"), scope
        assert await search(here, group, scope, eve, search=text) == 404
        in_group = await search(here, group, scope, guest, search=text)
        assert len(in_group) == (scope == "projects"), scope


async def test_a_scope_that_is_not_searched_is_refused_with_those_that_are(here: Merging) -> None:
    async with here.site.client(here.site.root) as client:
        for place, scopes in (
            ("", "merge_requests, milestones, projects, users"),
            (f"/projects/{here.id}", "blobs, commits, merge_requests, milestones, notes, users"),
        ):
            refused = await client.get(f"/api/v4{place}/search", params={"scope": "issues", "search": "x"})
            assert refused.status_code == 400
            assert refused.json()["message"].endswith(f"'issues' is not searched here; give one of {scopes}.")
        for wrong in (
            {"scope": "users"},
            {"search": "x"},
            {"scope": "users", "search": "x" * 300},
            {"scope": "users", "search": "a\0"},
        ):
            assert (await client.get("/api/v4/search", params=wrong)).status_code == 400
    async with here.site.client() as nobody:
        assert (await nobody.get("/api/v4/search?scope=users&search=x")).status_code == 401
