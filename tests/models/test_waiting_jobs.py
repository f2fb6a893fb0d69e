"""Which pending jobs no runner can take, by the rules of the claim itself."""

from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest

from models.repositories.namespaces import namespaces
from models.repositories.projects import projects
from models.repositories.queue import contacts, leases, wait_reasons, waiting_jobs
from models.repositories.queue.contacts import Contact
from models.repositories.queue.leases import clock
from models.repositories.runners import runners
from models.typed_rows import all_of
from settings import TimeLimits
from tests.models import waiting
from tests.models.world import World, job

LONG = 7200.0


async def reasons(world: World, silence: float = LONG) -> dict[str, str]:
    """Job name to the reason why it is stuck."""
    rows = await world.rows(job)
    async with world.database.read() as connection:
        found = await waiting_jobs.reasons(connection, rows, world.now(), silence)
    return {row.name: found[row.id] for row in rows if row.id in found}


async def call(world: World) -> None:
    """The runner asks for work."""
    async with world.database.write() as connection:
        await contacts.write(connection, [Contact(world.runner_id, "s_1", {}, "")], world.now())


async def test_a_job_is_stuck_as_soon_as_it_is_pending(world: World) -> None:
    await call(world)
    await world.begin("gpu: {script: x, tags: [gpu]}\nplain: {script: x}\nlater: {stage: deploy, script: x}\n")
    assert await reasons(world) == {"gpu": "No runner of this project has the tag gpu."}


async def test_whatever_the_claim_refuses_is_a_reason(world: World) -> None:
    """And what it does not refuse is none: the two rules are one."""
    await call(world)
    await world.begin("one: {script: x, tags: [gpu]}\n")
    async with world.database.write() as connection:
        owner = await namespaces.get_by(connection, path="acme")
        foreign = await projects.create_project(connection, owner, "other", "Other", world.user_id, world.now())
        await runners.link(connection, world.runner_id, foreign)
    refusals: list[dict[str, Any]] = [
        {"tags": ["arm"]},
        {"tags": ["gpu"], "run_untagged": False, "paused": True},
        {"tags": ["gpu"], "runner_type": "project_type", "organisation_id": owner.id},
        {"tags": ["gpu"], "runner_type": "group_type", "organisation_id": None},
    ]
    for values in refusals:
        free = {"tags": [], "paused": False, "runner_type": "instance_type", "organisation_id": None}
        await world.set_runner(**{**free, **values})
        assert await reasons(world) != {}, values
        assert await world.claim() is None
    await world.set_runner(tags=["gpu"], paused=False, runner_type="project_type", organisation_id=owner.id)
    async with world.database.write() as connection:
        await runners.link(connection, world.runner_id, world.project_id)
    assert await reasons(world) == {}
    assert await world.claim() is not None


async def test_a_paused_or_silent_runner_is_none(world: World) -> None:
    await world.begin("one: {script: x}\n")
    assert await reasons(world) == {"one": "The only runner that fits is offline: no call came for too long."}
    await call(world)
    assert await reasons(world) == {}
    await world.set_runner(paused=True)
    assert await reasons(world) == {"one": "The only runner that fits is paused."}
    await world.set_runner(paused=False)
    world.seconds += 100
    assert await reasons(world, silence=200) == {}
    world.seconds += 100
    assert "offline" in (await reasons(world, silence=200))["one"]


async def test_a_runner_that_holds_a_job_is_there_although_it_asks_for_no_other(world: World) -> None:
    await world.begin("one: {script: x}\ntwo: {script: x}\n")
    await world.take()
    world.seconds += 10_000
    assert await reasons(world) == {}


async def test_a_job_of_a_protected_ref_fits_a_protected_runner(world: World) -> None:
    await call(world)
    await world.set_runner(ref_protected=True)
    await world.settle(await world.create("one: {script: x}\n", ref="fix"))
    assert "protected" in (await reasons(world))["one"]
    await world.begin("two: {script: x}\n")
    assert set(await reasons(world)) == {"one"}


async def test_only_pending_jobs_of_runners_are_stuck(world: World) -> None:
    await world.begin(
        "bridge: {trigger: {project: acme/other}}\ngate: {script: x, when: manual, tags: [gpu]}\nheld: {script: x}\n"
    )
    await world.take()
    await world.set_runner(paused=True)
    assert (await world.row(job, name="bridge")).status == "pending"
    assert await reasons(world) == {}


async def test_many_jobs_cost_as_many_statements_as_one(world: World) -> None:
    await world.begin("".join(f"j{number}: {{script: x, tags: [t{number % 3}]}}\n" for number in range(60)))
    rows = await world.rows(job)
    async with world.database.read() as connection:
        execute = AsyncMock(wraps=connection.execute)
        found = await waiting_jobs.reasons(Mock(execute=execute), rows, world.now(), LONG)
    assert len(found) == 60
    assert execute.await_count == 4


async def overdue(world: World, **limits: Any) -> dict[int, str]:
    """Jobs that have waited too long, with the reason."""
    async with world.database.read() as connection:
        found = await waiting_jobs.overdue(connection, TimeLimits(**limits))
    return {one.job_id: one.reason for one in found}


async def test_who_waits_too_long_comes_in_the_order_of_waiting(world: World) -> None:
    await waiting.call(world, world.runner_id)
    await world.begin("fits: {script: x}\n")
    await world.begin("gpu: {script: x, tags: [gpu]}\n")
    fits, gpu = await world.rows(job)
    await waiting.wait(world, 500)
    assert await overdue(world, pending_unmatched=1000, pending_limit=2000) == {}
    await waiting.wait(world, 600)
    assert list(await overdue(world, pending_unmatched=1000, pending_limit=2000)) == [gpu.id]
    await waiting.wait(world, 1000)
    found = await overdue(world, pending_unmatched=1000, pending_limit=2000)
    assert list(found) == [fits.id, gpu.id]
    assert (found[fits.id], found[gpu.id]) == ("", "No runner of this project has the tag gpu.")


async def test_a_long_queue_that_runners_work_off_is_not_read(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every five seconds somebody looks: 20,000 jobs took a quarter of a second each time."""
    read = list[Any]()

    def noted(kind: Any, result: Any) -> Any:
        rows = all_of(kind, result)
        read.extend(row for row in rows if hasattr(row, "hand_out"))
        return rows

    await waiting.call(world, world.runner_id)
    await world.begin("fits: {script: x, parallel: 20}\n")
    await world.begin("gpu: {script: x, tags: [gpu]}\n")
    await waiting.wait(world, 1100)
    monkeypatch.setattr("models.repositories.queue.waiting_jobs.all_of", noted)
    assert len(await overdue(world, pending_unmatched=1000, pending_limit=2000)) == 1
    assert len(read) == 1


async def test_a_job_put_back_into_the_queue_waits_anew(world: World) -> None:
    await world.begin("one: {script: x}\n")
    await waiting.wait(world, 5000)
    assert list(await overdue(world)) == [(await world.row(job)).id]
    await world.claim()
    async with world.database.write() as connection:
        rows = await leases.silent(connection, -1, taken_up=False)
        assert len(await leases.put_back(connection, rows, world.now())) == 1
    assert await overdue(world) == {}


@pytest.mark.parametrize("days", [-400, 400])
async def test_the_clock_of_the_process_does_not_make_a_job_wait_longer(world: World, days: int) -> None:
    """It is wrong when the job comes into the queue, and wrong by much more when the job is looked at."""
    world.seconds = days * 86_400
    await world.begin("one: {script: x, tags: [gpu]}\n")
    world.seconds += 86_400 * 2
    assert await overdue(world) == {}
    await waiting.wait(world, TimeLimits().pending_unmatched + 1)
    assert list(await overdue(world)) == [(await world.row(job)).id]


async def test_standings_name_stuck_and_silent_jobs(world: World) -> None:
    await call(world)
    await world.begin("gpu: {script: x, tags: [gpu]}\nheld: {script: x}\n")
    held = await world.take()
    rows = await world.rows(job)
    async with world.database.write() as connection:
        found = await wait_reasons.of_jobs(connection, rows, world.now(), TimeLimits())
        assert found.unresponsive == set()
        await connection.execute(clock.insert().values(id=1, ticks=100, ticked_at=0.0, calm_until=0))
        found = await wait_reasons.of_jobs(connection, rows, world.now(), TimeLimits())
    assert found.unresponsive == {held}
    assert list(found.stuck) == [row.id for row in rows if row.name == "gpu"]
