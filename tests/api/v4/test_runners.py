"""Runners as administrators see them."""

from sqlalchemy import select

from models.repositories.runners import runner

MAINTAINER = 40


async def test_a_created_runner_takes_jobs_with_its_token(site):
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


async def test_a_project_runner_belongs_to_the_maintainers_of_its_project(site):
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
        foreign = await client.get(f"/api/v4/runners/{site.world.runner_id}")
    assert (instance.status_code, group.status_code, lost.status_code) == (403, 400, 400)
    assert [item["id"] for item in listed] == [made.json()["id"]]
    assert foreign.status_code == 403
    async with site.client(site.root) as root:
        everyone = (await root.get("/api/v4/runners/all")).json()
        project_runners = (await root.get("/api/v4/runners/all", params={"type": "project_type"})).json()
    assert {item["id"] for item in everyone} == {made.json()["id"], site.world.runner_id}
    assert [item["id"] for item in project_runners] == [made.json()["id"]]


async def test_a_runner_is_changed_and_removed(site):
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
