"""Who may do what with which runner: one table, and the same for what lists show."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

import pytest

from tests.api.v4.site import Person, Site

REPORTER, MAINTAINER, OWNER = 20, 40, 50
PEOPLE = ("anonymous", "stranger", "foreigner", "reporter", "maintainer", "owner", "admin")
"""A foreigner maintains a project of another organisation; `maintainer` and `owner` have that level in the first of
the two projects that the project runner works for."""
CALLS = ("read", "change", "delete", "link")
EXPECTED = {
    "instance": {
        "read": "401 200 200 200 200 200 200",
        "change": "401 403 403 403 403 403 200",
        "delete": "401 403 403 403 403 403 204",
        "link": "404 404 404 403 403 403 403",
    },
    "group": {
        "read": "401 404 404 404 200 200 200",
        "change": "401 404 404 404 403 403 200",
        "delete": "401 404 404 404 403 403 204",
        "link": "404 404 404 403 403 403 403",
    },
    "project": {
        "read": "401 404 404 404 200 200 200",
        "change": "401 404 404 404 200 200 200",
        "delete": "401 404 404 404 204 204 204",
        "link": "404 404 404 403 201 201 201",
    },
    "shared": {
        "read": "401 404 404 404 200 200 200",
        "change": "401 404 404 404 403 403 200",
        "delete": "401 404 404 404 403 403 204",
        "link": "404 404 404 403 403 403 201",
    },
}
"""Answers to `PEOPLE`, in their order. `project` is linked to the first project only, `shared` to another one, too."""


@dataclass
class Place:
    """Two projects of an organisation, a third one to link to, and people."""

    site: Site
    first: int
    second: int
    third: int
    organisation: int
    people: Mapping[str, Person | None]

    async def runner(self, kind: str) -> int:
        """A new runner of a kind."""
        wishes = {
            "instance": {"runner_type": "instance_type"},
            "group": {"runner_type": "group_type", "group_id": self.organisation},
            "project": {"runner_type": "project_type", "project_id": self.first},
            "shared": {"runner_type": "project_type", "project_id": self.first},
        }
        async with self.site.client(self.site.root) as root:
            made = await root.post("/api/v4/user/runners", json=wishes[kind])
            assert made.status_code == 201, made.text
            key: int = made.json()["id"]
            if kind == "shared":
                body = {"runner_id": key}
                linked = await root.post(f"/api/v4/projects/{self.second}/runners", json=body)
                assert linked.status_code == 201, linked.text
        return key

    async def call(self, who: str, what: str, key: int) -> int:
        """The status of a call about a runner."""
        path = f"/api/v4/runners/{key}"
        asked = {
            "read": ("GET", path, None),
            "change": ("PUT", path, {"description": "changed"}),
            "delete": ("DELETE", path, None),
            "link": ("POST", f"/api/v4/projects/{self.third}/runners", {"runner_id": key}),
        }
        method, address, body = asked[what]
        async with self.site.client(self.people[who]) as client:
            return (await client.request(method, address, json=body)).status_code


@pytest.fixture
async def place(site: Site) -> Place:
    """The place of the table."""
    async with site.client(site.root) as root:

        async def project(name: str, owner: int) -> int:
            made = await root.post("/api/v4/projects", json={"name": name, "namespace_id": owner})
            assert made.status_code == 201, made.text
            key: int = made.json()["id"]
            return key

        owner = (await root.get(f"/api/v4/projects/{site.world.project_id}")).json()["namespace"]["id"]
        second, third = await project("second", owner), await project("third", owner)
        other = (await root.post("/api/v4/groups", json={"name": "Other", "path": "other"})).json()["id"]
        foreign = await project("foreign", other)
        foreigner = await site.person("foreigner")
        people = {"anonymous": None, "stranger": await site.person("stranger"), "admin": site.root}
        people["foreigner"] = foreigner
        body = {"user_id": foreigner.id, "access_level": OWNER}
        assert (await root.post(f"/api/v4/projects/{foreign}/members", json=body)).status_code == 201
        for name, level in (("reporter", REPORTER), ("maintainer", MAINTAINER), ("owner", OWNER)):
            person = people[name] = await site.person(name, level)
            body = {"user_id": person.id, "access_level": level}
            assert (await root.post(f"/api/v4/projects/{third}/members", json=body)).status_code == 201
    return Place(site, site.world.project_id, second, third, owner, people)


async def test_each_person_may_do_with_each_runner_what_the_table_says(place: Place) -> None:
    seen: dict[str, dict[str, list[str]]] = {kind: {what: [] for what in CALLS} for kind in EXPECTED}
    for kind, what, who in product(EXPECTED, CALLS, PEOPLE):
        key = await place.runner(kind)
        before = await place.call("admin", "read", key)
        seen[kind][what].append(str(await place.call(who, what, key)))
        kept = await place.call("admin", "read", key) == before
        assert kept == (seen[kind][what][-1] != "204"), (kind, what, who)
    assert {kind: {what: " ".join(found) for what, found in calls.items()} for kind, calls in seen.items()} == EXPECTED


async def test_lists_show_what_the_table_lets_people_read(place: Place) -> None:
    keys = {kind: await place.runner(kind) for kind in EXPECTED}
    mine = {kind: key for kind, key in keys.items() if kind != "instance"}
    for who in ("stranger", "foreigner", "reporter", "maintainer", "owner"):
        async with place.site.client(place.people[who]) as client:
            listed = {item["id"] for item in (await client.get("/api/v4/runners")).json()}
            assert (await client.get("/api/v4/runners/all")).status_code == 403
            group = await client.get(f"/api/v4/groups/{place.organisation}/runners")
        readable = {key for kind, key in mine.items() if await place.call(who, "read", key) == 200}
        assert listed == readable, who
        assert group.status_code == {"reporter": 403, "maintainer": 403, "owner": 403}.get(who, 404)
        if group.status_code == 200:
            found = {item["id"] for item in group.json()}
            assert found == {keys["instance"], keys["group"], place.site.world.runner_id}


async def test_only_who_administers_a_scope_resets_its_registration_token(place: Place) -> None:
    calls = {
        f"/api/v4/projects/{place.first}/runners": "404 404 404 403 201 201 201",
        f"/api/v4/groups/{place.organisation}/runners": "404 404 404 403 403 403 201",
        "/api/v4/runners": "401 403 403 403 403 403 201",
    }
    for path, expected in calls.items():
        found = []
        for who in PEOPLE:
            async with place.site.client(place.people[who]) as client:
                response = await client.post(f"{path}/reset_registration_token")
                found.append(str(response.status_code))
                if response.status_code == 201:
                    made = await client.post("/api/v4/runners", json={"token": response.json()["token"]})
                    assert made.status_code == 201
        assert " ".join(found) == expected, path
