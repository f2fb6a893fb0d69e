"""Environments and deployments over the REST API, from the configuration to what a page would show."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import ColumnDefault

from models.columns import table_of
from models.repositories.environments import environments
from models.repositories.paging import every_of
from models.tables.environments import Environment
from tests.api.v4.site import Person, Site, serving
from tests.git.serving import git

REVIEW = """
deploy:
  script: x
  variables: {HOST: "$CI_COMMIT_REF_SLUG.example.com"}
  environment:
    name: review/$CI_COMMIT_REF_NAME
    url: https://$HOST/$WHERE/$CI_JOB_ID
    on_stop: stop
    auto_stop_in: 2 days
stop:
  stage: .post
  script: x
  when: manual
  environment: {name: review/$CI_COMMIT_REF_NAME, action: stop}
"""


KUBERNETES = ("kubernetes_agent", "kubernetes_namespace", "flux_resource_path")


def address(site: Site, rest: str = "") -> str:
    return f"/api/v4/projects/{site.world.project_id}{rest}"


async def deployed(site: Site, client: httpx.AsyncClient) -> tuple[int, dict[str, Any]]:
    """A pipeline started by the API whose job has deployed: its id, and the job as its runner got it."""
    await site.commit({".gitlab-ci.yml": REVIEW})
    body = {"ref": "main", "variables": [{"key": "WHERE", "value": "here"}]}
    made = await client.post(address(site, "/pipeline"), json=body)
    assert made.status_code == 201, made.text
    pipeline_id = made.json()["id"]
    await site.world.settle(pipeline_id)
    job = await site.world.job()
    assert (await site.world.put(job, "success")).status_code == 200
    await site.world.settle(pipeline_id)
    return pipeline_id, job


async def test_a_deployment_is_seen_with_all_that_belongs_to_it(site: Site) -> None:
    async with site.client(site.root) as client:
        pipeline_id, job = await deployed(site, client)
        (listed,) = (await client.get(address(site, "/environments"))).json()
        one = (await client.get(address(site, f"/environments/{listed['id']}"))).json()
        (first,) = (await client.get(address(site, "/deployments"))).json()
        same = (await client.get(address(site, f"/deployments/{first['id']}"))).json()
    known = {variable["key"]: variable["value"] for variable in job["variables"]}
    url = f"https://main.example.com/here/{job['id']}"
    assert (known["CI_ENVIRONMENT_NAME"], known["CI_ENVIRONMENT_URL"]) == ("review/main", url)
    assert (listed["name"], listed["slug"]) == ("review/main", known["CI_ENVIRONMENT_SLUG"])
    assert (listed["state"], listed["tier"], listed["external_url"]) == ("available", "development", url)
    stays = datetime.fromisoformat(listed["auto_stop_at"]) - datetime.now(UTC)
    assert timedelta(days=1, hours=23) < stays <= timedelta(days=2)
    assert {**listed, "last_deployment": first} == one
    assert first == same
    assert (first["iid"], first["status"], first["ref"]) == (1, "success", "main")
    assert (first["environment"], first["user"]["username"]) == (listed, "root")
    deployable = first["deployable"]
    assert (deployable["id"], deployable["name"], deployable["pipeline"]["id"]) == (job["id"], "deploy", pipeline_id)


async def test_the_cluster_of_an_environment_is_told(site: Site) -> None:
    cluster = "{agent: 'group/agents:main', dashboard: {namespace: $CI_COMMIT_REF_SLUG-web, flux_resource_path: a/b}}"
    older = "{agent: 'group/agents:main', namespace: old, flux_resource_path: c/d}"
    config = (
        f"new: {{script: x, environment: {{name: live, kubernetes: {cluster}}}}}\n"
        f"old: {{script: x, environment: {{name: test, kubernetes: {older}}}}}\n"
        "none: {script: x, environment: {name: bare}}\n"
    )
    await site.commit({".gitlab-ci.yml": config})
    async with site.client(site.root) as client:
        made = await client.post(address(site, "/pipeline"), json={"ref": "main"})
        assert made.status_code == 201, made.text
        await site.world.settle(made.json()["id"])
        for _ in range(3):
            assert (await site.world.put(await site.world.job(), "success")).status_code == 200
        rows = (await client.get(address(site, "/environments"))).json()
    told = {row["name"]: tuple(row[name] for name in KUBERNETES) for row in rows}
    assert told == {
        "live": ("group/agents:main", "main-web", "a/b"),
        "test": ("group/agents:main", "old", "c/d"),
        "bare": (None, None, None),
    }


async def test_a_stop_asks_for_the_stop_job_and_force_does_not(site: Site) -> None:
    async with site.client(site.root) as client:
        await deployed(site, client)
        (listed,) = (await client.get(address(site, "/environments"))).json()
        way = address(site, f"/environments/{listed['id']}")
        refused = await client.delete(way)
        stopping = await client.post(f"{way}/stop")
        again = await client.post(f"{way}/stop")
        forced = await client.post(f"{way}/stop", json={"force": True})
        gone = await client.delete(way)
        after = await client.get(way)
        deployments = (await client.get(address(site, "/deployments"))).json()
    assert refused.status_code == 403
    assert "stop it, then delete it" in refused.json()["message"]
    assert (stopping.status_code, stopping.json()["state"], stopping.json()["auto_stop_at"]) == (200, "stopping", None)
    assert (again.status_code, again.json()["state"]) == (200, "stopping")
    assert (forced.status_code, forced.json()["state"]) == (200, "stopped")
    assert (gone.status_code, after.status_code, deployments) == (204, 404, [])


async def test_environments_are_made_changed_and_found(site: Site) -> None:
    async with site.client(site.root) as client:
        made = await client.post(
            address(site, "/environments"), json={"name": "live", "external_url": "https://x.example"}
        )
        assert made.status_code == 201, made.text
        twice = await client.post(address(site, "/environments"), json={"name": "live"})
        way = address(site, f"/environments/{made.json()['id']}")
        changed = await client.put(way, json={"external_url": "https://y.example/%20a", "tier": "other"})
        untouched = await client.put(way, json={})
        await client.post(address(site, "/environments"), json={"name": "review/a", "tier": "testing"})

        async def names(**query: str) -> list[str]:
            response = await client.get(address(site, "/environments"), params=query)
            assert response.status_code == 200, response.text
            return [item["name"] for item in response.json()]

        assert await names() == ["live", "review/a"]
        assert await names(name="live") == await names(search="LIV") == ["live"]
        assert await names(states="available", per_page="1", page="2") == ["review/a"]
        assert await names(states="stopped") == []
    assert (made.json()["tier"], made.json()["slug"], made.json()["state"]) == ("production", "live", "available")
    assert (twice.status_code, "already been taken" in str(twice.json())) == (400, True)
    assert (changed.json()["external_url"], changed.json()["tier"]) == ("https://y.example/%20a", "other")
    assert untouched.json()["external_url"] == "https://y.example/%20a"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/environments", {}),
        ("POST", "/environments", {"name": "a#b"}),
        ("POST", "/environments", {"name": "n" * 256}),
        ("POST", "/environments", {"name": "x", "external_url": "javascript:alert(1)"}),
        ("POST", "/environments", {"name": "x", "tier": "best"}),
        ("GET", "/environments?name=a&search=abc", None),
        ("GET", "/environments?search=ab", None),
        ("GET", "/environments?states=gone", None),
        ("GET", "/deployments?status=gone", None),
        ("GET", "/deployments?order_by=name", None),
        ("GET", "/deployments?updated_after=2026-01-01T00:00:00", None),
    ],
)
async def test_bad_input_is_explained_and_changes_nothing(
    site: Site, method: str, path: str, body: dict[str, str] | None
) -> None:
    async with site.client(site.root) as client:
        response = await client.request(method, address(site, path), json=body)
        assert response.status_code in {400, 422}, response.text
        assert (await client.get(address(site, "/environments"))).json() == []


async def test_who_may_do_what(site: Site) -> None:
    async with site.client(site.root) as client:
        key = (await client.post(address(site, "/environments"), json={"name": "live"})).json()["id"]
    calls = [
        ("GET", "/environments", None, 20),
        ("GET", f"/environments/{key}", None, 20),
        ("GET", "/deployments", None, 20),
        ("POST", "/environments", {"name": "more"}, 30),
        ("PUT", f"/environments/{key}", {"tier": "other"}, 30),
        ("POST", f"/environments/{key}/stop", {}, 30),
        ("PUT", "", {"ci_forward_deployment_enabled": True}, 40),
        ("DELETE", f"/environments/{key}", None, 30),
    ]
    people = {level: await site.person(f"level{level}", level) for level in (10, 20, 30, 40)}
    for method, path, body, needed in calls:
        for level, person in people.items():
            async with site.client(person) as client:
                response = await client.request(method, address(site, path), json=body)
            if level < needed:
                assert response.status_code == 403, (method, path, level)
            else:
                assert response.status_code not in {401, 403}, (method, path, level, response.text)


async def test_another_projects_environment_is_not_found(site: Site) -> None:
    async with site.client(site.root) as client:
        key = (await client.post(address(site, "/environments"), json={"name": "live"})).json()["id"]
        other = (await client.post("/api/v4/projects", json={"name": "other"})).json()["id"]
        for method, rest in (("GET", ""), ("PUT", ""), ("POST", "/stop"), ("DELETE", "")):
            response = await client.request(method, f"/api/v4/projects/{other}/environments/{key}{rest}")
            assert response.status_code == 404
        assert (await client.get(address(site, f"/environments/{key}"))).json()["state"] == "available"


async def test_maintainers_read_and_set_what_becomes_of_older_pipelines(site: Site) -> None:
    maintainer: Person = await site.person("maintainer", 40)
    async with site.client(maintainer) as client:
        before = (await client.get(address(site))).json()
        body = {"ci_forward_deployment_enabled": False, "auto_cancel_pending_pipelines": "disabled"}
        changed = await client.put(address(site), json=body)
        after = (await client.get(address(site))).json()
        wrong = await client.put(address(site), json={"auto_cancel_pending_pipelines": "perhaps"})
    keys = ("ci_forward_deployment_enabled", "auto_cancel_pending_pipelines")
    assert [before[key] for key in keys] == [True, "enabled"]
    assert changed.status_code == 200
    assert [changed.json()[key] for key in keys] == [after[key] for key in keys] == [False, "disabled"]
    assert wrong.status_code == 400
    async with site.client(await site.person("reporter", 20)) as client:
        assert not set(keys) & (await client.get(address(site))).json().keys()


async def test_a_deleted_branch_stops_its_environment(site: Site) -> None:
    async with serving(site), site.client(site.root) as client:
        await deployed(site, client)
        tree = site.folder / "tree"
        host = site.services.settings.url.removeprefix("http://")
        remote = f"http://root:{site.root.token}@{host}/{await site.path()}.git"
        await git("push", "-q", remote, "main:refs/heads/other", cwd=tree)
        await git("push", "-q", remote, ":refs/heads/other", cwd=tree)
        assert (await the_environment(site)).state == "available"
        await git("push", "-q", remote, "main:refs/heads/next", cwd=tree)
        changed = await client.put(f"/api/v4/projects/{site.world.project_id}", json={"default_branch": "next"})
        assert changed.status_code == 200, changed.text
        unprotected = await client.delete(f"/api/v4/projects/{site.world.project_id}/protected_branches/main")
        assert unprotected.status_code in {204, 404}, unprotected.text
        await git("push", "-q", remote, ":refs/heads/main", cwd=tree)
        assert (await the_environment(site)).state == "stopping"


async def the_environment(site: Site) -> Any:
    """The one with a deployment."""
    async with site.services.database.read() as connection:
        statement = environments.of_project(site.world.project_id, name="review/main")
        (row,) = await every_of(connection, statement)
        return row


def test_the_state_table_names_the_states_of_the_model() -> None:
    default = table_of(Environment).c.state.default
    assert isinstance(default, ColumnDefault)
    assert default.arg in environments.TRANSITIONS
    assert {to for following in environments.TRANSITIONS.values() for to in following} == set(environments.TRANSITIONS)
