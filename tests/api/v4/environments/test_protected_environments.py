"""Protected environments over the REST API: who is let in, and every door that keeps the others out."""

from typing import Any

import httpx
import pytest
from sqlalchemy import func, select

from models.columns import table_of
from models.tables.protected_environments import DeployAccessLevel, ProtectedEnvironment
from tests.api.v4.site import Site
from tests.api.v4.told_faults import told_faults

MAINTAINERS = [{"access_level": 40}]
DEPLOY = """
live: {script: x, when: manual, environment: {name: live, on_stop: stop}}
stop: {stage: .post, script: x, when: manual, environment: {name: live, action: stop}}
auto: {script: x, environment: live}
free: {script: x, when: manual}
"""


def address(site: Site, rest: str = "") -> str:
    return f"/api/v4/projects/{site.world.project_id}{rest}"


async def protect(site: Site, name: str = "live", levels: Any = MAINTAINERS) -> dict[str, Any]:
    async with site.client(site.root) as client:
        body = {"name": name, "deploy_access_levels": levels}
        made = await client.post(address(site, "/protected_environments"), json=body)
    assert made.status_code == 201, made.text
    document: dict[str, Any] = made.json()
    return document


async def test_environments_are_protected_changed_and_unprotected(site: Site) -> None:
    developer = await site.person("developer", 30)
    levels = [{"access_level": 40}, {"user_id": developer.id}]
    made = await protect(site, "review/a", levels)
    role, person = made["deploy_access_levels"]
    assert (made["name"], made["required_approval_count"], made["approval_rules"]) == ("review/a", 0, [])
    assert (role["access_level"], role["access_level_description"], role["user_id"]) == (40, "Maintainers", None)
    assert (person["access_level"], person["access_level_description"], person["user_id"]) == (
        None,
        "Developer",
        developer.id,
    )
    way = address(site, "/protected_environments/review%2Fa")
    async with site.client(await site.person("maintainer", 40)) as client:
        assert (await client.get(way)).json() == made
        listed = await client.get(address(site, "/protected_environments"), params={"per_page": 1})
        assert (listed.json(), listed.headers["x-total"]) == ([made], "1")
        again = await client.post(
            address(site, "/protected_environments"), json={"name": "review/a", "deploy_access_levels": MAINTAINERS}
        )
        assert (again.status_code, "already exists" in again.text) == (409, True)
        wish = [{"id": role["id"], "access_level": 30}, {"id": person["id"], "_destroy": True}, {"access_level": 60}]
        changed = await client.put(way, json={"deploy_access_levels": wish})
        assert changed.status_code == 200, changed.text
        now = [(one["id"], one["access_level"]) for one in changed.json()["deploy_access_levels"]]
        assert now[0] == (role["id"], 30)
        assert [level for _, level in now] == [30, 60]
        nobody = [{"id": key, "_destroy": True} for key, _ in now]
        emptied = await client.put(way, json={"deploy_access_levels": nobody})
        assert (emptied.status_code, "there must be 1 to" in emptied.text) == (400, True)
        other = await client.put(way, json={"deploy_access_levels": [{"id": person["id"], "_destroy": True}]})
        assert other.status_code == 404
        assert (await client.get(way)).json() == changed.json()
        assert [(await client.delete(way)).status_code, (await client.get(way)).status_code] == [204, 404]
        events = [event["event_name"] for event in (await client.get(address(site, "/audit_events"))).json()]
    assert events[:3] == ["environment_unprotected", "environment_protection_changed", "environment_protected"]
    async with site.services.database.read() as connection:
        for model in (ProtectedEnvironment, DeployAccessLevel):
            assert (await connection.execute(select(func.count()).select_from(table_of(model)))).scalar_one() == 0


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "deploy_access_levels is missing"),
        ({"deploy_access_levels": []}, "deploy_access_levels is too short"),
        ({"deploy_access_levels": [{}]}, "names one of access_level, user_id and group_id"),
        ({"deploy_access_levels": [{"access_level": 40, "user_id": 1}]}, "names one of"),
        ({"deploy_access_levels": [{"access_level": 20}]}, "access_level is 30"),
        ({"deploy_access_levels": [{"user_id": 2**52}]}, "is nobody who is at least Developer in the project"),
        ({"deploy_access_levels": [{"group_id": 1}]}, "is no group that the project is shared with"),
        ({"deploy_access_levels": MAINTAINERS, "required_approval_count": 1}, "required_approval_count is invalid"),
        ({"deploy_access_levels": MAINTAINERS, "required_approval_count": 1}, "approvals of deployments are not part"),
        ({"deploy_access_levels": MAINTAINERS, "approval_rules": [{"access_level": 40}]}, "approval_rules is invalid"),
    ],
)
async def test_what_cannot_be_is_refused_by_name(site: Site, body: dict[str, Any], said: str) -> None:
    async with site.client(site.root) as client:
        way = address(site, "/protected_environments")
        response = await client.post(way, json={"name": "live", **body})
        assert (response.status_code, said in told_faults(response)) == (400, True), response.text
        assert (await client.get(way)).json() == []


async def test_groups_protect_tiers_and_their_owners_say_who_deploys(site: Site) -> None:
    async with site.client(site.root) as client:
        top = (await client.post("/api/v4/groups", json={"name": "top", "path": "top"})).json()
        inner = (await client.post("/api/v4/groups", json={"name": "i", "path": "i", "parent_id": top["id"]})).json()
        way = f"/api/v4/groups/{top['id']}/protected_environments"
        wrong = await client.post(way, json={"name": "live", "deploy_access_levels": MAINTAINERS})
        assert (wrong.status_code, "one of environment tiers: production, staging" in wrong.text) == (400, True)
        body = {"name": "production", "deploy_access_levels": [{"group_id": inner["id"], "group_inheritance_type": 1}]}
        made = await client.post(way, json=body)
        assert made.status_code == 201, made.text
        (level,) = made.json()["deploy_access_levels"]
        assert (level["group_id"], level["group_inheritance_type"]) == (inner["id"], 1)
        assert level["access_level_description"] == "i"
        assert (await client.get(f"{way}/production")).json() == made.json()
        for level, response in ((40, 403), (50, 200)):
            person = await site.person(f"level{level}")
            given = {"user_id": person.id, "access_level": level}
            assert (await client.post(f"/api/v4/groups/{top['id']}/members", json=given)).status_code == 201
            async with site.client(person) as theirs:
                assert (await theirs.get(way)).status_code == response
        assert (await client.delete(f"/api/v4/groups/{inner['id']}")).status_code == 202
        assert (await client.delete(f"/api/v4/groups/{top['id']}")).status_code == 202


async def begun(site: Site, client: httpx.AsyncClient) -> dict[str, int]:
    """The jobs of a pipeline of `client`, by name."""
    await site.commit({".gitlab-ci.yml": DEPLOY})
    site.connect_temporal()
    await client.delete(address(site, "/protected_branches/main"))
    made = await client.post(address(site, "/pipeline"), json={"ref": "main"})
    assert made.status_code == 201, made.text
    await site.world.settle(made.json()["id"])
    rows = (await client.get(address(site, f"/pipelines/{made.json()['id']}/jobs"))).json()
    return {row["name"]: row["id"] for row in rows}


async def test_every_door_is_shut_for_who_may_not_deploy(site: Site) -> None:
    developer = await site.person("developer", 30)
    async with site.client(site.root) as client:
        jobs = await begun(site, client)
        (environment,) = (await client.get(address(site, "/environments"))).json()
    await protect(site)
    place = address(site, f"/environments/{environment['id']}")
    report = {"environment": "live", "sha": "main", "ref": "main", "tag": False, "status": "success"}
    doors = [
        *(("POST", address(site, f"/jobs/{jobs['live']}/{verb}"), {}) for verb in ("play", "cancel", "retry")),
        ("POST", address(site, f"/jobs/{jobs['auto']}/cancel"), {}),
        ("POST", f"{place}/stop", {}),
        ("POST", f"{place}/stop", {"force": True}),
        ("PUT", place, {"tier": "other"}),
        ("DELETE", place, {}),
        ("POST", address(site, "/deployments"), report),
    ]
    async with site.client(developer) as client:
        for method, way, body in doors:
            response = await client.request(method, way, json=body)
            assert response.status_code == 403, (method, way, response.text)
            assert "environment live is protected" in response.json()["message"], (method, way)
        page = await client.post(
            f"/{await site.path()}/-/jobs/{jobs['live']}/play", headers={"origin": site.services.settings.url}
        )
        assert page.status_code == 403
        shown = (await client.get(f"/{await site.path()}/-/jobs/{jobs['live']}")).text
        assert "You may not run this job" in shown
        assert "/play" not in shown
        assert (await client.post(address(site, f"/jobs/{jobs['free']}/play"))).status_code == 200
    async with site.client(await site.person("maintainer", 40)) as client:
        assert (await client.get(place)).json()["state"] == "available"
        assert (await client.post(address(site, f"/jobs/{jobs['live']}/play"))).status_code == 200
        assert (await client.post(address(site, "/deployments"), json=report)).status_code == 201


async def test_whoever_starts_a_pipeline_is_told_why_its_job_failed(site: Site) -> None:
    await protect(site)
    async with site.client(await site.person("developer", 30)) as client:
        async with site.client(site.root) as root:
            await root.delete(address(site, "/protected_branches/main"))
        jobs = await begun(site, client)
        job = (await client.get(address(site, f"/jobs/{jobs['auto']}"))).json()
        page = (await client.get(f"/{await site.path()}/-/jobs/{jobs['auto']}")).text
        (deployment,) = (await client.get(address(site, "/deployments"))).json()
        again = [await client.post(address(site, f"/jobs/{jobs['auto']}/{verb}")) for verb in ("retry", "erase")]
    assert (job["status"], job["failure_reason"]) == ("failed", "protected_environment_failure")
    assert "Its environment is protected" in job["failure_text"]
    assert "protected environment failure" in page
    assert "Its environment is protected" in page
    assert (deployment["status"], deployment["deployable"]["id"]) == ("failed", job["id"])
    assert [("live is protected" in response.text, response.status_code) for response in again] == [(True, 403)] * 2


async def test_who_leaves_is_let_in_no_more_when_he_comes_back(site: Site) -> None:
    developer = await site.person("developer", 30)
    await protect(site, levels=[{"user_id": developer.id}, {"access_level": 40}])
    async with site.client(site.root) as client:
        ops = (await client.post("/api/v4/groups", json={"name": "ops", "path": "ops"})).json()
        share = {"group_id": ops["id"], "group_access": 30}
        assert (await client.post(address(site, "/share"), json=share)).status_code == 201
        way = address(site, "/protected_environments/live")
        both = await client.put(way, json={"deploy_access_levels": [{"group_id": ops["id"]}]})
        assert len(both.json()["deploy_access_levels"]) == 3, both.text
        assert (await client.delete(address(site, f"/share/{ops['id']}"))).status_code == 204
        assert (await client.delete(address(site, f"/members/{developer.id}"))).status_code == 204
        left = (await client.get(way)).json()["deploy_access_levels"]
        assert [level["access_level"] for level in left] == [40]
        assert (await client.delete(address(site))).status_code == 202
    async with site.services.database.read() as connection:
        for model in (ProtectedEnvironment, DeployAccessLevel):
            assert (await connection.execute(select(func.count()).select_from(table_of(model)))).scalar_one() == 0
