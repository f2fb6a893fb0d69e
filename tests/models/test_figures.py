"""Figures over time in SQL: percentiles, days, coverage, and that no question reads all that there is."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import insert

from domain.pipelines.figures import Figures
from domain.pipelines.status import Status
from models.columns import table_of
from models.repositories.projects import figures
from models.repositories.projects.figures import pipeline
from models.tables.commit_statuses import CommitStatus
from tests.models.query_plans import multiply, query_plan
from tests.models.world import World, job

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
SINCE = NOW - timedelta(days=90)
CONFIG = "unit: {script: x}\nlint: {script: x}\n"


async def ended(world: World, name: str, seconds: float, ends: datetime = NOW, **values: Any) -> None:
    """A job of this name that took so long."""
    pipeline_id = await world.begin(CONFIG)
    times = {"started_at": ends - timedelta(seconds=seconds), "finished_at": ends, "status": Status.SUCCESS}
    async with world.database.write() as connection:
        which = (job.c.pipeline_id == pipeline_id) & (job.c.name == name)
        await connection.execute(job.update().where(which).values({**times, **values}))


async def named(world: World, project_id: int = 0) -> list[Figures]:
    async with world.database.read() as connection:
        return list(await figures.by_name(connection, project_id or world.project_id, SINCE))


async def test_figures_by_name_are_those_of_jobs_that_ended_by_themselves(world: World) -> None:
    for seconds in (5, 1, 4, 3, 2):
        await ended(world, "unit", seconds)
    await ended(world, "unit", 100.25, status=Status.FAILED)
    await ended(world, "lint", 7, retried=True)
    for values in (
        {"status": Status.CANCELED},
        {"status": Status.SKIPPED, "started_at": None},
        {"bridge": True},
        {"ends": SINCE},
    ):
        await ended(world, "lint", 1000, **values)
    found = [(row.key, row.number, row.succeeded, round(row.p50, 3), round(row.p95, 3)) for row in await named(world)]
    assert found == [("unit", 6, 5, 3, 100.25), ("lint", 1, 1, 7, 7)]
    assert [row.success_rate for row in await named(world)] == [83.33, 100]
    assert await named(world, world.project_id + 1) == []


async def test_figures_by_day_are_those_of_one_name_and_of_the_day_in_utc(world: World) -> None:
    midnight = NOW.replace(hour=0)
    await ended(world, "unit", 60, midnight - timedelta(milliseconds=1))
    await ended(world, "unit", 2, midnight)
    await ended(world, "unit", 4, midnight, status=Status.FAILED)
    await ended(world, "lint", 9, midnight)
    async with world.database.read() as connection:
        rows = await figures.by_day(connection, world.project_id, "unit", SINCE)
        assert await figures.by_day(connection, world.project_id, "' OR 1", SINCE) == []
        reach = await figures.reach(connection, world.project_id, SINCE)
    assert [(row.key, row.number, row.success_rate, round(row.p50, 3)) for row in rows] == [
        ("2026-05-31", 1, 100, 60),
        ("2026-06-01", 2, 50, 2),
    ]
    assert (reach.since, reach.whole) == (SINCE, True)


async def test_only_the_newest_jobs_count_where_there_are_very_many(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        await ended(world, "unit", 10 + number, NOW - timedelta(days=number))
    for statement in (figures._window, figures._by, figures._reach):
        statement.cache_clear()
    monkeypatch.setattr(figures, "NEWEST", dict.fromkeys(figures.NEWEST, 3))
    try:
        async with world.database.read() as connection:
            reach = await figures.reach(connection, world.project_id, SINCE)
        assert [(row.number, round(row.p95)) for row in await named(world)] == [(3, 12)]
        assert (reach.since, reach.whole) == (NOW - timedelta(days=2), False)
    finally:
        for statement in (figures._window, figures._by, figures._reach):
            statement.cache_clear()


async def covered(world: World, ref: str = "main") -> list[tuple[int, float]]:
    async with world.database.read() as connection:
        rows = await figures.covered(connection, world.project_id, ref, SINCE)
    return [(row.pipeline_id, round(row.coverage, 2)) for row in rows]


async def test_the_coverage_of_a_branch_is_that_of_its_successful_pipelines(world: World) -> None:
    ids = [await world.begin(CONFIG) for _ in range(4)]
    other = await world.create(CONFIG, "feature")
    async with world.database.write() as connection:
        for place, key in enumerate((*ids, other)):
            at = NOW - timedelta(days=10 - place)
            made = {"status": "success", "created_at": at}
            await connection.execute(pipeline.update().where(pipeline.c.id == key).values(made))
            await connection.execute(job.update().where(job.c.pipeline_id == key).values(coverage=50.0 + place))
        unit = job.c.name == "unit"
        await connection.execute(job.update().where(job.c.pipeline_id == ids[0], unit).values(coverage=60.0))
        await connection.execute(
            job.update().where(job.c.pipeline_id == ids[1], unit).values(retried=True, coverage=1.0)
        )
        await connection.execute(pipeline.update().where(pipeline.c.id == ids[2]).values(status="failed"))
        await connection.execute(pipeline.update().where(pipeline.c.id == ids[3]).values(created_at=SINCE))
        reported = {"project_id": world.project_id, "user_id": world.user_id, "pipeline_id": ids[1], "sha": "c0ffee"}
        reported |= {"ref": "main", "name": "elsewhere", "status": "success", "coverage": 53.0, "created_at": NOW}
        await connection.execute(insert(table_of(CommitStatus)).values(retried=False, **reported))
    assert await covered(world) == [(ids[0], 55.0), (ids[1], 52.0)]
    assert await covered(world, "feature") == [(other, 54.0)]


@pytest.mark.parametrize("which", ["by name", "by day", "coverage"])
async def test_what_is_asked_is_found_by_an_index(world: World, which: str) -> None:
    await ended(world, "unit", 5)
    row = (await world.rows(job, name="unit"))[0]
    await multiply(world, job, row.id, lambda step: {"first_id": None, "finished_at": NOW - timedelta(hours=step)})
    ended_pipeline = row.pipeline_id
    await multiply(
        world, pipeline, ended_pipeline, lambda step: {"iid": step + 10, "created_at": NOW - timedelta(hours=step)}
    )
    dialect = "sqlite" if world.database.is_sqlite else "postgresql"
    values = {"b_project": world.project_id, "b_since": NOW - timedelta(days=2), "b_name": "unit", "b_ref": "main"}
    statements = {
        "by name": figures._by(dialect, name_given=False),
        "by day": figures._by(dialect, name_given=True),
        "coverage": figures._covered(dialect),
    }
    plan = await query_plan(world, statements[which], values)
    index = "pipeline_of_project_by_time" if which == "coverage" else "job_of_project_by_end"
    assert index in plan
    assert "Seq Scan on job" not in plan
    assert "SCAN job" not in plan
