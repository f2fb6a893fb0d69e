"""A long log is never in memory: not when it is moved, not when it is read, not when its end is looked at."""

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from api.v4.jobs import log as job_log
from loops.archiver import PART, Archiver
from models.repositories.logs import trace_chunks
from models.repositories.queue import held_jobs
from models.rows.pipelines import JobFacts
from tests.api.v4.site import Site

MEBIBYTE = 1024 * 1024
LENGTH = 16 * MEBIBYTE
BOUND = 6 * MEBIBYTE
"""Far less than the log, far more than the parts in which it goes."""


@contextmanager
def bounded() -> Iterator[None]:
    """Fail when the block has held more than the bound at any time."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak - before < BOUND


@pytest.mark.parametrize("piece", [64 * 1024, MEBIBYTE])
async def test_a_long_log_is_moved_and_read_in_parts(site: Site, piece: int) -> None:
    assert 4 * PART < BOUND
    await site.world.pipeline("one: {script: a}\n")
    job = await site.world.job()
    content = b"line of a log\n" * (piece // 14)
    async with site.services.database.write() as connection:
        for _ in range(LENGTH // len(content)):
            row = await held_jobs.look(connection, job["id"])
            assert row is not None
            await trace_chunks.append(connection, [(row, content)])
    found = await site.world.row(job["id"])
    with bounded():
        assert await read(site, found) == LENGTH // len(content) * len(content)
    assert (await site.world.put(job, "success")).status_code == 200
    with bounded():
        assert await Archiver(site.services.database, site.services.store, site.services.notifications).move() == 1
    with bounded():
        assert await read(site, found) == LENGTH // len(content) * len(content)


async def read(site: Site, job: JobFacts) -> int:
    """Read it all as a slow reader does; the number of bytes."""
    log = await job_log.log_of(site.services, job)
    return sum([len(part) async for part in job_log.read_log(site.services, log)])
