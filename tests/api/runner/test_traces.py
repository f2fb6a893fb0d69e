"""`PATCH /jobs/:id/trace`."""

import asyncio
import zlib
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from models.repositories.logs import traces
from models.repositories.pipelines import outbox
from models.repositories.pipelines.cancellation import cancel_jobs
from tests.api.runner.world import World


async def test_chunks_are_appended_in_order(world: World) -> None:
    await world.pipeline()
    job = await world.job()
    first = await world.patch(job, 0, b"hello ")
    second = await world.patch(job, 6, b"world\n")
    assert (first.status_code, second.status_code) == (202, 202)
    assert second.headers["range"] == "0-12"
    assert second.headers["job-status"] == "running"
    assert int(second.headers["x-gitlab-trace-update-interval"]) > 0


@pytest.mark.parametrize("start", [0, 3, 7, 1000])
async def test_a_chunk_out_of_order_is_refused_with_the_true_size(world: World, start: int) -> None:
    await world.pipeline()
    job = await world.job()
    await world.patch(job, 0, b"hello ")
    response = await world.patch(job, start, b"again")
    assert (response.status_code, response.headers["range"]) == (416, "0-6")
    async with world.services.database.read() as connection:
        assert await traces.read(connection, job["id"], 0, 0, 100) == b"hello "


@pytest.mark.parametrize("header", ["", "bytes", "a-b", "-5", "0"])
async def test_a_chunk_without_a_place_is_a_clear_error(world: World, header: str) -> None:
    await world.pipeline()
    job = await world.job()
    headers = {"JOB-TOKEN": job["token"], "Content-Range": header}
    response = await world.client.patch(f"/api/v4/jobs/{job['id']}/trace", content=b"x", headers=headers)
    assert response.status_code == 400
    assert "Content-Range" in response.json()["message"]


async def test_a_chunk_that_is_too_large_is_refused_and_names_the_setting(world: World) -> None:
    await world.pipeline()
    job = await world.job()
    response = await world.patch(job, 0, b"x" * 20_001)
    assert response.status_code == 413
    said = response.json()["message"]
    assert "a piece of log has 20,001 bytes (19.53 KiB), and at most 20,000 bytes" in said
    assert "The limit is PERDURE_TRACE_PATCH_BYTES of this installation. Whoever runs it can raise that" in said


async def test_a_chunk_of_nothing_changes_nothing(world: World) -> None:
    """Some runners flush an empty buffer."""
    await world.pipeline()
    job = await world.job()
    headers = {"JOB-TOKEN": job["token"], "Content-Range": "0-0"}
    response = await world.client.patch(f"/api/v4/jobs/{job['id']}/trace", content=b"", headers=headers)
    assert (response.status_code, response.headers["range"]) == (202, "0-0")
    assert (await world.patch(job, 0, b"text")).headers["range"] == "0-4"


async def test_a_log_beyond_the_limit_ends_its_job(world: World) -> None:
    await world.pipeline()
    job = await world.job()
    for start in (0, 20_000):
        assert (await world.patch(job, start, b"x" * 20_000)).status_code == 202
    response = await world.patch(job, 40_000, b"x" * 20_000)
    assert (response.status_code, response.headers["job-status"]) == (403, "failed")
    assert (await world.row(job["id"])).failure_reason == "trace_size_exceeded"
    words = "at most 50,000 bytes (48.83 KiB) are taken. The limit is PERDURE_TRACE_BYTES of this installation."
    assert words in response.json()["message"]
    async with world.services.database.read() as connection:
        pieces = (
            (await connection.execute(select(traces.chunk.c.content).order_by(traces.chunk.c.start))).scalars().all()
        )
    assert words in pieces[-1].decode(), "people read it where the log ends"


async def test_the_verdict_freezes_the_log(world: World) -> None:
    await world.pipeline()
    job = await world.job()
    await world.patch(job, 0, b"all\n")
    await world.put(job, "success", b"all\n")
    late = await world.patch(job, 4, b"more\n")
    assert (late.status_code, late.headers["job-status"]) == (403, "success")


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20)), max_size=12))
async def test_whatever_arrives_the_stored_log_is_a_prefix_of_the_sent_one(
    world: World, cuts: list[tuple[int, int]]
) -> None:
    log = bytes(range(32, 112))
    await world.pipeline("one: {script: a}\n")
    job = await world.job()
    size = 0
    for start, length in cuts:
        piece = log[start : start + length]
        response = await world.patch(job, start, piece)
        assert response.status_code == (202 if start == size else 416)
        size += len(piece) if start == size else 0
        assert response.headers["range"] == f"0-{size}"
    async with world.services.database.read() as connection:
        head = await traces.head(connection, job["id"])
        stored = await traces.read(connection, job["id"], head.generation, 0, 1000)
    assert stored == log[: head.size]
    assert head.crc == zlib.crc32(stored)


async def test_a_runner_hears_of_a_cancel_by_a_refused_chunk_too(world: World) -> None:
    pipeline_id = await world.pipeline()
    job = await world.job()
    await world.patch(job, 0, b"hello ")
    async with world.services.database.write() as connection:
        await cancel_jobs(connection, pipeline_id, [job["id"]], world.services.clock())
    response = await world.patch(job, 0, b"hello ")
    assert (response.status_code, response.headers["range"], response.headers["job-status"]) == (
        416,
        "0-6",
        "canceling",
    )


async def test_a_chunk_that_came_once_is_kept_once_however_often_it_was_sent(world: World) -> None:
    await world.pipeline()
    job = await world.job()
    responses = await asyncio.gather(*(world.patch(job, 0, b"hello ") for _ in range(20)))
    assert sorted(response.status_code for response in responses) == [202] + [416] * 19
    assert {response.headers["range"] for response in responses} == {"0-6"}
    assert (await world.patch(job, 6, b"world")).headers["range"] == "0-11"


async def test_chunks_in_any_order_become_one_log(world: World) -> None:
    """Each is sent until it is taken, as a runner does; late and doubled ones change nothing."""
    await world.pipeline()
    job = await world.job()
    log, generator = bytes(range(256)) * 4, Random(6)
    chunks = [(start, log[start : start + 100]) for start in range(0, len(log), 100)] * 2
    size = 0
    while size < len(log):
        generator.shuffle(chunks)
        responses = await asyncio.gather(*(world.patch(job, start, chunk) for start, chunk in chunks))
        sizes = [int(response.headers["range"].removeprefix("0-")) for response in responses]
        assert all(
            response.status_code in {202, 416} and size <= told <= len(log)
            for response, told in zip(responses, sizes, strict=True)
        )
        size = max(sizes)
    assert (await world.put(job, "success", log)).status_code == 200
    assert not (await world.row(job["id"])).log_incomplete


@pytest.mark.parametrize("state", ["success", "failed"])
async def test_the_same_verdict_a_hundred_times_at_once_is_one(world: World, state: str) -> None:
    await world.pipeline()
    job = await world.job()
    await world.patch(job, 0, b"all\n")
    responses = await asyncio.gather(*(world.put(job, state, b"all\n") for _ in range(100)))
    assert {response.status_code for response in responses} == {200}
    async with world.services.database.read() as connection:
        rows = await connection.execute(select(outbox.outbox.c.id).where(outbox.outbox.c.kind == outbox.OUTCOME))
        assert len(rows.all()) == 1
    assert (await world.row(job["id"])).status == state


async def test_of_two_verdicts_at_once_one_stands(world: World) -> None:
    await world.pipeline()
    job = await world.job()
    responses = await asyncio.gather(*(world.put(job, state, b"") for state in ("success", "failed") * 10))
    status = (await world.row(job["id"])).status
    for state, response in zip(("success", "failed") * 10, responses, strict=True):
        assert response.status_code == (200 if state == status else 403)
        assert response.headers.get("job-status", status) == status
