"""Projects shared with groups, starred, moved, measured: who gets in, how far, and what their documents say."""

from datetime import timedelta
from typing import Any

import pytest

from tests.api.v4.site import Person, Site
from tests.git.serving import git

GUEST, REPORTER, DEVELOPER, MAINTAINER, OWNER = 10, 20, 30, 40, 50


async def call(site: Site, method: str, path: str, body: Any = None, person: Person | None = None) -> Any:
    async with site.client(person or site.root) as client:
        return await client.request(method, f"/api/v4{path}", json=body)


async def group(site: Site, path: str, parent: int | None = None) -> int:
    body = {"name": path, "path": path, "parent_id": parent, "visibility": "private"}
    return int((await call(site, "POST", "/groups", body)).json()["id"])


async def member(site: Site, key: int, name: str, level: int) -> Person:
    person = await site.person(name)
    body = {"user_id": person.id, "access_level": level}
    assert (await call(site, "POST", f"/groups/{key}/members", body)).status_code == 201
    return person


@pytest.mark.both_databases
async def test_members_of_a_group_have_the_lower_of_their_level_there_and_that_of_the_share(site: Site) -> None:
    project = f"/projects/{site.world.project_id}"
    top = await group(site, "friends")
    team = await group(site, "team", top)
    people = {name: await member(site, top, name, level) for name, level in (("low", GUEST), ("high", OWNER))}
    share = {"group_id": team, "group_access": DEVELOPER}
    assert (await call(site, "GET", project, person=people["high"])).status_code == 404
    made = await call(site, "POST", f"{project}/share", share)
    assert (made.status_code, made.json()["group_access"], made.json()["group_id"]) == (201, DEVELOPER, team)
    for name, level, runs in (("low", GUEST, 403), ("high", DEVELOPER, 200)):
        person = people[name]
        seen = (await call(site, "GET", project, person=person)).json()
        assert seen["permissions"]["project_access"]["access_level"] == level
        assert [each["id"] for each in (await call(site, "GET", "/projects", person=person)).json()] == [seen["id"]]
        known = (await call(site, "GET", f"{project}/members/all/{person.id}")).json()
        assert known["access_level"] == level
        assert (await call(site, "GET", f"{project}/pipelines", person=person)).status_code == runs
        assert (await call(site, "PUT", project, {"description": "x"}, person)).status_code == 403
    mine = "/projects?min_access_level=30"
    assert [len((await call(site, "GET", mine, person=one)).json()) for one in people.values()] == [0, 1]
    of_group = (await call(site, "GET", f"/groups/{team}/projects")).json()
    assert [each["id"] for each in of_group] == [site.world.project_id]
    assert (await call(site, "GET", f"/groups/{team}/projects?with_shared=false")).json() == []
    names = {person["username"] for person in (await call(site, "GET", f"{project}/users")).json()}
    assert {"low", "high"} <= names
    (told,) = (await call(site, "GET", project)).json()["shared_with_groups"]
    assert (told["group_full_path"], told["group_access_level"]) == ("friends/team", DEVELOPER)
    groups = (await call(site, "GET", f"{project}/groups?with_shared=true&search=team")).json()
    assert [each["full_path"] for each in groups] == ["friends/team"]
    assert (await call(site, "POST", f"{project}/share", share)).status_code == 409
    assert (await call(site, "DELETE", f"{project}/share/{team}")).status_code == 204
    assert (await call(site, "DELETE", f"{project}/share/{team}")).status_code == 404
    assert (await call(site, "GET", project, person=people["high"])).status_code == 404


async def test_a_share_ends_on_its_day_and_goes_with_its_group(site: Site) -> None:
    project, team = f"/projects/{site.world.project_id}", await group(site, "friends")
    person = await member(site, team, "ada", DEVELOPER)
    today = site.services.clock().date()
    for days, status in ((0, 404), (1, 200)):
        share = {"group_id": team, "group_access": DEVELOPER, "expires_at": (today + timedelta(days)).isoformat()}
        assert (await call(site, "POST", f"{project}/share", share)).status_code == 201
        assert (await call(site, "GET", project, person=person)).status_code == status
        if not days:
            assert (await call(site, "DELETE", f"{project}/share/{team}")).status_code == 204
    assert (await call(site, "DELETE", f"/groups/{team}")).status_code == 202
    assert (await call(site, "GET", project)).json()["shared_with_groups"] == []
    assert (await call(site, "GET", project, person=person)).status_code == 404


async def test_nobody_shares_beyond_his_level_nor_with_a_group_that_he_may_not_see(site: Site) -> None:
    project, team = f"/projects/{site.world.project_id}", await group(site, "secret")
    maintainer, developer = await site.person("main", MAINTAINER), await site.person("dev", DEVELOPER)
    share = {"group_id": team, "group_access": DEVELOPER}
    assert (await call(site, "POST", f"{project}/share", share, maintainer)).status_code == 404
    body = {"user_id": maintainer.id, "access_level": GUEST}
    assert (await call(site, "POST", f"/groups/{team}/members", body)).status_code == 201
    assert (
        await call(site, "POST", f"{project}/share", share | {"group_access": OWNER}, maintainer)
    ).status_code == 403
    assert (await call(site, "POST", f"{project}/share", share, maintainer)).status_code == 201
    assert (await call(site, "POST", f"{project}/share", share, developer)).status_code == 403
    assert (await call(site, "DELETE", f"{project}/share/{team}", person=developer)).status_code == 403
    assert (await call(site, "GET", project, person=developer)).json()["shared_with_groups"] == []
    wrong = await call(site, "POST", f"{project}/share", {"group_id": team, "group_access": 35})
    assert (wrong.status_code, "group_access does not have a valid value" in wrong.text) == (400, True)
    home = (await call(site, "GET", project)).json()["namespace"]["id"]
    own = await call(site, "POST", f"{project}/share", {"group_id": home, "group_access": DEVELOPER})
    assert (own.status_code, "one of its ancestors" in own.text) == (409, True)


async def test_a_star_counts_once_and_is_found_again(site: Site) -> None:
    project, person = f"/projects/{site.world.project_id}", await site.person("ada", REPORTER)
    stranger = await site.person("bob")
    first = await call(site, "POST", f"{project}/star", person=person)
    assert (first.status_code, first.json()["star_count"]) == (201, 1)
    assert (await call(site, "POST", f"{project}/star", person=person)).status_code == 304
    assert (await call(site, "POST", f"{project}/star", person=stranger)).status_code == 404
    for path, who, count in (
        (f"/users/{person.id}/starred_projects", site.root, 1),
        (f"/users/{person.id}/starred_projects", stranger, 0),
        ("/projects?starred=true", person, 1),
        ("/projects?starred=true", site.root, 0),
    ):
        assert len((await call(site, "GET", path, person=who)).json()) == count, (path, who.username)
    (starrer,) = (await call(site, "GET", f"{project}/starrers")).json()
    assert starrer["user"]["username"] == "ada"
    assert (await call(site, "POST", f"{project}/unstar", person=person)).json()["star_count"] == 0
    assert (await call(site, "POST", f"{project}/unstar", person=person)).status_code == 304


@pytest.mark.both_databases
async def test_a_project_that_moves_is_found_by_both_paths_until_another_takes_the_old_one(site: Site) -> None:
    top = await group(site, "top")
    old, new = await group(site, "old", top), await group(site, "new", top)
    made = (await call(site, "POST", "/projects", {"name": "app", "namespace_id": old})).json()
    owner = await member(site, old, "olga", OWNER)
    path = f"/projects/{made['id']}/transfer"
    assert (await call(site, "PUT", path, {"namespace": new}, owner)).status_code == 404
    body = {"user_id": owner.id, "access_level": REPORTER}
    assert (await call(site, "POST", f"/groups/{new}/members", body)).status_code == 201
    assert (await call(site, "PUT", path, {"namespace": "top/new"}, owner)).status_code == 403
    assert (await call(site, "PUT", f"/groups/{new}/members/{owner.id}", {"access_level": DEVELOPER})).is_success
    moved = await call(site, "PUT", path, {"namespace": "top/new"}, owner)
    assert (moved.status_code, moved.json()["path_with_namespace"]) == (200, "top/new/app")
    for name in ("top%2Fold%2Fapp", "top%2Fnew%2Fapp"):
        assert (await call(site, "GET", f"/projects/{name}")).json()["id"] == made["id"]
    again = await call(site, "PUT", path, {"namespace": new})
    assert (again.status_code, "already in this namespace" in again.text) == (400, True)
    other = (await call(site, "POST", "/projects", {"name": "app", "namespace_id": old})).json()
    assert (await call(site, "GET", "/projects/top%2Fold%2Fapp")).json()["id"] == other["id"]
    taken = await call(site, "POST", f"/groups/{new}/projects/{other['id']}")
    assert (taken.status_code, "already been taken" in taken.text) == (400, True)
    elsewhere = await group(site, "elsewhere")
    refused = await call(site, "PUT", path, {"namespace": elsewhere})
    assert (refused.status_code, "another organisation" in refused.text) == (400, True)
    assert (await call(site, "POST", f"/groups/{top}/projects/{made['id']}", person=owner)).status_code == 403
    assert (await call(site, "POST", f"/groups/{top}/projects/{made['id']}")).json()["full_path"] == "top"
    assert (await call(site, "GET", "/projects/top%2Fapp")).json()["id"] == made["id"]
    assert (await call(site, "DELETE", f"/projects/{made['id']}")).status_code == 202
    assert (await call(site, "GET", "/projects/top%2Fnew%2Fapp")).status_code == 404


async def test_a_project_says_what_it_is_written_in_and_what_it_takes(site: Site) -> None:
    project = f"/projects/{site.world.project_id}"
    guest = await site.person("guest", GUEST)
    await site.services.repositories.create(site.world.project_id, "main")
    assert (await call(site, "GET", project)).json()["empty_repo"] is True
    assert (await call(site, "GET", f"{project}/languages")).json() == {}
    await site.commit({"a.py": "x" * 30, "b.ts": "x" * 10, "README.md": "x" * 99})
    await git("pack-refs", "--all", cwd=site.services.repositories.path(site.world.project_id))
    found = (await call(site, "GET", f"{project}?statistics=true")).json()
    assert (found["empty_repo"], found["runners_token"], found["statistics"]["commit_count"]) == (False, None, 1)
    assert found["statistics"]["storage_size"] == found["statistics"]["repository_size"] > 0
    (listed,) = (await call(site, "GET", "/projects?statistics=true")).json()
    assert listed["statistics"] == found["statistics"]
    assert (await call(site, "GET", f"{project}/languages")).json() == {"Python": 75.0, "TypeScript": 25.0}
    assert "statistics" not in (await call(site, "GET", f"{project}?statistics=true", person=guest)).json()
    where = (await call(site, "GET", f"{project}/storage")).json()
    assert where["disk_path"] == f"{site.world.project_id}.git"
    owner = await site.person("owner", OWNER)
    assert (await call(site, "GET", f"{project}/storage", person=owner)).status_code == 403
    own = (await call(site, "POST", "/projects", {"name": "mine"}, owner)).json()
    assert own["owner"]["username"] == "owner"
    assert [each["id"] for each in (await call(site, "GET", f"/users/{owner.id}/projects")).json()] == [own["id"]]
