"""Ticks and what becomes of them: each is accounted for, by the policies of its schedule."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from domain.schedules.ticks import CANCELED, NOT_THE_LAST, REPLACED, STILL_RUNS, TOO_LATE
from models.repositories.pipelines import outbox
from tests.application.schedules.planned import BEGIN, Planned, outbox_table, pipeline_table, schedule_table, tick_table


async def test_a_tick_makes_one_pipeline_of_the_head_of_its_ref(here: Planned) -> None:
    made = await here.schedule()
    await here.pass_to(1)
    (pipeline,) = await here.rows(pipeline_table)
    (tick,) = await here.rows(tick_table)
    assert (pipeline.source, pipeline.ref, pipeline.tag) == ("schedule", "main", False)
    assert pipeline.user_id == here.site.root.id
    assert (tick.outcome, tick.pipeline_id) == ("started", pipeline.id)
    assert tick.due_at == BEGIN.replace(second=0) + timedelta(minutes=1)
    await here.pass_to(1)
    assert len(await here.rows(pipeline_table)) == 1
    await here.pass_to(2)
    assert await here.ticks(made["id"]) == [(1, "started"), (2, "started")]


OUTAGES: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["missed", "missed", "started"]),
    ({"catch_up": "all"}, ["started", "started", "started"]),
    ({"catch_up": "last"}, ["missed", "missed", "started"]),
    ({"catch_up": "all", "catch_up_window": 90}, ["missed", "started", "started"]),
    ({"catch_up": "all", "overlap_policy": "skip"}, ["started", "skipped", "skipped"]),
    ({"catch_up": "all", "overlap_policy": "buffer_one"}, ["started", "waiting", "skipped"]),
    ({"catch_up": "all", "overlap_policy": "cancel_other"}, ["skipped", "skipped", "started"]),
    ({"catch_up": "all", "overlap_policy": "terminate_other"}, ["skipped", "skipped", "started"]),
]


@pytest.mark.parametrize(("policy", "expected"), OUTAGES, ids=[str(policy) for policy, _ in OUTAGES])
async def test_three_ticks_of_an_outage_are_accounted_for(
    here: Planned, policy: dict[str, Any], expected: list[str]
) -> None:
    made = await here.schedule(**policy)
    await here.pass_to(3)
    assert [outcome for _, outcome in await here.ticks(made["id"])] == expected
    assert len(await here.rows(pipeline_table)) == expected.count("started")


async def test_nothing_is_caught_up_without_a_window(here: Planned) -> None:
    made = await here.schedule("*/5 * * * *", catch_up_window=0)
    await here.pass_to(17)
    assert await here.ticks(made["id"]) == [(5, "missed"), (10, "missed"), (15, "missed")]
    reasons = [row.reason for row in await here.rows(tick_table)]
    assert reasons == [TOO_LATE] * 3
    await here.pass_to(20)
    assert (await here.ticks(made["id"]))[-1] == (20, "started")


async def test_a_long_outage_is_accounted_for_tick_by_tick(here: Planned) -> None:
    made = await here.schedule()
    await here.pass_to(3 * 24 * 60)
    rows = await here.rows(tick_table, schedule_id=made["id"])
    due = [row.due_at for row in rows]
    assert due == [BEGIN.replace(second=0) + timedelta(minutes=n + 1) for n in range(3 * 24 * 60)]
    assert [row.outcome for row in rows].count("started") == 1
    assert (rows[-1].outcome, rows[-2].reason, rows[0].reason) == ("started", NOT_THE_LAST, TOO_LATE)


async def test_a_tick_that_waits_has_its_turn_when_the_pipeline_has_ended(here: Planned) -> None:
    made = await here.schedule(overlap_policy="buffer_one")
    await here.pass_to(1)
    await here.pass_to(2)
    await here.pass_to(3)
    assert await here.ticks(made["id"]) == [(1, "started"), (2, "waiting"), (3, "skipped")]
    (first,) = await here.rows(pipeline_table)
    await here.end(first.id, "running")
    await here.loop.carry_out_due()
    assert len(await here.rows(pipeline_table)) == 1
    await here.end(first.id, "failed")
    await here.loop.carry_out_due()
    assert await here.ticks(made["id"]) == [(1, "started"), (2, "started"), (3, "skipped")]


@pytest.mark.parametrize("status", ["success", "failed", "canceled", "skipped", "manual"])
async def test_a_pipeline_that_has_ended_or_waits_for_a_person_is_no_overlap(here: Planned, status: str) -> None:
    made = await here.schedule(overlap_policy="skip")
    await here.pass_to(1)
    await here.end((await here.rows(pipeline_table))[0].id, status)
    await here.pass_to(2)
    assert await here.ticks(made["id"]) == [(1, "started"), (2, "started")]


async def test_a_skipped_tick_says_why(here: Planned) -> None:
    await here.schedule(overlap_policy="skip")
    await here.pass_to(1)
    await here.pass_to(2)
    tick = (await here.rows(tick_table))[-1]
    assert (tick.outcome, tick.reason, tick.pipeline_id) == ("skipped", STILL_RUNS, None)


@pytest.mark.parametrize(("policy", "waits"), [("cancel_other", True), ("terminate_other", False)])
async def test_a_newer_tick_has_the_older_pipeline_canceled(here: Planned, policy: str, waits: bool) -> None:
    made = await here.schedule(overlap_policy=policy)
    await here.pass_to(1)
    (first,) = await here.rows(pipeline_table)
    await here.pass_to(2)
    (command,) = await here.rows(outbox_table, kind=outbox.COMMAND)
    assert command.pipeline_id == first.id
    assert (command.payload["name"], command.payload["reason"]) == ("cancel_pipeline", CANCELED)
    assert await here.ticks(made["id"]) == [(1, "started"), (2, "waiting" if waits else "started")]
    await here.end(first.id, "canceled")
    await here.loop.carry_out_due()
    assert await here.ticks(made["id"]) == [(1, "started"), (2, "started")]


async def test_the_newest_of_those_that_wait_is_made(here: Planned) -> None:
    made = await here.schedule(overlap_policy="cancel_other")
    for minute in (1, 2, 3):
        await here.pass_to(minute)
    assert await here.ticks(made["id"]) == [(1, "started"), (2, "skipped"), (3, "waiting")]
    assert [row.reason for row in await here.rows(tick_table)][1] == REPLACED


async def test_pipelines_of_other_schedules_are_no_overlap(here: Planned) -> None:
    one = await here.schedule(overlap_policy="skip")
    other = await here.schedule(overlap_policy="skip")
    await here.pass_to(1)
    assert [await here.ticks(each["id"]) for each in (one, other)] == [[(1, "started")]] * 2


async def test_what_was_due_before_a_change_is_a_tick_of_the_old_schedule(here: Planned) -> None:
    made = await here.schedule(catch_up="all")
    here.time.now = BEGIN + timedelta(minutes=2)
    response = await here.call("PUT", f"/{made['id']}", cron="0 5 * * *", cron_timezone="Europe/Berlin")
    assert response.json()["next_run_at"] == "2026-03-03T04:00:00.000Z"
    assert await here.ticks(made["id"]) == [(1, "due"), (2, "due")]
    row = (await here.rows(schedule_table))[0]
    assert (row.revision, row.next_tick_at) == (2, datetime(2026, 3, 3, 4, tzinfo=UTC))


async def test_a_schedule_that_sleeps_has_no_ticks(here: Planned) -> None:
    made = await here.schedule(active=False)
    await here.pass_to(5)
    assert (await here.call("PUT", f"/{made['id']}", active=True)).json()["active"] is True
    await here.pass_to(6)
    await here.call("PUT", f"/{made['id']}", active=False)
    await here.pass_to(9)
    assert await here.ticks(made["id"]) == [(6, "started")]


async def test_a_change_that_temporal_need_not_know_raises_no_revision(here: Planned) -> None:
    made = await here.schedule()
    await here.call("PUT", f"/{made['id']}", cron="* * * * *")
    await here.call("POST", f"/{made['id']}/variables", key="A", value="1")
    assert (await here.rows(schedule_table))[0].revision == 1


async def test_a_deleted_schedule_makes_nothing_any_more(here: Planned) -> None:
    made = await here.schedule()
    await here.pass_to(1, carry_out=False)
    assert (await here.call("DELETE", f"/{made['id']}")).status_code == 204
    await here.pass_to(5)
    assert await here.rows(pipeline_table) == await here.rows(tick_table) == []
    assert (await here.call("GET", f"/{made['id']}")).status_code == 404
    assert (await here.call("GET")).json() == []
