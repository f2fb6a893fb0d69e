"""Reads of logs for everybody: what is wanted at the same moment is read once, and others have their turn between."""

import asyncio
from typing import Any

import pytest

from api.v4.jobs.log_reads import LogReads, Part
from models.repositories.logs import traces
from tests.api.v4.site import Site

LOG = b"0123456789"


async def job_with_log(site: Site) -> int:
    """A job whose runner has sent ten bytes."""
    await site.world.pipeline()
    job = await site.world.job()
    assert (await site.world.patch(job, 0, LOG)).status_code == 202
    return int(job["id"])


def counted(monkeypatch: pytest.MonkeyPatch, name: str) -> list[Any]:
    """What a function of the repository is asked for from now on."""
    asked: list[Any] = []
    function = getattr(traces, name)

    async def noted(connection: Any, *given: Any) -> Any:
        asked.append(given)
        return await function(connection, *given)

    monkeypatch.setattr(traces, name, noted)
    return asked


async def test_many_readers_at_one_place_of_a_log_are_one_read(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    job_id, reads = await job_with_log(site), site.services.log_reads
    parts, heads, looks = (counted(monkeypatch, name) for name in ("read", "heads", "watch"))
    part = Part(job_id, 0, 2, 5)
    assert await asyncio.gather(*(reads.part(part) for _ in range(50))) == [b"23456"] * 50
    assert {head.size for head in await asyncio.gather(*(reads.head(job_id) for _ in range(50)))} == {10}
    await asyncio.gather(*(reads.note_look(job_id) for _ in range(50)))
    assert (len(parts), len(heads), len(looks)) == (1, 1, 1)


async def test_readers_of_many_logs_are_one_look(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    job_id, reads = await job_with_log(site), site.services.log_reads
    heads = counted(monkeypatch, "heads")
    found = await asyncio.gather(*(reads.head(job_id + number) for number in range(20)))
    assert [head.size for head in found] == [10] + [0] * 19
    assert len(heads) == 1


async def test_who_does_something_else_has_his_turn_between_a_few_readers(site: Site) -> None:
    job_id, reads, turns = await job_with_log(site), LogReads(site.services.database), 0

    async def work() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    working = asyncio.create_task(work())
    parts = await asyncio.gather(*(reads.part(Part(job_id, 0, 0, length)) for length in range(1, 101)))
    working.cancel()
    assert [len(part) for part in parts] == [*range(1, 10), *([10] * 91)]
    assert turns >= 100 / 4
