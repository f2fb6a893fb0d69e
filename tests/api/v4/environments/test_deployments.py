"""Deployments that no job made, over the REST API: reported, changed, removed, and told to webhooks."""

from typing import Any

import httpx
import pytest

from application.hooks.hook_tests import sample
from domain.hooks.webhooks import Event
from models.repositories.projects import projects
from tests.api.v4.site import Site
from tests.api.v4.told_faults import told_faults

JOB = "deploy: {script: x, environment: live}\n"


def address(site: Site, rest: str = "") -> str:
    return f"/api/v4/projects/{site.world.project_id}{rest}"


async def reported(site: Site, client: httpx.AsyncClient, status: str = "success", **more: Any) -> httpx.Response:
    """A call that reports a deployment of the only commit."""
    body = {"environment": "production", "sha": "main", "ref": "main", "tag": False, "status": status, **more}
    return await client.post(address(site, "/deployments"), json=body)


async def test_a_reported_deployment_is_seen_as_those_of_jobs_are(site: Site) -> None:
    sha = await site.commit({"a": "a"})
    developer = await site.person("developer", 30)
    async with site.client(developer) as client:
        made = await reported(site, client, "running")
        assert made.status_code == 201, made.text
        one = made.json()
        assert (one["iid"], one["sha"], one["ref"], one["status"], one["deployable"]) == (
            1,
            sha,
            "main",
            "running",
            None,
        )
        assert (one["environment"]["name"], one["environment"]["tier"]) == ("production", "production")
        assert one["user"]["username"] == "developer"
        place = address(site, f"/environments/{one['environment']['id']}")
        assert (await client.get(place)).json()["last_deployment"] is None
        way = address(site, f"/deployments/{one['id']}")
        done = await client.put(way, json={"status": "success"})
        assert (done.status_code, done.json()["status"]) == (200, "success")
        assert (await client.get(way)).json() == (await client.get(place)).json()["last_deployment"] == done.json()
        assert (await client.get(address(site, "/deployments?status=success"))).json() == [done.json()]
        again = await reported(site, client)
        assert (again.status_code, again.json()) == (201, done.json())
        back = await client.put(way, json={"status": "running"})
        assert (back.status_code, back.json()) == (400, {"message": {"status": ['cannot transition via "run"']}})
        assert (await client.post(f"{place}/stop")).json()["state"] == "stopped"
    async with site.client(site.root) as client:
        events = [event["event_name"] for event in (await client.get(address(site, "/audit_events"))).json()]
    assert events.count("deployment_created") == 2
    assert events.count("deployment_changed") == 1


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"sha": "0" * 40}, "The commit does not exist"),
        ({"ref": "gone"}, "The branch or tag does not exist"),
        ({"ref": "a b~^:"}, "The branch or tag does not exist"),
        ({"environment": "a#b"}, "environment is invalid"),
        ({"environment": "n" * 256}, "environment is too long"),
        ({"status": "created"}, "status does not have a valid value"),
        ({"tag": "perhaps"}, "tag is invalid"),
        ({"sha": ""}, "sha is too short"),
    ],
)
async def test_bad_reports_are_explained_and_make_no_environment(site: Site, body: dict[str, Any], said: str) -> None:
    await site.commit({"a": "a"})
    async with site.client(site.root) as client:
        response = await reported(site, client, **body)
        assert (response.status_code, said in told_faults(response)) == (400, True), response.text
        assert (await client.get(address(site, "/environments"))).json() == []


async def test_those_of_jobs_are_neither_changed_nor_removed_by_hand(site: Site) -> None:
    await site.commit({".gitlab-ci.yml": JOB})
    async with site.client(site.root) as client:
        pipeline = await client.post(address(site, "/pipeline"), json={"ref": "main"})
        await site.world.settle(pipeline.json()["id"])
        (listed,) = (await client.get(address(site, "/deployments"))).json()
        way = address(site, f"/deployments/{listed['id']}")
        changed = await client.put(way, json={"status": "failed"})
        removed = await client.delete(way)
        assert (await client.get(way)).json()["status"] == listed["status"] == "created"
    words = "403 Forbidden - Deployments created using GitLab CI can not be {} using the API"
    assert (changed.status_code, changed.json()["message"]) == (403, words.format("updated"))
    assert (removed.status_code, removed.json()["message"]) == (403, words.format("deleted"))


async def test_maintainers_remove_what_neither_runs_nor_is_current(site: Site) -> None:
    await site.commit({"a": "a"})
    people = {level: await site.person(f"level{level}", level) for level in (20, 30, 40)}
    async with site.client(people[20]) as client:
        assert (await reported(site, client)).status_code == 403
    async with site.client(people[30]) as client:
        failed, current, running = [
            (await reported(site, client, status)).json()["id"] for status in ("failed", "success", "running")
        ]
        assert (await client.delete(address(site, f"/deployments/{failed}"))).status_code == 403
    async with site.client(people[40]) as client:
        responses = [await client.delete(address(site, f"/deployments/{key}")) for key in (failed, current, running)]
        assert [item["id"] for item in (await client.get(address(site, "/deployments"))).json()] == [current, running]
    assert [response.status_code for response in responses] == [204, 400, 400]
    assert "Deployment currently deployed to environment" in responses[1].text
    assert "Cannot destroy running deployment" in responses[2].text


async def test_a_hook_is_tried_out_with_the_newest_deployment_of_either_kind(site: Site) -> None:
    sha = await site.commit({"a": "a"})
    async with site.client(site.root) as client:
        hook = await client.post(address(site, "/hooks"), json={"url": "http://h.example/", "deployment_events": True})
        test = address(site, f"/hooks/{hook.json()['id']}/test/deployment_events")
        assert "Ensure the project has deployments" in (await client.post(test)).text
        await reported(site, client)

    async with site.services.database.read() as connection:
        project = await projects.find(connection, site.world.project_id)
        assert project is not None
    found = await sample(site.services, project, site.root.id, Event.DEPLOYMENT)
    assert (found.job_id, found.facts["sha"], found.facts["environment"]) == (None, sha, "production")
    assert found.facts["commit_title"]
