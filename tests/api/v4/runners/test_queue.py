"""The queue by tag set, by REST: who sees what of it."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update

from auth.permissions import DEVELOPER, REPORTER
from models.repositories import database_time
from models.repositories.namespaces import namespaces
from models.repositories.pipelines.job_rows import job
from models.repositories.projects import projects
from models.repositories.runners import runners
from tests.api.v4.pods.test_pod import add_runner
from tests.api.v4.site import Person, Site

LISTS = "one: {script: x}\ntwo: {script: x}\ngpu: {script: x, tags: [gpu]}\n"


async def queue(site: Site, person: Person | None = None) -> dict[tuple[str, ...], dict[str, Any]]:
    """The queue as somebody sees it, by tags."""
    async with site.client(person or site.root) as client:
        response = await client.get("/api/v4/runners/queue")
    assert response.status_code == 200, response.text
    return {tuple(one["tag_list"]): one for one in response.json()}


async def in_another_project(site: Site, config: str) -> None:
    """A pipeline of a private project of which nobody here is a member."""
    services, world = site.services, site.world
    async with services.database.write() as connection:
        await namespaces.create(connection, "foreign", "Foreign", services.clock())
        owner = await namespaces.get_by(connection, path="foreign")
        made = await projects.create_project(connection, owner, "secret", "S", world.user_id, services.clock())
    own, world.project_id = world.project_id, made
    await world.pipeline(config)
    world.project_id = own


async def test_an_idle_installation_has_no_queue(site: Site) -> None:
    assert await queue(site) == {}
    async with site.client() as nobody:
        assert (await nobody.get("/api/v4/runners/queue")).status_code == 401


async def test_what_waits_who_could_take_it_and_how_long_jobs_waited(site: Site) -> None:
    await site.world.request()
    await site.world.pipeline(LISTS)
    taken = await site.world.job()
    async with site.services.database.write() as connection:
        since = (await database_time.moment(connection)) - timedelta(seconds=100)
        await connection.execute(update(job).where(job.c.id == taken["id"]).values(queued_at=since))
    await add_runner(site, paused=True)
    found = await queue(site)
    gpu, plain = found["gpu",], found[()]
    assert (plain["jobs"], plain["own_jobs"], plain["stuck"], plain["stuck_reason"]) == (1, 1, 0, None)
    assert plain["runners"] == {"online": 1, "busy": 1, "paused": 1, "offline": 0, "jobs": 1}
    assert (plain["waits"]["jobs"], round(plain["waits"]["p50"])) == (1, 100)
    assert plain["waits"]["p50"] == plain["waits"]["p95"]
    assert 0 <= plain["oldest"] < 60
    assert (gpu["jobs"], gpu["stuck"], gpu["stuck_reason"]) == (1, 1, "No runner of this project has the tag gpu.")
    assert (gpu["runners"]["online"], gpu["waits"]) == (0, {"jobs": 0, "p50": None, "p95": None})


@pytest.mark.parametrize(("level", "seen"), [(0, set()), (REPORTER, set()), (DEVELOPER, {(), ("gpu",)})])
async def test_the_queue_is_for_who_may_run_jobs(site: Site, level: int, seen: set[tuple[str, ...]]) -> None:
    await site.world.pipeline(LISTS)
    await in_another_project(site, "hidden: {script: x, tags: [other-team]}\n")
    assert set(await queue(site, await site.person("somebody", level))) == seen
    assert set(await queue(site)) == {(), ("gpu",), ("other-team",)}


async def test_others_jobs_are_counted_without_whose_they_are(site: Site) -> None:
    await site.world.request()
    await site.world.pipeline(LISTS)
    await in_another_project(site, "foreign one: {script: x}\n")
    person = await site.person("somebody", DEVELOPER)
    plain = (await queue(site, person))[()]
    assert (plain["jobs"], plain["own_jobs"]) == (3, 2)
    async with site.client(person) as client:
        text = (await client.get("/api/v4/runners/queue")).text
    assert not any(word in text for word in ("secret", "foreign", "a runner of tests"))


async def test_what_only_runners_of_others_take_is_not_counted(site: Site) -> None:
    """Nothing of it stands before one's own jobs."""
    async with site.services.database.write() as connection:
        await runners.change(connection, site.world.runner_id, paused=True, run_untagged=False, tags=["none"])
    await site.world.pipeline(LISTS)
    await in_another_project(site, "foreign one: {script: x}\n")
    person = await site.person("somebody", DEVELOPER)
    assert (await queue(site, person))[()]["jobs"] == 2
    assert (await queue(site))[()]["jobs"] == 3


async def test_a_developer_is_told_the_position_and_whoever_reads_no_runner(site: Site) -> None:
    await site.world.request()
    pipeline_id = await site.world.pipeline(LISTS)
    home = f"/api/v4/projects/{site.world.project_id}/pipelines/{pipeline_id}/why"
    seen = {}
    for level in (REPORTER, DEVELOPER):
        async with site.services.database.write() as connection:
            await connection.execute(projects.project.update().values(visibility="private"))
        async with site.client(await site.person(f"level{level}", level)) as client:
            await client.delete(f"/api/v4/projects/{site.world.project_id}/protected_branches/main")
            jobs = (await client.get(home)).json()["jobs"]
        seen[level] = {one["name"]: one["explanation"] for one in jobs}
    assert [seen[REPORTER][name]["facts"]["position"] for name in ("one", "two", "gpu")] == [1, 2, None]
    assert seen[REPORTER]["gpu"]["text"] == "No runner of this project has the tag gpu."
    assert seen[REPORTER]["gpu"]["facts"]["nearest_runner"] is None
    assert seen[REPORTER]["one"] == seen[DEVELOPER]["one"]
