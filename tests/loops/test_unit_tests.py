"""The history of tests grows with each report that is read, whatever happens meanwhile."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loops import unit_tests as keeping
from loops.unit_tests import keep
from models.notifications import pipeline_topic
from models.repositories.artifacts import artifacts, reports, unit_tests
from models.repositories.artifacts.reports import UnreadReportRow
from models.repositories.artifacts.unit_tests import run, unit_test
from models.session import Database
from settings import Settings
from storage.reports.junit import JUnitCase, parse_junit
from tests.growth import assert_linear
from tests.loops.test_reports import Reading
from tests.models.database import migrated
from tests.models.test_unit_tests import copies_of
from tests.models.world import BEGIN, World, job


def report(**bad: bool) -> bytes:
    """A report in which these tests fail, or do not."""
    rows = "".join(f'<testcase name="{name}">{"<failure/>" * fails}</testcase>' for name, fails in bad.items())
    return f"<testsuite>{rows}</testsuite>".encode()


@pytest.fixture
async def reading(world: World, tmp_path: Path) -> Reading:
    """A job that runs."""
    pipeline_id = await world.begin("'one 1/2': {script: x}\n")
    return Reading(world, tmp_path / "objects", (await world.row(job, pipeline_id=pipeline_id)).id)


async def hand_in(reading: Reading, job_id: int, content: bytes) -> None:
    """What the upload of another job leaves."""
    await Reading(reading.world, reading.root, job_id).hand_in("junit", content)


async def marks(world: World) -> dict[str, str]:
    """Which tests are flaky, and why."""
    return {row.name: row.flaky for row in await world.rows(unit_test)}


async def test_a_test_that_fails_and_passes_on_one_commit_is_flaky(reading: Reading) -> None:
    world = reading.world
    (again,) = await copies_of(world, reading.job_id, 1)
    await hand_in(reading, reading.job_id, report(a=True, b=False, c=True))
    await reading.loop().parse()
    assert await marks(world) == {"a": "", "b": "", "c": ""}
    assert {row.suite for row in await world.rows(unit_test)} == {"one"}
    assert {(row.job_id, row.on_default, row.among_many) for row in await world.rows(run)} == {
        (reading.job_id, True, False)
    }
    await hand_in(reading, again, report(a=False, b=False, c=True))
    await reading.loop().parse()
    assert await marks(world) == {"a": "same_commit", "b": "", "c": ""}


async def test_whoever_looks_at_the_pipeline_is_told_when_its_tests_are_there(reading: Reading) -> None:
    await hand_in(reading, reading.job_id, report(a=True))
    waiter = reading.notifications.subscribe(pipeline_topic(await _pipeline_of(reading)))
    await reading.loop().parse()
    assert waiter.done()


async def test_where_very_many_tests_fail_none_is_suspected(reading: Reading) -> None:
    world = reading.world
    (again,) = await copies_of(world, reading.job_id, 1)
    many = {f"t{number}": True for number in range(201)}
    await hand_in(reading, reading.job_id, report(**many))
    await hand_in(reading, again, report(**dict.fromkeys(many, False)))
    await reading.loop().parse()
    assert set((await marks(world)).values()) == {""}
    assert {row.among_many for row in await world.rows(run, job_id=reading.job_id)} == {True}


async def test_where_too_many_failed_lately_marks_stay_as_they_are(
    reading: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    (again,) = await copies_of(reading.world, reading.job_id, 1)
    await hand_in(reading, reading.job_id, report(a=True, b=True))
    await hand_in(reading, again, report(a=False, b=False))
    monkeypatch.setattr(keeping, "MAX_JUDGED", 1)
    await reading.loop().parse()
    assert await marks(reading.world) == {"a": "", "b": ""}
    assert len(await reading.world.rows(run)) == 4


async def test_killed_between_two_batches_all_are_kept_once(reading: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    put, calls = unit_tests.put, 0

    async def killed(*given: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise RuntimeError("on purpose")
        return await put(*given)

    await hand_in(reading, reading.job_id, report(a=True, b=False, c=False))
    with monkeypatch.context() as patched:
        patched.setattr(keeping, "BATCH", 2)
        patched.setattr(unit_tests, "put", killed)
        with pytest.raises(RuntimeError, match="on purpose"):
            await reading.loop().parse()
    assert len(await reading.world.rows(run)) == 2
    assert await reading.loop().parse() == 1
    assert sorted(row.status for row in await reading.world.rows(run)) == ["failed", "success", "success"]
    assert sorted(await marks(reading.world)) == ["a", "b", "c"]


async def test_erased_meanwhile_no_run_stays(reading: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    world, parsed = reading.world, reports.parsed

    async def erased(connection: Any, artifact_id: int) -> bool:
        await artifacts.remove(connection, await artifacts.of_jobs(connection, [reading.job_id]))
        await reports.remove(connection, reading.job_id)
        return await parsed(connection, artifact_id)

    await hand_in(reading, reading.job_id, report(a=True))
    monkeypatch.setattr(reports, "parsed", erased)
    await reading.loop().parse()
    assert await world.rows(run) == []


async def test_read_by_two_the_runs_stay(reading: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed, loop = reports.parsed, reading.loop()

    async def too_late(connection: Any, artifact_id: int) -> bool:
        assert await parsed(connection, artifact_id)
        await reports.put_tests(connection, **_nothing(reading.job_id, await _pipeline_of(reading)))
        return False

    await hand_in(reading, reading.job_id, report(a=True))
    monkeypatch.setattr(reports, "parsed", too_late)
    await loop.parse()
    assert len(await reading.world.rows(run)) == 1


async def _pipeline_of(reading: Reading) -> int:
    return int((await reading.world.row(job, id=reading.job_id)).pipeline_id)


def _nothing(job_id: int, pipeline_id: int) -> dict[str, Any]:
    figures = dict.fromkeys(("total", "failed", "errored", "skipped"), 0)
    return {"job_id": job_id, "pipeline_id": pipeline_id, "seconds": 0.0, "cases": [], **figures}


async def test_a_job_that_is_gone_keeps_nothing(reading: Reading) -> None:
    row = UnreadReportRow(1, reading.world.project_id, 987654, "junit", "", "", 1, BEGIN, 1)
    await keep(reading.world.database, row, _cases(3))
    assert await reading.world.rows(unit_test) == []


def _cases(number: int) -> tuple[JUnitCase, ...]:
    rows = "".join(f'<testcase classname="c" name="test {place}"/>' for place in range(number))
    return parse_junit(f"<testsuite>{rows}</testsuite>".encode()).cases


def test_a_report_costs_what_its_length_does(tmp_path: Path) -> None:
    """On SQLite, whose work is that of this process."""
    with asyncio.Runner() as runner:
        context = migrated(Database(Settings(home=tmp_path, database_url="").database))
        database = runner.run(context.__aenter__())
        try:
            world = runner.run(World.make(database))
            pipeline_id = runner.run(world.begin("one: {script: x}\n"))
            job_id = runner.run(world.row(job, pipeline_id=pipeline_id)).id
            row = UnreadReportRow(1, world.project_id, job_id, "junit", "", "", 1, BEGIN, pipeline_id)

            def made(size: int) -> Callable[[], object]:
                cases = _cases(size)
                return lambda: runner.run(keep(database, row, cases))

            assert_linear(made, 1000)
        finally:
            runner.run(context.__aexit__(None, None, None))
