"""Reports come into their tables, whatever happens between the upload and that."""

import asyncio
import gzip
from pathlib import Path
from typing import Any

import orjson
import pytest

from domain.errors import Unavailable
from loops import reports as loops
from loops.reports import ReportLoop
from models.columns import table_of
from models.notifications import REPORTS, Notifications
from models.repositories.artifacts import artifacts, reports
from models.repositories.namespaces import namespaces
from models.repositories.projects import projects
from models.tables.artifacts import Artifact, TestReport
from models.tables.reports import Report
from storage.objects import ObjectStore
from storage.reports.parsers import PARSERS
from tests.models.world import BEGIN, World, job
from tests.waiting import eventually

artifact = table_of(Artifact)
report = table_of(Report)
tests = table_of(TestReport)

CASES = b'<testcase name="a" time="0.5"/><testcase name="b"><failure>no</failure></testcase>'
JUNIT = b'<testsuite name="s">' + CASES + b"</testsuite>"
SAST = orjson.dumps({"vulnerabilities": [{"name": "bug\0", "severity": "High"}]})


class Reading:
    """A world with one job that hands in reports, and the loop that reads them."""

    def __init__(self, world: World, root: Path, job_id: int) -> None:
        self.world = world
        self.root = root
        self.job_id = job_id
        self.store = ObjectStore.open(root.as_uri())
        self.notifications = Notifications()

    def loop(self) -> ReportLoop:
        """A loop as a new process has it."""
        return ReportLoop(self.world.database, self.store, self.notifications)

    async def hand_in(self, kind: str, content: bytes) -> None:
        """What an upload leaves."""
        key = f"projects/1/jobs/{self.job_id}/{kind}"
        stored = await self.store.put(key, content)
        async with self.world.database.write() as connection:
            await artifacts.add(
                connection,
                BEGIN,
                job_id=self.job_id,
                project_id=self.world.project_id,
                file_type=kind,
                file_format="raw",
                filename=kind,
                size=stored.size,
                sha256=stored.sha256,
                object_key=key,
                parsed=False,
            )


@pytest.fixture
async def reading(world: World, tmp_path: Path) -> Reading:
    """A job that runs."""
    pipeline_id = await world.begin("one: {script: x}\n")
    return Reading(world, tmp_path / "objects", (await world.row(job, pipeline_id=pipeline_id)).id)


async def test_each_kind_comes_into_its_table_once(reading: Reading) -> None:
    await reading.hand_in("junit", gzip.compress(JUNIT))
    await reading.hand_in("sast", SAST)
    await reading.hand_in("terraform", b'{"create": 1, "update": 0, "delete": 2}')
    assert await reading.loop().parse() == 3
    assert await reading.loop().parse() == 0
    row = await reading.world.row(tests)
    assert (row.job_id, row.total, row.failed, row.error) == (reading.job_id, 2, 1, "")
    assert [case["name"] for case in row.cases] == ["a", "b"]
    found = {row.kind: (row.total, row.summary, row.error) for row in await reading.world.rows(report)}
    assert found == {
        "sast": (1, {"high": 1}, ""),
        "terraform": (1, {"create": 1, "update": 0, "delete": 2}, ""),
    }


@pytest.mark.parametrize("kind", ["junit", "cobertura"])
@pytest.mark.parametrize("content", [b"<coverage>", b"<!DOCTYPE a [<!ENTITY b 'c'>]><a/>", b"x" * 10_485_761])
async def test_a_broken_report_is_kept_with_its_fault(reading: Reading, kind: str, content: bytes) -> None:
    await reading.hand_in(kind, content)
    assert await reading.loop().parse() == 1
    row = await reading.world.row(tests if kind == "junit" else report)
    assert row.total == 0
    assert "report" in row.error


async def test_a_reader_that_fails_holds_up_no_other_report(reading: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_content: bytes) -> Any:
        raise KeyError("on purpose")

    monkeypatch.setattr(loops, "PARSERS", {**PARSERS, "sast": broken})
    await reading.hand_in("sast", SAST)
    await reading.hand_in("terraform", b'{"create": 1}')
    assert await reading.loop().parse() == 2
    assert [bool(row.error) for row in await reading.world.rows(report)] == [True, False]


async def test_while_the_store_is_away_reports_wait(reading: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*_: Any) -> Any:
        raise Unavailable("The store is away, on purpose.")
        yield b""

    await reading.hand_in("sast", SAST)
    with monkeypatch.context() as patched:
        patched.setattr(ObjectStore, "read", away)
        assert await reading.loop().parse() == 0
    assert await reading.loop().parse() == 1


@pytest.mark.parametrize("fault", ["missing", "rotten"])
async def test_a_file_that_is_not_what_was_stored_is_never_read(reading: Reading, fault: str) -> None:
    await reading.hand_in("sast", SAST)
    file = reading.root / f"projects/1/jobs/{reading.job_id}/sast"
    if fault == "missing":
        file.unlink()
    else:
        file.write_bytes(SAST.replace(b"High", b"Info"))
    assert await reading.loop().parse() == 1
    row = await reading.world.row(report)
    assert (row.total, "in the store" in row.error) == (0, True)


async def test_killed_between_reading_and_writing_it_is_read_again(
    reading: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = reports.put

    async def killed(*given: Any, **values: Any) -> None:
        await put(*given, **values)
        raise RuntimeError("on purpose")

    await reading.hand_in("sast", SAST)
    with monkeypatch.context() as patched:
        patched.setattr(reports, "put", killed)
        with pytest.raises(RuntimeError, match="on purpose"):
            await reading.loop().parse()
    assert await reading.world.rows(report) == []
    assert await reading.loop().parse() == 1


async def test_two_loops_keep_one_report_once(reading: Reading, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other one was faster while this one read."""
    parsed = loops._parsed

    await reading.hand_in("sast", SAST)
    rows = []

    async def overtaken(row: Any) -> dict[str, Any]:
        rows.append(row)
        if len(rows) == 1:
            assert await other.parse() == 1
        return parsed(row.file_type, SAST, row.sha256)

    first, other = reading.loop(), reading.loop()
    monkeypatch.setattr(first, "_read", overtaken)
    assert await first.parse() == 0
    assert len(await reading.world.rows(report)) == 1


async def test_no_project_waits_for_all_reports_of_another(
    reading: Reading, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    world = reading.world
    await world.begin("many: {script: x, parallel: 4}\n")
    jobs = [row.id for row in await world.rows(job) if row.id != reading.job_id]
    for key in jobs:
        reading.job_id = key
        await reading.hand_in("sast", SAST)
    async with world.database.write() as connection:
        owner = await namespaces.get_by(connection, path="acme")
        world.project_id = await projects.create_project(
            connection, owner, "other", "Other", world.user_id, world.now()
        )
    await world.begin("one: {script: x}\n")
    reading.job_id = (await world.row(job, project_id=world.project_id)).id
    await reading.hand_in("sast", SAST)
    read: list[int] = []
    loop = reading.loop()
    real = loop._read

    async def seen(row: Any) -> dict[str, Any]:
        read.append(row.job_id)
        return await real(row)

    monkeypatch.setattr(loop, "_read", seen)
    assert await loop.parse() == 5
    assert read == [jobs[0], reading.job_id, *jobs[1:]]


async def test_an_upload_wakes_the_loop(reading: Reading) -> None:
    running = asyncio.create_task(reading.loop().run())
    try:
        await reading.hand_in("sast", SAST)
        await reading.notifications.notify(REPORTS)

        async def is_read() -> bool:
            return bool(await reading.world.rows(report))

        await eventually(is_read, "the report is read")
    finally:
        running.cancel()
