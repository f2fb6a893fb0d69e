"""What the API and the pages say of jobs that no runner can take, and of runners that are silent."""

import re
from typing import Any

from sqlalchemy import update

from models.columns import table_of
from models.repositories.queue.leases import clock
from models.tables.queue import Lease
from models.tables.runners import Runner
from tests.api.pages.test_pages import browser
from tests.api.v4.site import Site

lease = table_of(Lease)
runner = table_of(Runner)

STUCK = "build: {stage: build, script: x}\ngpu: {stage: build, script: x, tags: ['<b>gpu']}\n"
WHY = "No runner of this project has the tag <b>gpu."


async def jobs_of(site: Site, pipeline: int) -> dict[str, dict[str, Any]]:
    """The jobs of a pipeline by name, as the API lists them."""
    path = f"/api/v4/projects/{site.world.project_id}/pipelines/{pipeline}/jobs"
    async with site.client(site.root) as client:
        return {item["name"]: item for item in (await client.get(path)).json()}


async def page(site: Site, path: str) -> str:
    """A page of the project as text, without the tags of HTML."""
    async with browser(site, site.root) as client:
        response = await client.get(f"/{await site.path()}/-/{path}")
    assert response.status_code == 200
    return re.sub(r"<[^>]+>", " ", response.text)


async def test_a_stuck_job_says_why_at_once(site: Site) -> None:
    await site.world.request()
    pipeline = await site.world.pipeline(STUCK)
    found = await jobs_of(site, pipeline)
    assert (found["gpu"]["stuck"], found["gpu"]["stuck_reason"]) == (True, WHY)
    assert (found["build"]["stuck"], found["build"]["stuck_reason"]) == (False, None)
    async with site.client(site.root) as client:
        one = await client.get(f"/api/v4/projects/{site.world.project_id}/jobs/{found['gpu']['id']}")
    assert one.json()["stuck_reason"] == WHY
    shown = WHY.replace("<", "&lt;").replace(">", "&gt;")
    nearest = f"Nearest is runner #{site.world.runner_id} (a runner of tests): it lacks &lt;b&gt;gpu."
    assert f"{shown} {nearest}" in await page(site, f"jobs/{found['gpu']['id']}")
    assert "Nearest is" not in await page(site, f"jobs/{found['build']['id']}")
    assert (await page(site, f"pipelines/{pipeline}")).count(f"{shown} {nearest}") >= 1


async def test_a_job_is_not_stuck_any_more_when_a_runner_fits(site: Site) -> None:
    await site.world.request()
    pipeline = await site.world.pipeline(STUCK)
    async with site.services.database.write() as connection:
        await connection.execute(update(runner).values(tags=["<b>gpu"]))
    assert not (await jobs_of(site, pipeline))["gpu"]["stuck"]


async def test_a_job_that_runs_or_has_ended_is_never_stuck(site: Site) -> None:
    pipeline = await site.world.pipeline(STUCK)
    job = await site.world.job()
    async with site.services.database.write() as connection:
        await connection.execute(update(runner).values(paused=True))
    assert not (await jobs_of(site, pipeline))["build"]["stuck"]
    await site.world.put(job, "success")
    assert not (await jobs_of(site, pipeline))["build"]["stuck"]


async def test_a_silent_runner_is_shown_in_all_places(site: Site) -> None:
    async with site.services.database.write() as connection:
        await connection.execute(clock.insert().values(id=1, ticks=1, ticked_at=0.0, calm_until=0))
    pipeline = await site.world.pipeline(STUCK)
    job = await site.world.job()
    ticks = site.services.settings.times.ticks_until_unresponsive

    async def at(tick: int) -> bool:
        async with site.services.database.write() as connection:
            await connection.execute(update(clock).values(ticks=tick))
        shown = (await jobs_of(site, pipeline))["build"]["unresponsive"]
        assert ("has been silent" in await page(site, f"jobs/{job['id']}")) == shown
        assert ("has been silent" in await page(site, f"pipelines/{pipeline}")) == shown
        return bool(shown)

    assert not await at(1 + ticks)
    assert await at(2 + ticks)
    await site.world.patch(job, 0, b"here I am")
    assert not await at(2 + ticks)


async def test_why_a_pipeline_was_canceled_is_told(site: Site) -> None:
    from models.repositories.pipelines.pipelines import pipeline as table

    made = await site.world.pipeline(STUCK)
    reason = "canceled by pipeline 2: a newer commit of main came"
    async with site.services.database.write() as connection:
        await connection.execute(update(table).where(table.c.id == made).values(status_reason=reason))
    async with site.client(site.root) as client:
        told = await client.get(f"/api/v4/projects/{site.world.project_id}/pipelines/{made}")
    assert told.json()["status_reason"] == reason
    assert reason in await page(site, f"pipelines/{made}")
