"""What happens is noted in the transaction in which it happens, and only for those who want to hear of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from sqlalchemy import delete, update
from sqlalchemy import event as signal

from domain.hooks.webhooks import BITS, Event, bits_of
from domain.messages import Command
from domain.pipelines.status import Status
from models.columns import table_of
from models.repositories.hooks import commit_reports, forge_links, hook_deliveries, hooks, webhook_events
from models.repositories.hooks.webhook_events import Happening
from models.repositories.owner import Owner
from models.repositories.pipelines import job_rows, pipelines
from models.session import Database
from models.tables.hooks import CommitReport, HookDelivery, HookEvent
from models.tables.queue import Lease
from tests.models.world import BEGIN, World, job, pipeline

events = table_of(HookEvent)
deliveries = table_of(HookDelivery)
reports = table_of(CommitReport)
lease = table_of(Lease)

DEPLOY = """
    stages: [build, deploy]
    build: {stage: build, script: make}
    live: {stage: deploy, script: x, environment: live}
"""


async def hook(world: World, *wanted: Event, **values: Any) -> int:
    """A hook of the world's project."""
    async with world.database.write() as connection:
        return await hooks.add(
            connection, Owner(world.project_id), BEGIN, url="http://h.example/", events=bits_of(wanted), **values
        )


async def heard(world: World, kind: Event, **equal: Any) -> list[str]:
    """The statuses that were noted, in order."""
    return [row.facts["status"] for row in await world.rows(events, kind=str(kind), **equal)]


async def test_every_status_of_a_pipeline_and_its_jobs_is_noted(world: World) -> None:
    await hook(world, Event.PIPELINE, Event.JOB)
    pipeline_id = await world.create()
    await world.settle(pipeline_id)
    build = await world.take()
    await world.end(build)
    await world.settle(pipeline_id)
    test = await world.take()
    await world.end(test, Status.FAILED, reason="script_failure")
    await world.settle(pipeline_id)
    assert await heard(world, Event.PIPELINE) == ["created", "pending", "running", "failed"]
    assert await heard(world, Event.JOB, job_id=build) == ["created", "pending", "running", "success"]
    assert await heard(world, Event.JOB, job_id=test) == ["created", "pending", "running", "failed"]
    told = await world.rows(deliveries)
    assert len(told) == 12
    assert {row.state for row in told} == {"open"}
    assert len({row.uuid for row in told}) == 12
    builds = [row.facts["builds"] for row in await world.rows(events, kind="pipeline")]
    assert builds == [
        {"created": [build, test]},
        {"pending": [build], "created": [test]},
        {"running": [build], "created": [test]},
        {"success": [build], "failed": [test]},
    ]


async def test_retries_cancels_manual_jobs_and_hand_backs_are_noted(world: World) -> None:
    await hook(world, Event.PIPELINE, Event.JOB)
    pipeline_id = await world.begin("""
        one: {script: x}
        hand: {script: x, when: manual}
    """)
    one = await world.take()
    async with world.database.write() as connection:
        await job_rows.set_status(connection, [one], Status.PENDING, world.now(), runner_id=None)
        await connection.execute(delete(lease).where(lease.c.job_id == one))
    again = await world.take()
    assert again == one
    await world.end(one, Status.FAILED, reason="script_failure")
    await world.settle(pipeline_id)
    await world.settle(pipeline_id, Command("retry_job", "k1", one))
    (second,) = [row.id for row in await world.rows(job, name="one") if row.id != one]
    await world.settle(pipeline_id, Command("cancel_pipeline", "k2"))
    seen = ["created", "pending", "running", "pending", "running", "failed"]
    assert await heard(world, Event.JOB, job_id=one) == seen
    assert await heard(world, Event.JOB, job_id=second) == ["created", "pending", "canceled"]
    (hand,) = [row.id for row in await world.rows(job, name="hand")]
    assert (await heard(world, Event.JOB, job_id=hand))[:2] == ["created", "manual"]
    assert (await heard(world, Event.PIPELINE))[-1] == "canceled"
    assert (await world.status(pipeline_id)) == "canceled"
    statuses = await heard(world, Event.PIPELINE)
    assert all(one != other for one, other in pairwise(statuses)), statuses


async def test_a_deployment_is_told_when_it_starts_and_ends(world: World) -> None:
    await hook(world, Event.DEPLOYMENT)
    pipeline_id = await world.begin(DEPLOY)
    await world.end(await world.take())
    await world.settle(pipeline_id)
    await world.end(await world.take())
    assert await heard(world, Event.DEPLOYMENT) == ["running", "success"]
    assert len(await world.rows(events)) == 2


async def test_who_wants_nothing_hears_nothing_and_pays_nothing(world: World) -> None:
    async def played() -> list[str]:
        with statements(world.database) as seen:
            pipeline_id = await world.begin()
            await world.end(await world.take())
            await world.settle(pipeline_id)
        return seen

    plain = await played()
    assert not [text for text in plain if "hook" in text or "commit_report" in text]
    assert await world.rows(events) == []
    key = await hook(world, Event.JOB)
    watched = await played()
    assert len(watched) > len(plain)
    async with world.database.write() as connection:
        await hooks.remove(connection, key, Owner(world.project_id))
    again = await played()
    assert not [text for text in again if "hook" in text]


@contextmanager
def statements(database: Database) -> Iterator[list[str]]:
    """The statements that run in the block."""
    seen: list[str] = []
    engine = database._file._engine if database.is_sqlite else database._engine.sync_engine

    def note(_connection: Any, _cursor: Any, text: str, *_: Any) -> None:
        seen.append(text)

    signal.listen(engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        signal.remove(engine, "before_cursor_execute", note)


async def test_an_unwatched_claim_and_verdict_run_no_statement_more(world: World) -> None:
    """The same number as with the bit of an event that neither of them has."""

    async def counted() -> int:
        pipeline_id = await world.begin("one: {script: x}")
        with statements(world.database) as seen:
            await world.end(await world.take())
        await world.settle(pipeline_id)
        return len(seen)

    plain = await counted()
    await hook(world, Event.PUSH)
    in_between = await counted()
    await hook(world, Event.JOB)
    assert plain == in_between < await counted()


async def test_what_is_rolled_back_never_happened(world: World) -> None:
    await hook(world, Event.JOB)
    pipeline_id = await world.begin("one: {script: x}")
    before = len(await world.rows(events))
    (row,) = await world.rows(job, pipeline_id=pipeline_id)

    async def killed() -> None:
        async with world.database.write() as connection:
            await webhook_events.jobs_made(connection, [row.id], BITS[Event.JOB], world.now())
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        await killed()
    assert len(await world.rows(events)) == before


async def test_pushes_pass_the_filter_of_each_hook(world: World) -> None:
    main = await hook(world, Event.PUSH, branch_filter="main")
    every = await hook(world, Event.PUSH)
    await hook(world, Event.TAG_PUSH)
    async with world.database.write() as connection:
        pushed = [
            Happening(world.project_id, Event.PUSH, world.user_id, branch="main"),
            Happening(world.project_id, Event.PUSH, world.user_id, branch="other"),
        ]
        await webhook_events.note(connection, pushed, BEGIN)
    assert [row.hook_id for row in await world.rows(deliveries)] == [main, every, every]


async def test_a_hook_that_is_off_for_good_has_its_failure_on_record(world: World) -> None:
    key = await hook(world, Event.JOB, failures=40)
    await world.create("one: {script: x}")
    (row,) = await world.rows(deliveries, hook_id=key)
    assert row.state == "failed"
    assert "test it to enable it again" in row.error


async def link(world: World, kind: str = "github") -> None:
    async with world.database.write() as connection:
        await forge_links.put(
            connection, world.project_id, kind, BEGIN, repository_url="x", api_url="http://f", repository="a/b"
        )


async def test_a_commit_has_one_report_that_says_the_newest(world: World) -> None:
    await link(world)
    first = await world.create("one: {script: x}")
    second = await world.create("one: {script: x}")
    await world.settle(second)
    await world.settle(first)
    (row,) = await world.rows(reports)
    assert (row.pipeline_id, row.status, row.wanted, row.told, row.state) == (second, "pending", 3, 0, "open")


async def test_what_was_told_late_never_hides_what_is_newer(world: World) -> None:
    await link(world)
    pipeline_id = await world.create("one: {script: x}")
    (report,) = await world.rows(reports)
    async with world.database.read() as connection:
        old = await commit_reports.find(connection, report.id)
    assert old is not None
    await world.settle(pipeline_id)
    async with world.database.write() as connection:
        assert await commit_reports.told(connection, old, "1 pending", 201, BEGIN), "there is more to tell"
        assert await commit_reports.failed(connection, old, "late", 500, BEGIN, None), "nor does a late failure end it"
    (row,) = await world.rows(reports)
    assert (row.told, row.wanted, row.state, row.error) == (1, 2, "open", "")
    async with world.database.read() as connection:
        new = await commit_reports.find(connection, report.id)
    assert new is not None
    async with world.database.write() as connection:
        assert not await commit_reports.told(connection, new, "1 pending", 201, BEGIN)
        assert not await commit_reports.told(connection, old, "1 created", 201, BEGIN)
    (row,) = await world.rows(reports)
    assert (row.told, row.state, row.shown) == (2, "done", "1 pending")


async def test_a_link_that_is_off_or_gone_is_told_nothing(world: World) -> None:
    await link(world)
    async with world.database.write() as connection:
        row = await forge_links.find(connection, world.project_id, "github")
        assert row is not None
        await forge_links.remove(connection, row)
    await world.create("one: {script: x}")
    assert await world.rows(reports) == []


async def test_due_deliveries_are_looked_at_again_unless_they_were_tried_meanwhile(world: World) -> None:
    await hook(world, Event.PIPELINE)
    await world.create()
    await world.create()
    now = world.now()
    async with world.database.write() as connection:
        first, second = await hook_deliveries.DUE.due(connection, now, 10)
        await connection.execute(update(deliveries).where(deliveries.c.id == second.id).values(attempts=1))
        await hook_deliveries.DUE.look_again(connection, [first, second], now, now + timedelta(minutes=3))
        assert [row.id for row in await hook_deliveries.DUE.due(connection, now, 10)] == [second.id]
        later = now + timedelta(minutes=4)
        assert {row.id for row in await hook_deliveries.DUE.due(connection, later, 10)} == {first.id, second.id}


async def test_the_log_is_kept_for_a_while_and_open_deliveries_for_ever(world: World) -> None:
    await hook(world, Event.PIPELINE)
    await world.create()
    await world.create()
    first, _ = await world.rows(deliveries)
    async with world.database.write() as connection:
        await hook_deliveries.give_up(connection, first.id, "x")
        assert await hook_deliveries.forget(connection, BEGIN) == 0
        assert await hook_deliveries.forget(connection, world.now()) == 2
    assert len(await world.rows(deliveries)) == len(await world.rows(events)) == 1


async def test_a_pipeline_that_ended_at_once_is_told_too(world: World) -> None:
    await hook(world, Event.PIPELINE)
    request = pipelines.PipelineRequest(world.project_id, world.user_id, "main", "c0ffee", "push")
    async with world.database.write() as connection:
        await pipelines.create_ended(connection, request, Status.SKIPPED, world.now(), seal=str)
    assert await heard(world, Event.PIPELINE) == ["skipped"]
    assert len(await world.rows(pipeline)) == 1
