"""People by REST: found by what one knows of them, what they are members of, and tokens that act as them."""

from datetime import timedelta

import pytest

from tests.api.v4.site import Person, Site

DEVELOPER = 30


async def names(site: Site, query: str, person: Person | None = None) -> list[str]:
    async with site.client(person or site.root) as client:
        response = await client.get(f"/api/v4/users?{query}")
        assert response.status_code == 200, response.text
        return [each["username"] for each in response.json()]


async def test_people_are_found_by_state_kind_and_time(site: Site) -> None:
    ada, bob = await site.person("ada"), await site.person("bob")
    await site.block(bob)
    tomorrow = (site.services.clock() + timedelta(days=1)).strftime("%Y-%m-%d")
    async with site.client(site.root) as client:
        assert (await client.put(f"/api/v4/users/{ada.id}", json={"external": True})).status_code == 200
        path = f"/api/v4/projects/{site.world.project_id}/access_tokens"
        assert (await client.post(path, json={"name": "bot", "scopes": ["api"]})).status_code == 201
    for query, found in (
        ("active=true&humans=true", ["ada", "root"]),
        ("blocked=true", ["bob"]),
        ("exclude_active=true", ["bob"]),
        ("external=true", ["ada"]),
        ("exclude_external=true&humans=true", ["bob", "root"]),
        ("admins=true", ["root"]),
        ("search=ADA@example.com", ["ada"]),
        (f"created_after={tomorrow}", []),
        (f"created_before={tomorrow}T00:00:00Z&humans=true", ["bob", "ada", "root"]),
        ("extern_uid=unknown", []),
    ):
        assert await names(site, query) == found, query
    assert len(await names(site, "exclude_humans=true")) == 1
    assert await names(site, "search=bob@example.com", ada) == []
    assert len(await names(site, "admins=true", ada)) == 4


@pytest.mark.both_databases
async def test_administrators_see_what_somebody_is_a_member_of(site: Site) -> None:
    person = await site.person("ada", DEVELOPER)
    path = f"/api/v4/users/{person.id}/memberships"
    async with site.client(site.root) as client, site.client(person) as other:
        team = (await client.post("/api/v4/groups", json={"name": "Team", "path": "team"})).json()
        body = {"user_id": person.id, "access_level": 20}
        assert (await client.post(f"/api/v4/groups/{team['id']}/members", json=body)).status_code == 201
        found = (await client.get(path)).json()
        assert [(each["source_type"], each["source_id"], each["access_level"]) for each in found] == [
            ("Namespace", team["id"], 20),
            ("Project", site.world.project_id, DEVELOPER),
        ]
        only = (await client.get(f"{path}?type=Namespace")).json()
        assert [each["source_name"] for each in only] == ["Team"]
        assert (await client.get(f"{path}?type=Other")).status_code == 400
        assert (await other.get(path)).status_code == 403
        assert (await client.get("/api/v4/users/999999/memberships")).status_code == 404
        (address,) = (await other.get("/api/v4/user/emails")).json()
        assert address["email"] == "ada@example.com"
        assert (await other.get(f"/api/v4/users/{site.root.id}/emails")).status_code == 403
        assert (await other.get("/api/v4/user/status")).json()["message"] is None
        assert (await other.get(f"/api/v4/users/{site.root.id}/status")).status_code == 200


async def test_an_administrator_acts_as_somebody_who_neither_sees_nor_revokes_it(site: Site) -> None:
    ada, bob = await site.person("ada", DEVELOPER), await site.person("bob")
    path = f"/api/v4/users/{ada.id}/impersonation_tokens"
    wish = {"name": "look", "scopes": ["read_api"]}
    async with site.client(site.root) as root, site.client(ada) as own, site.client(bob) as other:
        for client in (own, other):
            assert (await client.post(path, json=wish)).status_code == 403
            assert (await client.get(path)).status_code == 403
        made = (await root.post(path, json=wish)).json()
        assert (made["impersonation"], made["user_id"], made["active"]) == (True, ada.id, True)
        assert [each["id"] for each in (await root.get(f"{path}?state=active")).json()] == [made["id"]]
        assert (await root.get(f"{path}/{made['id']}")).json()["name"] == "look"
        assert (await root.get(f"/api/v4/users/{bob.id}/impersonation_tokens/{made['id']}")).status_code == 404
        assert made["id"] not in [each["id"] for each in (await own.get("/api/v4/personal_access_tokens")).json()]
        assert (await own.get(f"/api/v4/personal_access_tokens/{made['id']}")).status_code == 404
        assert (await own.delete(f"/api/v4/personal_access_tokens/{made['id']}")).status_code == 404
        acting = Person(ada.id, "ada", made["token"])
        async with site.client(acting) as actor:
            assert (await actor.get("/api/v4/user")).json()["username"] == "ada"
            assert (await actor.post("/api/v4/projects", json={"name": "x"})).status_code == 403
            assert (await actor.get(path)).status_code == 403
        assert (await root.delete(f"{path}/{made['id']}")).status_code == 204
        assert (await root.get(f"{path}?state=active")).json() == []
        async with site.client(acting) as actor:
            assert (await actor.get("/api/v4/user")).status_code == 401
