"""Groups within groups, their members, and what membership gives in the projects below."""

from datetime import timedelta
from typing import Any

import pytest

from tests.api.v4.site import Person, Site

DEVELOPER, MAINTAINER, OWNER = 30, 40, 50


async def call(site: Site, method: str, path: str, body: Any = None, person: Person | None = None) -> Any:
    async with site.client(person or site.root) as client:
        return await client.request(method, f"/api/v4{path}", json=body)


async def tree(site: Site) -> tuple[int, int, int]:
    """`top`, `top/team`, and the project `top/team/app`: their ids."""
    top = (await call(site, "POST", "/groups", {"name": "Top", "path": "top"})).json()
    team = (await call(site, "POST", "/groups", {"name": "Team", "path": "team", "parent_id": top["id"]})).json()
    app = (await call(site, "POST", "/projects", {"name": "App", "namespace_id": team["id"]})).json()
    assert app["path_with_namespace"] == "top/team/app"
    assert app["namespace"]["full_path"] == "top/team"
    return top["id"], team["id"], app["id"]


async def test_a_group_within_a_group_is_found_by_its_path_and_from_above(site: Site) -> None:
    top, team, app = await tree(site)
    found = (await call(site, "GET", "/groups/top%2Fteam")).json()
    assert (found["id"], found["parent_id"], found["organization_id"]) == (team, top, top)
    assert found["full_name"] == "top / team"
    assert [item["id"] for item in (await call(site, "GET", f"/groups/{top}/subgroups")).json()] == [team]
    deeper = (await call(site, "POST", "/groups", {"name": "Deep", "path": "deep", "parent_id": team})).json()
    below = (await call(site, "GET", f"/groups/{top}/descendant_groups")).json()
    assert [item["full_path"] for item in below] == ["top/team", "top/team/deep"]
    assert [item["id"] for item in (await call(site, "GET", f"/groups/{top}/subgroups")).json()] == [team]
    for path, projects in (
        (f"/groups/{top}/projects", []),
        (f"/groups/{top}/projects?include_subgroups=true", [app]),
        (f"/groups/{team}/projects", [app]),
        (f"/groups/{deeper['id']}/projects", []),
    ):
        assert [item["id"] for item in (await call(site, "GET", path)).json()] == projects, path


async def test_a_path_is_taken_once_whoever_has_it(site: Site) -> None:
    _, team, _ = await tree(site)
    for body in (
        {"name": "x", "path": "Team", "parent_id": (await call(site, "GET", "/groups/top")).json()["id"]},
        {"name": "x", "path": "app", "parent_id": team},
    ):
        response = await call(site, "POST", "/groups", body)
        assert (response.status_code, "has already been taken" in response.text) == (400, True)
    response = await call(site, "POST", "/projects", {"name": "APP", "path": "APP", "namespace_id": team})
    assert response.status_code == 400


async def test_a_level_in_a_group_counts_in_all_that_is_below(site: Site) -> None:
    top, team, app = await tree(site)
    person = await site.person("ada")
    assert (await call(site, "GET", f"/projects/{app}", person=person)).status_code == 404
    added = await call(site, "POST", f"/groups/{top}/members", {"user_id": person.id, "access_level": DEVELOPER})
    assert added.status_code == 201
    for path in (f"/projects/{app}", f"/groups/{team}", f"/groups/{top}", f"/projects/{app}/pipelines"):
        assert (await call(site, "GET", path, person=person)).status_code == 200, path
    assert (await call(site, "GET", f"/projects/{app}/variables", person=person)).status_code == 403
    assert [item["id"] for item in (await call(site, "GET", "/projects?membership=true", person=person)).json()] == [
        app
    ]
    listed = (await call(site, "GET", f"/projects/{app}/members/all", person=person)).json()
    assert {item["username"]: item["access_level"] for item in listed} == {"root": OWNER, "ada": DEVELOPER}
    assert [item["username"] for item in (await call(site, "GET", f"/projects/{app}/members")).json()] == ["root"]
    # The highest level counts, wherever it is from.
    await call(site, "POST", f"/projects/{app}/members", {"user_id": person.id, "access_level": MAINTAINER})
    assert (await call(site, "GET", f"/projects/{app}/variables", person=person)).status_code == 200
    one = (await call(site, "GET", f"/projects/{app}/members/all/{person.id}")).json()
    assert one["access_level"] == MAINTAINER
    assert (await call(site, "DELETE", f"/groups/{top}/members/{person.id}")).status_code == 204
    assert (await call(site, "GET", f"/groups/{team}/runners", person=person)).status_code == 403


async def test_a_membership_ends_on_its_day(site: Site) -> None:
    top, _, app = await tree(site)
    person, today = await site.person("ada"), site.services.clock().date()
    body = {"user_id": person.id, "access_level": DEVELOPER, "expires_at": (today + timedelta(days=1)).isoformat()}
    made = (await call(site, "POST", f"/groups/{top}/members", body)).json()
    assert made["expires_at"] == body["expires_at"]
    assert (await call(site, "GET", f"/projects/{app}", person=person)).status_code == 200
    change = {"access_level": DEVELOPER, "expires_at": today.isoformat()}
    assert (await call(site, "PUT", f"/groups/{top}/members/{person.id}", change)).status_code == 200
    assert (await call(site, "GET", f"/projects/{app}", person=person)).status_code == 404
    assert (await call(site, "GET", "/projects?membership=true", person=person)).json() == []


@pytest.mark.parametrize("place", ["groups", "projects"])
async def test_whose_membership_is_over_may_leave(site: Site, place: str) -> None:
    top, _, app = await tree(site)
    for path in (f"/groups/{top}", f"/projects/{app}"):
        assert (await call(site, "PUT", path, {"visibility": "public"})).status_code == 200
    person, today = await site.person("ada"), site.services.clock().date()
    members = f"/{place}/{top if place == 'groups' else app}/members"
    assert (await call(site, "POST", members, {"user_id": person.id, "access_level": DEVELOPER})).status_code == 201
    change = {"access_level": DEVELOPER, "expires_at": today.isoformat()}
    assert (await call(site, "PUT", f"{members}/{person.id}", change)).status_code == 200
    assert (await call(site, "DELETE", f"{members}/{person.id}", person=person)).status_code == 204


async def test_a_group_keeps_an_owner(site: Site) -> None:
    top, _, _ = await tree(site)
    root = site.root
    assert (await call(site, "DELETE", f"/groups/{top}/members/{root.id}")).status_code == 403
    assert (await call(site, "PUT", f"/groups/{top}/members/{root.id}", {"access_level": 40})).status_code == 403
    assert (await call(site, "GET", f"/groups/{top}/members/{root.id}")).json()["access_level"] == OWNER


async def test_who_may_create_projects_and_groups_in_a_group(site: Site) -> None:
    top, _, _ = await tree(site)
    for level, project, group in ((20, 403, 403), (30, 201, 403), (40, 201, 403), (50, 201, 201)):
        person = await site.person(f"level{level}")
        await call(site, "POST", f"/groups/{top}/members", {"user_id": person.id, "access_level": level})
        made = await call(site, "POST", "/projects", {"name": f"p{level}", "namespace_id": top}, person)
        within = await call(site, "POST", "/groups", {"name": "g", "path": f"g{level}", "parent_id": top}, person)
        assert (made.status_code, within.status_code) == (project, group), level


async def test_everybody_sees_what_is_internal_and_strangers_what_is_public(site: Site) -> None:
    top, _, app = await tree(site)
    person = await site.person("ada")
    for visibility, known, anonymous in (("internal", 200, 404), ("public", 200, 200), ("private", 404, 404)):
        for path in (f"/projects/{app}", f"/groups/{top}"):
            assert (await call(site, "PUT", path, {"visibility": visibility})).status_code == 200
            async with site.client() as stranger:
                assert (await stranger.get(f"/api/v4{path}")).status_code == anonymous, (path, visibility)
            assert (await call(site, "GET", path, person=person)).status_code == known, (path, visibility)


async def test_a_runner_of_a_group_takes_the_jobs_below_it_only(site: Site) -> None:
    top, team, app = await tree(site)
    other = (await call(site, "POST", "/projects", {"name": "Beside", "namespace_id": top})).json()["id"]
    made = (await call(site, "POST", "/user/runners", {"runner_type": "group_type", "group_id": team})).json()
    for project, status in ((other, 204), (app, 201)):
        site.world.project_id = project
        await site.world.pipeline("one: {script: x}\n")
        assert (await site.world.request(made["token"])).status_code == status
    assert [item["id"] for item in (await call(site, "GET", f"/runners/{made['id']}")).json()["groups"]] == [team]
    for group, ids in ((team, {made["id"]}), (top, set())):
        listed = (await call(site, "GET", f"/groups/{group}/runners?type=group_type")).json()
        assert {item["id"] for item in listed} == ids


async def test_what_was_done_to_a_group_is_on_record(site: Site) -> None:
    top, team, _ = await tree(site)
    person = await site.person("ada")
    await call(site, "POST", f"/groups/{top}/members", {"user_id": person.id, "access_level": DEVELOPER})
    events = (await call(site, "GET", f"/groups/{top}/audit_events")).json()
    assert [item["event_name"] for item in events] == ["member_added", "group_created"]
    details = events[0]["details"]
    assert (details["member"], details["access_level"], details["author_name"]) == ("ada", DEVELOPER, "root")
    assert [item["entity_id"] for item in (await call(site, "GET", f"/groups/{team}/audit_events")).json()] == [team]


async def test_people_and_groups_share_their_names(site: Site) -> None:
    """Else a group would be there where a person's own projects belong, and the other way round."""
    await site.person("ada")
    async with site.client(site.root) as client:
        for path in ("ada", "ADA"):
            response = await client.post("/api/v4/groups", json={"name": "x", "path": path})
            assert (response.status_code, "has already been taken" in response.text) == (400, True)
        assert (await client.post("/api/v4/groups", json={"name": "x", "path": "bea"})).status_code == 201
        for username in ("bea", "Bea", "Ada"):
            new = {"username": username, "name": "x", "email": "x@example.com", "password": "long enough 1"}
            response = await client.post("/api/v4/users", json=new)
            assert (response.status_code, "has already been taken" in response.text) == (409, True)


async def test_everybody_has_a_namespace_before_their_first_project(site: Site) -> None:
    ada, bob = await site.person("ada"), await site.person("bob")
    async with site.client(bob) as client:
        assert (await client.get("/api/v4/namespaces/ada")).status_code == 404
        assert [one["full_path"] for one in (await client.get("/api/v4/namespaces")).json()] == ["bob"]
    async with site.client(ada) as client:
        found = await client.get("/api/v4/namespaces/ada")
        assert (found.status_code, found.json()["kind"], found.json()["full_path"]) == (200, "user", "ada")
        assert (await client.get("/api/v4/user")).json()["namespace_id"] == found.json()["id"]
        made = await client.post("/api/v4/projects", json={"name": "x", "namespace_id": found.json()["id"]})
    assert made.json()["path_with_namespace"] == "ada/x"
    async with site.client() as nobody:
        assert (await nobody.get("/api/v4/namespaces/ada")).status_code in {401, 404}


async def test_groups_say_who_makes_projects_and_groups_in_them(site: Site) -> None:
    developer, maintainer = await site.person("dev"), await site.person("chief")
    async with site.client(site.root) as root:
        group = (
            await root.post("/api/v4/groups", json={"name": "Team", "project_creation_level": "maintainer"})
        ).json()
        assert (group["project_creation_level"], group["subgroup_creation_level"]) == ("maintainer", "owner")
        for person, level in ((developer, 30), (maintainer, 40)):
            member = {"user_id": person.id, "access_level": level}
            await root.post(f"/api/v4/groups/{group['id']}/members", json=member)

        async def made(person: Person, path: str, name: str, key: str = "parent_id") -> int:
            async with site.client(person) as client:
                body = {"name": name, "path": name, key: group["id"]}
                return (await client.post(f"/api/v4/{path}", json=body)).status_code

        async def change(**values: str) -> None:
            assert (await root.put(f"/api/v4/groups/{group['id']}", json=values)).status_code == 200

        assert await made(developer, "projects", "a", "namespace_id") == 403
        for person, offered in ((developer, False), (maintainer, True)):
            async with site.client(person) as client:
                assert ('value="team"' in (await client.get("/projects/new")).text) is offered
        assert await made(maintainer, "projects", "b", "namespace_id") == 201
        assert await made(maintainer, "groups", "c") == 403
        await change(project_creation_level="noone", subgroup_creation_level="maintainer")
        assert await made(maintainer, "groups", "d") == 201
        assert await made(developer, "groups", "e") == 403
        for person in (maintainer, site.root):
            assert await made(person, "projects", "f", "namespace_id") == 403
        await change(project_creation_level="administrator")
        assert await made(maintainer, "projects", "g", "namespace_id") == 403
        assert await made(site.root, "projects", "h", "namespace_id") == 201


async def test_people_make_as_many_groups_and_projects_as_they_may(site: Site) -> None:
    ada = await site.person("ada")
    async with site.client(site.root) as root, site.client(ada) as client:
        assert (await client.post("/api/v4/groups", json={"name": "one"})).status_code == 201
        assert (await client.post("/api/v4/projects", json={"name": "one"})).status_code == 201
        limits = {"can_create_group": False, "projects_limit": 1}
        shown = (await root.put(f"/api/v4/users/{ada.id}", json=limits)).json()
        assert {name: shown[name] for name in limits} == limits
        group = await client.post("/api/v4/groups", json={"name": "two"})
        project = await client.post("/api/v4/projects", json={"name": "two"})
        within = {"name": "in", "namespace_id": (await client.get("/api/v4/groups/one")).json()["id"]}
        fork = await client.post("/api/v4/projects/ada%2Fone/fork", json={"path": "two"})
        assert (await client.post("/api/v4/projects", json=within)).status_code == 201
        moved = await client.put("/api/v4/projects/one%2Fin/transfer", json={"namespace": "ada"})
    assert (group.status_code, project.status_code, fork.status_code) == (403, 403, 403)
    assert moved.status_code in {400, 403}, "another organisation, and no room"
    assert "Your project limit is 1 projects!" in project.json()["message"]
