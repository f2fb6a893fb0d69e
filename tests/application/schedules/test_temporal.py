"""Schedules with a real Temporal server: what it is told, what it starts, and what happens when it forgets."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from temporalio.client import ScheduleBackfill

from activities.schedules import ScheduleActivities
from domain.schedules.cron import parse
from domain.schedules.cron_calendars import calendars
from domain.schedules.cron_ticks import ticks
from domain.schedules.ticks import IGNORED, ScheduleFacts
from tests.application.schedules.live import Live, live
from tests.application.schedules.planned import pipeline_table, schedule_table, tick_table
from tests.temporal import temporal_server
from tests.waiting import eventually

pytestmark = pytest.mark.slow
"""A real Temporal that has to tick, or a server of its own for each test; a second and more of each."""


@pytest.fixture(scope="session")
async def temporal(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """Address of a Temporal server."""
    async with temporal_server(tmp_path_factory.mktemp("temporal")) as address:
        yield address


@pytest.fixture
async def it(tmp_path: Path, temporal: str) -> AsyncIterator[Live]:
    """An installation on that server."""
    async with live(tmp_path, temporal) as running:
        yield running


SAME = [
    ("*/7 * * * *", "UTC"),
    ("0 4 * * 1-5", "Europe/Berlin"),
    ("30 2 * 3,10 sun#L", "Europe/Berlin"),
    ("30 1,2 * 3,11 sun#1,sun#2", "America/New_York"),
    ("15 2 * 4,10 0", "Australia/Sydney"),
    ("0 0 13 * fri", "Asia/Kathmandu"),
    ("0 12 L * *", "UTC"),
    ("0 12 -3,1 2 mon#-1", "America/Los_Angeles"),
    ("0 0 29 2 *", "Europe/London"),
    ("58-1/2 22-1 * jan,dec sat-mon", "Europe/London"),
    ("@monthly", "Pacific/Auckland"),
]


@pytest.mark.parametrize(("cron", "zone"), SAME)
async def test_temporal_ticks_when_we_say(it: Live, cron: str, zone: str) -> None:
    """But that its server leaves out one of two times which the clocks show twice, in some zones."""
    rule, there = parse(cron), ZoneInfo(zone)
    await it.temporal.put(ScheduleFacts(7, 1, calendars(rule), zone, active=True, window=timedelta(hours=1)))
    now = datetime.now(UTC)
    found = (await it.temporal.handle(7).describe()).info.next_action_times
    ours = list(ticks(rule, there, now, found[-1]))
    assert len(found) > 5
    assert set(found) <= set(ours)
    assert all(_is_shown_twice(moment, there) for moment in set(ours) - set(found))


def _is_shown_twice(moment: datetime, zone: ZoneInfo) -> bool:
    shown = moment.astimezone(zone)
    return shown.replace(fold=0).utcoffset() != shown.replace(fold=1).utcoffset()


async def test_a_tick_is_a_workflow_that_tells_what_became_of_it(it: Live) -> None:
    schedule_id = await it.schedule()
    await it.temporal.handle(schedule_id).trigger()
    (tick,) = await it.settled(schedule_id)
    (pipeline,) = await it.here.rows(pipeline_table)
    assert (tick.outcome, tick.pipeline_id, pipeline.source) == ("by_hand", pipeline.id, "schedule")
    (result,) = await it.results(schedule_id)
    assert (result["outcome"], result["pipeline_id"]) == ("by_hand", pipeline.id)


async def test_a_tick_that_fails_is_a_result(it: Live) -> None:
    schedule_id = await it.schedule()
    await it.here.set_schedule(schedule_id, ref="refs/heads/gone")
    await it.temporal.handle(schedule_id).trigger()
    (result,) = await it.results(schedule_id)
    assert result["outcome"] == "failed"
    assert "refs/heads/gone" in result["reason"]


POLICIES: list[tuple[dict[str, Any], list[str]]] = [
    ({"catch_up": "all"}, ["started"] * 3),
    ({}, ["missed", "missed", "started"]),
    ({"catch_up_window": 0}, ["missed"] * 3),
]


@pytest.mark.parametrize(("policy", "expected"), POLICIES, ids=["all", "last", "none"])
async def test_ticks_that_temporal_makes_up_for_are_treated_by_policy(
    it: Live, policy: dict[str, Any], expected: list[str]
) -> None:
    """Three ticks of an outage come from Temporal at once, each with the time at which it should have been."""
    now = datetime.now(UTC)
    due = [now.replace(second=0, microsecond=0) - timedelta(minutes=10 * n + 15) for n in (2, 1, 0)]
    cron = " ".join((",".join(str(when.minute) for when in due), ",".join({str(when.hour) for when in due}), "* * *"))
    schedule_id = await it.schedule(cron, **policy)
    await it.here.set_schedule(schedule_id, next_tick_at=due[0])
    second = timedelta(seconds=1)
    await it.temporal.handle(schedule_id).backfill(*(ScheduleBackfill(when - second, when) for when in due))
    results = await it.results(schedule_id, 3)
    rows = [row for row in await it.settled(schedule_id, 3) if row.due_at in due]
    assert [row.outcome for row in sorted(rows, key=lambda row: row.due_at)] == expected
    assert sorted(result["outcome"] for result in results) == sorted(expected)
    assert len(await it.here.rows(pipeline_table)) == expected.count("started")


async def test_an_activity_that_dies_after_its_commit_makes_no_second_pipeline(
    it: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    deaths: list[int | None] = []
    result_of = ScheduleActivities._result

    async def dies_twice(self: ScheduleActivities, order: Any) -> Any:
        found = await result_of(self, order)
        if found.is_over and len(deaths) < 2:
            deaths.append(found.pipeline_id)
            raise ConnectionResetError
        return found

    monkeypatch.setattr(ScheduleActivities, "_result", dies_twice)
    schedule_id = await it.schedule()
    await it.temporal.handle(schedule_id).trigger()
    (result,) = await it.results(schedule_id)
    (pipeline,) = await it.here.rows(pipeline_table)
    assert deaths == [pipeline.id] * 2
    assert result["pipeline_id"] == pipeline.id
    assert len(await it.here.rows(tick_table)) == 1


async def test_a_tick_waits_in_temporal_for_the_pipeline_before_it(it: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("activities.schedules.PATIENCE", 0.5)
    schedule_id = await it.schedule("* * * * *", overlap_policy="buffer_one", catch_up="all")
    minute = datetime.now(UTC).replace(second=0, microsecond=0) - timedelta(minutes=5)
    await it.here.set_schedule(schedule_id, next_tick_at=minute)
    at = timedelta(minutes=1)
    await it.temporal.handle(schedule_id).backfill(ScheduleBackfill(minute - at / 2, minute))
    (first,) = await it.settled(schedule_id)
    await it.temporal.handle(schedule_id).backfill(ScheduleBackfill(minute + at / 2, minute + at))

    async def waiting() -> bool:
        return [row.outcome for row in await it.here.rows(tick_table)][:2] == ["started", "waiting"]

    await eventually(waiting, "the second tick waits")
    workflow_id = f"scheduled-pipeline-{schedule_id}-{minute + at:%Y-%m-%dT%H:%M:%SZ}"

    async def told() -> bool:
        pending = (await it.client.get_workflow_handle(workflow_id).describe()).raw_description.pending_activities
        return any("Waits until" in each.last_failure.message for each in pending)

    await eventually(told, "Temporal shows what the tick waits for")
    await it.here.end(first.pipeline_id)
    result = await it.client.get_workflow_handle(workflow_id).result()
    assert result["outcome"] == "started"


async def test_changes_are_copied_and_deletion_too(it: Live) -> None:
    schedule_id = await it.schedule("0 5 * * *")
    await it.here.call("PUT", f"/{schedule_id}", cron="30 6 * * *", cron_timezone="Berlin", catch_up_window=7200)
    await it.here.call("PUT", f"/{schedule_id}", active=False)
    assert await it.keeper.mirror()
    found = (await it.temporal.handle(schedule_id).describe()).schedule
    (calendar,) = found.spec.calendars
    assert (calendar.minute[0].start, calendar.hour[0].start) == (30, 6)
    assert (found.spec.time_zone_name, found.state.paused) == ("Europe/Berlin", True)
    assert found.policy.catchup_window == timedelta(hours=2)
    await it.here.call("DELETE", f"/{schedule_id}")
    assert await it.keeper.mirror()
    assert await it.temporal.state(schedule_id) is None
    assert await it.here.rows(schedule_table) == []


async def test_what_temporal_forgot_or_somebody_changed_is_put_right(it: Live) -> None:
    kept, lost, paused = [await it.schedule() for _ in range(3)]
    await it.temporal.handle(lost).delete()
    await it.temporal.handle(paused).pause(note="by hand")

    async def listed() -> bool:
        known = await it.temporal.listed()
        return set(known) == {kept, paused} and "by hand" in known[paused]

    await eventually(listed, "visibility knows")
    assert sorted(await it.keeper.reconcile()) == [lost, paused]
    states = [await it.temporal.state(each) for each in (kept, lost, paused)]
    assert states == ["not paused, kept by Perdure, reading 2, revision 1"] * 3
    assert await it.keeper.reconcile() == []


async def test_a_schedule_that_sql_does_not_know_is_deleted(it: Live) -> None:
    schedule_id = await it.schedule()
    await it.forget_in_sql(schedule_id)

    async def listed() -> bool:
        return set(await it.temporal.listed()) == {schedule_id}

    await eventually(listed, "visibility knows")
    assert await it.keeper.reconcile() == [schedule_id]
    assert await it.temporal.state(schedule_id) is None


async def test_a_tick_of_what_the_schedule_was_is_ignored(it: Live) -> None:
    schedule_id = await it.schedule()
    await it.here.call("PUT", f"/{schedule_id}", cron="0 0 2 2 *")  # Temporal has not heard of it
    await it.temporal.handle(schedule_id).trigger()
    (result,) = await it.results(schedule_id)
    assert result["outcome"] == IGNORED
    assert await it.here.rows(tick_table) == []


async def test_a_tick_that_temporal_never_starts_is_accounted_for(it: Live) -> None:
    made = await it.here.schedule("* * * * *", catch_up="all")
    minute = datetime.now(UTC).replace(second=0, microsecond=0)
    await it.here.set_schedule(made["id"], next_tick_at=minute - timedelta(minutes=4))
    assert await it.keeper.account() in {3, 4}  # those that are a minute old
    rows = await it.settled(made["id"], 3)
    assert {row.outcome for row in rows} == {"started"}


async def test_the_clock_makes_a_pipeline(it: Live) -> None:
    schedule_id = await it.schedule("* * * * *")
    begun = datetime.now(UTC)

    async def look() -> Any:
        return await it.here.rows(tick_table, schedule_id=schedule_id)

    (tick,) = await eventually(look, "the minute is over", 65)
    (tick,) = await it.settled(schedule_id)
    assert (tick.outcome, tick.by_hand) == ("started", False)
    assert timedelta(0) < tick.due_at - begun <= timedelta(minutes=1)
    assert tick.created_at - tick.due_at < timedelta(seconds=10)
    (result,) = await it.results(schedule_id)
    assert (result["outcome"], result["pipeline_id"]) == ("started", tick.pipeline_id)
