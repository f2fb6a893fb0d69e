"""The history of tests in SQL: what is kept of each report, how many runs, and what is told of it."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import insert, select, text

from domain.errors import NotFound
from domain.pipelines.flakiness import RECENT
from domain.pipelines.status import Status
from domain.pipelines.unit_tests import KEPT_RUNS, results_of
from models.repositories.artifacts import unit_test_runs, unit_tests
from models.repositories.artifacts.unit_tests import NotedTest, Report, run, unit_test
from models.repositories.installation import dead_rows
from models.repositories.paging import every_of
from models.repositories.pipelines import pipeline_removal
from models.repositories.projects import project_removal
from settings import Retention
from storage.reports.junit import JUnitCase, parse_junit
from tests.models.query_plans import query_plan
from tests.models.world import BEGIN, World, job

CONFIG = "unit: {script: x}\n"
NOW = BEGIN + timedelta(days=1)


def cases(**ends: str) -> Sequence[JUnitCase]:
    """Cases of a report, by name."""
    bodies = {"success": "", "failed": "<failure/>", "error": "<error/>", "skipped": "<skipped/>"}
    case = '<testcase classname="c" name="{}" time="2">{}</testcase>'
    rows = "".join(case.format(name, bodies[end]) for name, end in ends.items())
    return parse_junit(f"<testsuite>{rows}</testsuite>".encode()).cases


async def tell(
    world: World, job_id: int, at: datetime = NOW, *, many: bool = False, default: bool = True, **ends: str
) -> Sequence[NotedTest]:
    """Keep a report of a job."""
    async with world.database.write() as connection:
        of = Report(world.project_id, job_id, at, default, many)
        return await unit_tests.put(connection, of, results_of("unit", cases(**ends)), RECENT)


async def jobs_of(world: World, number: int) -> list[int]:
    """Jobs of pipelines of their own."""
    pipelines = [await world.begin(CONFIG) for _ in range(number)]
    return [(await world.row(job, pipeline_id=pipeline_id)).id for pipeline_id in pipelines]


async def copies_of(world: World, job_id: int, number: int) -> list[int]:
    """More jobs of its pipeline."""
    async with world.database.write() as connection:
        row = (await connection.execute(select(job).where(job.c.id == job_id))).mappings().one()
        like = {name: value for name, value in row.items() if name not in {"id", "first_id"}}
        made = [await connection.execute(insert(job).values(like).returning(job.c.id)) for _ in range(number)]
        return [int(one.scalar_one()) for one in made]


async def ids(world: World) -> dict[str, int]:
    """The tests by name."""
    return {row.name: row.id for row in await world.rows(unit_test)}


async def test_a_report_is_kept_once_however_often_it_is_written(world: World) -> None:
    first, second = await jobs_of(world, 2)
    for _ in range(2):
        await tell(world, first, a="success", b="failed", c="skipped")
    await tell(world, second, a="error")
    found = await ids(world)
    assert sorted(found) == ["a", "b"], "one that is skipped was not run"
    async with world.database.read() as connection:
        runs = {name: await unit_test_runs.last_runs(connection, key) for name, key in found.items()}
        row = await unit_test_runs.get(connection, world.project_id, found["a"], NOW)
        with pytest.raises(NotFound):
            await unit_test_runs.get(connection, world.project_id + 1, found["a"], NOW)
    assert [(one.job_id, one.status, one.seconds) for one in runs["a"]] == [(second, "error", 2), (first, "success", 2)]
    assert [(one.job_id, one.status) for one in runs["b"]] == [(first, "failed")]
    assert (runs["b"][0].job_name, runs["b"][0].ref, runs["b"][0].sha) == ("unit", "main", "c0ffee")
    assert (row.suite, row.classname, row.name, row.failed_at) == ("unit", "c", "a", NOW)


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
async def test_a_report_reads_its_own_tests_only(world: World) -> None:
    """On PostgreSQL, which counts what a transaction reads; on SQLite `tests/loops` has the processor time."""
    first, second = await jobs_of(world, 2)
    known: Any = {f"t{number}": "failed" for number in range(5_000)}
    await tell(world, first, **known)
    few = results_of("unit", cases(t1="failed", t2="success", new="success"))
    async with world.database.write() as connection:
        await connection.execute(
            text("ANALYZE unit_test")
        )  # as it does itself after a minute: it knows how many there are
    read = "SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables WHERE relname = 'unit_test'"
    async with world.database.write() as connection:
        before = (await connection.execute(text(read))).scalar_one()
        await unit_tests.put(connection, Report(world.project_id, second, NOW, True, False), few, RECENT)
        after = (await connection.execute(text(read))).scalar_one()
    assert 0 < after - before < 50


async def test_of_a_job_that_is_gone_nothing_is_kept(world: World) -> None:
    assert await tell(world, 987654, a="failed") == []
    assert await world.rows(unit_test) == []


async def test_the_last_hundred_runs_of_a_test_are_kept(world: World) -> None:
    (first,) = await jobs_of(world, 1)
    later = await copies_of(world, first, KEPT_RUNS + 40)
    trimmed = 0
    for job_id in (first, *later):
        noted = await tell(world, job_id, a="success", b="success")
        due = [test.id for test in noted if test.is_to_be_trimmed]
        if due:
            async with world.database.write() as connection:
                await unit_tests.trim(connection, due)
            trimmed += 1
        assert len(await world.rows(run)) <= 2 * (KEPT_RUNS + 20)
    assert trimmed == (KEPT_RUNS + 41) // 20
    async with world.database.read() as connection:
        kept = await unit_test_runs.last_runs(connection, (await ids(world))["a"])
    assert [one.job_id for one in kept] == sorted(later, reverse=True)[:KEPT_RUNS]


async def test_only_failures_that_ended_a_job_on_the_default_branch_count(world: World) -> None:
    failed, passed, retried, many, old, elsewhere, running = await jobs_of(world, 7)
    await end(world, Status.FAILED, failed, retried, many, old, elsewhere)
    await end(world, Status.SUCCESS, passed)
    async with world.database.write() as connection:
        await connection.execute(job.update().where(job.c.id == retried).values(retried=True))
    await tell(world, elsewhere, default=False, a="failed")
    await tell(world, many, many=True, a="failed")
    await tell(world, old, at=NOW - RECENT - timedelta(seconds=1), a="failed")
    for job_id in (failed, passed, retried, running):
        await tell(world, job_id, a="failed", b="success")
    async with world.database.read() as connection:
        rows = await world.rows(unit_test)
        found = await unit_test_runs.known(connection, world.project_id, [row.key for row in rows], NOW)
        nobody = await unit_test_runs.known(connection, world.project_id + 1, [row.key for row in rows], NOW)
        assert await unit_test_runs.known(connection, world.project_id, [], NOW) == {}
    assert {row.name: found[row.key].recent_failures for row in rows} == {"a": 1, "b": 0}
    assert nobody == {}


async def end(world: World, status: Status, *job_ids: int) -> None:
    """A runner has ended jobs, and their pipelines follow; it takes whatever waits."""
    while await world.claim() is not None:
        pass
    for job_id in job_ids:
        await world.end(job_id, status)
        await world.settle((await world.row(job, id=job_id)).pipeline_id)


async def test_a_failure_among_many_makes_no_test_suspicious(world: World) -> None:
    first, second = await jobs_of(world, 2)
    assert await tell(world, first, many=True, a="failed") == []
    assert [test.failed_at for test in await tell(world, second, a="failed")] == [NOW]


async def test_the_flaky_tests_are_listed_until_their_failures_are_old(world: World) -> None:
    (first,) = await jobs_of(world, 1)
    await tell(world, first, a="failed", c="failed")
    noted = await tell(world, first, at=NOW + timedelta(seconds=1), b="failed")
    by_name = await ids(world)
    assert [test.id for test in noted] == [by_name["b"]]
    async with world.database.write() as connection:
        await unit_tests.mark(connection, {by_name["a"]: "alternates", by_name["b"]: "same_commit", by_name["c"]: ""})
    for later, expected in ((timedelta(days=1), ["b", "a"]), (RECENT + timedelta(seconds=1), [])):
        async with world.database.read() as connection:
            rows = await every_of(connection, unit_test_runs.flaky(world.project_id, NOW + later))
            one = await unit_test_runs.get(connection, world.project_id, by_name["a"], NOW + later)
        assert [row.name for row in rows] == expected
        assert one.flaky == ("alternates" if expected else "")


async def test_a_test_that_no_report_names_any_more_is_forgotten_with_its_runs(world: World) -> None:
    first, second = await jobs_of(world, 2)
    await tell(world, first, a="success", b="success")
    await tell(world, second, at=NOW + timedelta(days=60), b="success")
    later = NOW + timedelta(days=91)
    policies = [policy for policy in dead_rows.POLICIES if policy.seconds == "tests_kept"]
    for limit in (1, 500):
        for policy in policies:
            async with world.database.write() as connection:
                await dead_rows.remove(connection, policy, Retention(), later, limit)
    assert [row.name for row in await world.rows(unit_test)] == ["b"]
    assert len(await world.rows(run)) == 2


async def test_runs_go_with_their_pipeline_and_all_with_the_project(world: World) -> None:
    first, second = await jobs_of(world, 2)
    await end(world, Status.SUCCESS, first, second)
    for job_id in (first, second):
        await tell(world, job_id, a="success")
    async with world.database.write() as connection:
        assert await pipeline_removal.remove_ended(connection, (await world.row(job, id=first)).pipeline_id)
    assert [row.job_id for row in await world.rows(run)] == [second]
    async with world.database.write() as connection:
        await project_removal.remove(connection, world.project_id)
    assert await world.rows(unit_test) == []


@pytest.mark.parametrize("which", ["runs", "known"])
async def test_what_is_asked_is_found_by_an_index(world: World, which: str) -> None:
    (first,) = await jobs_of(world, 1)
    names: Any = {f"t{number}": "failed" for number in range(2000)}
    await tell(world, first, **names)
    statements: dict[str, tuple[Any, dict[str, Any]]] = {
        "runs": (unit_test_runs._RUNS, {"b_test": 7}),
        "known": (unit_test_runs._KNOWN, {"b_project": world.project_id, "b_keys": ["x", "y"], "b_since": NOW}),
    }
    plan = await query_plan(world, *statements[which])
    assert "SCAN unit_test" not in plan
    assert "Seq Scan on unit_test" not in plan
