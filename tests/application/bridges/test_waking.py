"""Bridges are carried out when somebody tells of them or their time comes, not when the loop happens to look."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from sqlalchemy import Row

from activities.pipelines import PipelineActivities
from application.bridges.downstream import wish_of
from domain.errors import Unavailable
from models.repositories.pipelines import outbox
from tests.application.bridges.installation import Installation
from tests.waiting import eventually

pytestmark = pytest.mark.both_databases

FILES = {
    ".gitlab-ci.yml": "go: {trigger: {include: child.yml, strategy: depend}}\n",
    "child.yml": "inner: {script: make}\n",
}
NEVER = 3600.0


@asynccontextmanager
async def idle_loop(here: Installation, monkeypatch: pytest.MonkeyPatch, rescan: float = NEVER) -> AsyncIterator[None]:
    """The loop runs, has found nothing to do, and looks by itself after `rescan` seconds."""
    next_due, has_looked = outbox.next_due, asyncio.Event()

    async def looked(*given: Any) -> Any:
        found = await next_due(*given)
        has_looked.set()
        return found

    monkeypatch.setattr("loops.due_rows.RESCAN", rescan)
    monkeypatch.setattr(outbox, "next_due", looked)
    running = asyncio.create_task(here.loop.run())
    try:
        await has_looked.wait()
        yield
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


async def decide(here: Installation, pipeline_id: int) -> None:
    """Decide and record as a workflow does, until nothing follows."""
    services = here.site.services
    activities = PipelineActivities(services.database, services.notifications, services.clock)
    while decision := await here.world.decision(pipeline_id):
        await activities.offer_jobs(decision)


async def made_by(here: Installation, parent: int) -> int:
    """The pipeline that the bridge of `parent` has made, as soon as there is one."""

    async def look() -> int | None:
        found: int | None = (await here.named(parent, "go")).downstream_id
        return found

    return await eventually(look, "the bridge has made a pipeline")


async def test_a_bridge_is_carried_out_at_once_after_its_offer_and_hears_of_every_status(
    here: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = await here.create(FILES)
    async with idle_loop(here, monkeypatch):
        await decide(here, parent)
        child = await made_by(here, parent)
        await decide(here, child)
        await here.world.end(await here.world.take())
        await decide(here, child)

        async def ended() -> Row[Any] | None:
            row = await here.named(parent, "go")
            return row if row.status == "success" else None

        await eventually(ended, "the bridge has ended as its pipeline did")


async def test_a_bridge_that_must_wait_is_carried_out_when_its_time_comes(
    here: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: Any) -> None:
        monkeypatch.setattr("loops.bridges.wish_of", wish_of)
        raise Unavailable("The repository is away.")

    monkeypatch.setattr("loops.bridges.wish_of", away)
    parent = await here.create(FILES)
    async with idle_loop(here, monkeypatch):
        await decide(here, parent)
        await made_by(here, parent)


async def test_a_bridge_that_nobody_was_told_of_is_found_by_the_next_look(
    here: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker was killed between the commit and the notification."""
    parent = await here.create(FILES)
    async with idle_loop(here, monkeypatch, rescan=0.1):
        await here.world.settle(parent)
        await made_by(here, parent)
