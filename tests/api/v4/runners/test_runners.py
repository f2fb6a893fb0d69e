"""Runners as administrators see them."""

import asyncio
from typing import Any

from sqlalchemy import select

from models.repositories.runners.runners import runner
from tests.api.runner.world import RUNNER_TOKEN
from tests.api.v4.site import Site
from tests.waiting import HANGS, eventually

MAINTAINER = 40


async def test_a_created_runner_takes_jobs_with_its_token(site: Site) -> None:
    await site.world.pipeline()
    async with site.client(site.root) as client:
        body = {"runner_type": "instance_type", "description": "mine", "tag_list": "linux, x64,,linux"}
        made = await client.post("/api/v4/user/runners", json=body)
        assert made.status_code == 201, made.text
        document = made.json()
        got = await site.world.request(document["token"])
        shown = (await client.get(f"/api/v4/runners/{document['id']}")).json()
    assert document["token"].startswith("glrt-")
    assert document["token_expires_at"] is None
    assert got.status_code == 201
    assert shown["tag_list"] == ["linux", "x64"]
    assert (shown["online"], shown["status"], shown["run_untagged"]) == (True, "online", True)
    assert "token" not in shown
    async with site.services.database.read() as connection:
        stored = (await connection.execute(select(runner.c.token_hash))).scalars().all()
    assert document["token"] not in stored


async def test_a_project_runner_belongs_to_the_maintainers_of_its_project(site: Site) -> None:
    maintainer, developer = await site.person("maint", MAINTAINER), await site.person("dev", 30)
    body = {"runner_type": "project_type", "project_id": site.world.project_id}
    async with site.client(developer) as client:
        assert (await client.post("/api/v4/user/runners", json=body)).status_code == 403
        assert (await client.get("/api/v4/runners/all")).status_code == 403
    async with site.client(maintainer) as client:
        instance = await client.post("/api/v4/user/runners", json={"runner_type": "instance_type"})
        group = await client.post("/api/v4/user/runners", json={"runner_type": "group_type"})
        lost = await client.post("/api/v4/user/runners", json={"runner_type": "project_type"})
        made = await client.post("/api/v4/user/runners", json=body)
        listed = (await client.get("/api/v4/runners")).json()
        unchanged = await client.put(f"/api/v4/runners/{site.world.runner_id}", json={"paused": True})
    assert (instance.status_code, group.status_code, lost.status_code) == (403, 400, 400)
    assert [item["id"] for item in listed] == [made.json()["id"]]
    assert unchanged.status_code == 403
    async with site.client(site.root) as root:
        everyone = (await root.get("/api/v4/runners/all")).json()
        project_runners = (await root.get("/api/v4/runners/all", params={"type": "project_type"})).json()
    assert {item["id"] for item in everyone} == {made.json()["id"], site.world.runner_id}
    assert [item["id"] for item in project_runners] == [made.json()["id"]]


async def test_a_runner_is_changed_and_removed(site: Site) -> None:
    path = f"/api/v4/runners/{site.world.runner_id}"
    async with site.client(site.root) as client:
        changed = await client.put(
            path, json={"paused": True, "tag_list": ["a"], "run_untagged": False, "maximum_timeout": 600}
        )
        useless = await client.put(path, json={"tag_list": []})
        short = await client.put(path, json={"maximum_timeout": 5})
        resumed = await client.put(path, json={"active": True, "maximum_timeout": None})
        gone = await client.delete(path)
        after = await client.get(path)
    assert changed.json()["paused"] is True
    assert (changed.json()["tag_list"], changed.json()["maximum_timeout"]) == (["a"], 600)
    assert (useless.status_code, short.status_code) == (400, 400)
    assert (resumed.json()["paused"], resumed.json()["maximum_timeout"]) == (False, None)
    assert resumed.json()["run_untagged"] is False
    assert (gone.status_code, gone.content) == (204, b"")
    assert after.status_code == 404


async def add(site: Site, **body: Any) -> tuple[int, str]:
    """A runner that root adds: its id and its token."""
    async with site.client(site.root) as client:
        made = await client.post("/api/v4/user/runners", json=body)
    assert made.status_code == 201, made.text
    return made.json()["id"], made.json()["token"]


async def test_a_group_runner_takes_jobs_of_its_organisation_unless_the_project_says_no(site: Site) -> None:
    async with site.client(site.root) as client:
        project = (await client.get(f"/api/v4/projects/{site.world.project_id}")).json()
        key, token = await add(site, runner_type="group_type", group_id=project["namespace"]["id"])
        foreign = (await client.post("/api/v4/groups", json={"name": "Other", "path": "other"})).json()
        _, foreign_token = await add(site, runner_type="group_type", group_id=foreign["id"])
        nowhere = await client.post("/api/v4/user/runners", json={"runner_type": "group_type", "group_id": 9999})
        lost = await client.post("/api/v4/user/runners", json={"runner_type": "group_type"})
        shown = (await client.get(f"/api/v4/runners/{key}")).json()
        changed = await client.put(f"/api/v4/projects/{project['id']}", json={"group_runners_enabled": False})
        await site.world.pipeline("one: {script: x}\n")
        refused = await site.world.request(token)
        await client.put(f"/api/v4/projects/{project['id']}", json={"group_runners_enabled": "true"})
    assert (nowhere.status_code, lost.status_code) == (404, 400)
    assert (shown["runner_type"], [item["id"] for item in shown["groups"]]) == (
        "group_type",
        [project["namespace"]["id"]],
    )
    assert changed.json()["group_runners_enabled"] is False
    assert refused.status_code == 204
    assert (await site.world.request(foreign_token)).status_code == 204
    assert (await site.world.request(token)).status_code == 201


async def test_instance_runners_leave_a_project_alone_that_does_not_want_them(site: Site) -> None:
    await site.world.pipeline("one: {script: x}\n")
    path = f"/api/v4/projects/{site.world.project_id}"
    async with site.client(await site.person("maint", MAINTAINER)) as client:
        assert (await client.put(path, json={"shared_runners_enabled": False})).status_code == 200
        listed = (await client.get(f"{path}/runners")).json()
        assert (await site.world.request()).status_code == 204
        assert (await client.put(path, json={"shared_runners_enabled": True})).json()["shared_runners_enabled"]
        again = (await client.get(f"{path}/runners")).json()
    assert (listed, [item["id"] for item in again]) == ([], [site.world.runner_id])
    assert (await site.world.request()).status_code == 201


async def test_a_waiting_runner_gets_the_job_that_a_change_lets_it_take(site: Site) -> None:
    await site.world.pipeline("one: {script: x, tags: [rare]}\n")
    value = (await site.world.request()).headers["X-GitLab-Last-Update"]
    async with site.client(site.root) as client:
        poll = asyncio.create_task(site.world.request(last_update=value))
        await eventually(lambda: site.polls(1), "the runner waits")
        await client.put(f"/api/v4/runners/{site.world.runner_id}", json={"tag_list": ["rare"]})
        response = await asyncio.wait_for(poll, HANGS)
    assert response.status_code == 201


async def test_a_new_token_by_a_person_ends_the_old_one_at_once(site: Site) -> None:
    path = f"/api/v4/runners/{site.world.runner_id}/reset_authentication_token"
    async with site.client(await site.person("maint", MAINTAINER)) as client:
        assert (await client.post(path)).status_code == 403
    async with site.client(site.root) as client:
        response = await client.post(path, content=b"null", headers={"Content-Type": "application/json"})
        old = await client.post("/api/v4/runners/verify", json={"token": RUNNER_TOKEN})
        new = await client.post("/api/v4/runners/verify", json={"token": response.json()["token"]})
    assert response.status_code == 201
    assert set(response.json()) == {"token", "token_expires_at"}
    assert (old.status_code, new.status_code) == (403, 200)


async def test_processes_of_a_runner_show_what_they_said_of_themselves(site: Site) -> None:
    facts = {"version": "18.1.0", "revision": "abc", "platform": "linux", "architecture": "arm64"}
    path = f"/api/v4/runners/{site.world.runner_id}"
    async with site.client(site.root) as client:
        before = (await client.get(path)).json()
        for body in ({"system_id": "s_one", "info": facts}, {"info": {"version": 7, "platform": "linux\0"}}):
            await client.post("/api/v4/runners/verify", json={"token": RUNNER_TOKEN, **body})
        await site.world.pipeline("one: {script: x}\n")
        assert (await site.world.request(system_id="s_one", info=facts)).status_code == 201
        rows = {row["system_id"]: row for row in (await client.get(f"{path}/managers")).json()}
        after = (await client.get(path)).json()
    assert (before["status"], before["job_execution_status"], before["version"]) == ("never_contacted", "idle", None)
    assert set(rows) == {"s_one", "<legacy>"}
    assert {name: rows["s_one"][name] for name in facts} == facts
    assert (rows["s_one"]["status"], rows["s_one"]["job_execution_status"]) == ("online", "running")
    assert (rows["<legacy>"]["version"], rows["<legacy>"]["platform"]) == (None, "linux")
    assert rows["<legacy>"]["job_execution_status"] == "idle"
    assert rows["s_one"]["ip_address"] == "127.0.0.1"
    assert (after["online"], after["job_execution_status"]) == (True, "running")


async def test_a_removed_runner_finishes_its_job_and_gets_no_other(site: Site) -> None:
    await site.world.pipeline("one: {script: x}\ntwo: {script: x}\n")
    held = await site.world.job()
    async with site.client(site.root) as client:
        assert (await client.delete(f"/api/v4/runners/{site.world.runner_id}")).status_code == 204
        await eventually(lambda: refused(site), "the token is refused")
        assert (await site.world.put(held, "success", b"")).status_code == 200
        shown = (await client.get(f"/api/v4/projects/{site.world.project_id}/jobs/{held['id']}")).json()
        others = (await client.get(f"/api/v4/projects/{site.world.project_id}/jobs")).json()
    assert (shown["status"], shown["runner"]) == ("success", None)
    assert sorted(item["status"] for item in others) == ["pending", "success"]


async def refused(site: Site) -> bool:
    """Whether the runner of the site is refused."""
    return (await site.world.request()).status_code == 403


async def test_a_runner_that_is_removed_while_it_asks_gets_no_job(site: Site) -> None:
    await site.world.pipeline("\n".join(f"j{number}: {{script: x}}" for number in range(6)))
    async with site.client(site.root) as client:
        responses = await asyncio.gather(
            *(site.world.request(headers={"X-Request-Id": f"r{number}"}) for number in range(6)),
            client.delete(f"/api/v4/runners/{site.world.runner_id}"),
        )
        jobs = (await client.get(f"/api/v4/projects/{site.world.project_id}/jobs")).json()
    given = [response for response in responses[:6] if response.status_code == 201]
    assert responses[6].status_code == 204
    assert {response.status_code for response in responses[:6]} <= {201, 204, 403}
    assert sum(item["status"] == "running" for item in jobs) == len(given)
