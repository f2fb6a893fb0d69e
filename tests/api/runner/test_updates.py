"""`PUT /jobs/:id`."""

import pytest
from sqlalchemy import select

from domain.operations import cancel_pipeline
from models.repositories import outbox
from models.repositories.cancellation import cancel_jobs
from models.repositories.traces import head
from tests.api.runner.world import World


async def outcomes(world: World) -> list[int]:
    """Jobs whose end the outbox holds."""
    async with world.services.database.read() as connection:
        statement = select(outbox.outbox.c.job_id).where(outbox.outbox.c.kind == outbox.OUTCOME)
        return list((await connection.execute(statement)).scalars())


async def test_the_verdict_and_its_outbox_row_come_together(world: World) -> None:
    await world.pipeline()
    job = await world.job()
    assert (await world.put(job, "running")).status_code == 200
    assert await outcomes(world) == []
    answer = await world.put(job, "success", b"")
    assert answer.status_code == 200
    assert "job-status" not in answer.headers
    assert (await world.row(job["id"])).status == "success"
    assert await outcomes(world) == [job["id"]]


async def test_a_repeated_verdict_is_accepted_once(world: World) -> None:
    await world.pipeline()
    job = await world.job()
    codes = [(await world.put(job, "failed", b"", exit_code=3)).status_code for _ in range(3)]
    assert codes == [200, 200, 200]
    assert await outcomes(world) == [job["id"]]
    assert (await world.row(job["id"])).exit_code == 3


async def test_the_first_verdict_stands(world: World) -> None:
    await world.pipeline()
    job = await world.job()
    assert (await world.put(job, "success", b"")).status_code == 200
    answer = await world.put(job, "failed", b"")
    assert (answer.status_code, answer.headers["job-status"]) == (403, "success")
    assert (await world.row(job["id"])).status == "success"


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("script_failure", "script_failure"),
        ("", "script_failure"),
        ("job_execution_timeout",) * 2,
        ("odd", "unknown_failure"),
    ],
)
async def test_any_failure_reason_is_taken(world: World, sent: str, kept: str) -> None:
    await world.pipeline()
    job = await world.job()
    assert (await world.put(job, "failed", b"", failure_reason=sent)).status_code == 200
    assert (await world.row(job["id"])).failure_reason == kept


async def test_an_exit_code_may_turn_a_failure_into_a_warning(world: World) -> None:
    await world.pipeline("one: {script: a, allow_failure: {exit_codes: [42]}}\n")
    job = await world.job()
    await world.put(job, "failed", b"", exit_code=42)
    assert (await world.row(job["id"])).allow_failure is True


async def test_an_unknown_state_is_refused(world: World) -> None:
    await world.pipeline()
    job = await world.job()
    answer = await world.put(job, "exploded")
    assert answer.status_code == 400
    assert "exploded" in answer.json()["message"]


async def test_a_log_that_differs_is_asked_for_again_once(world: World) -> None:
    log = b"the whole log\n"
    await world.pipeline()
    job = await world.job()
    await world.patch(job, 0, b"the holy log\n")
    assert (await world.put(job, "success", log)).status_code == 412
    assert (await world.row(job["id"])).status == "running"
    assert (await world.patch(job, 0, log)).status_code == 202
    assert (await world.put(job, "success", log)).status_code == 200
    row = await world.row(job["id"])
    assert (row.status, row.log_incomplete) == ("success", False)


async def test_a_log_that_was_sent_again_counts_although_it_is_shorter(world: World) -> None:
    await world.pipeline()
    job = await world.job()
    await world.patch(job, 0, b"a long first try of the log\n")
    assert (await world.put(job, "success", b"short\n")).status_code == 412
    await world.patch(job, 0, b"short\n")
    assert (await world.put(job, "success", b"short\n")).status_code == 200
    assert not (await world.row(job["id"])).log_incomplete
    async with world.services.database.read() as connection:
        assert (await head(connection, job["id"])).size == len(b"short\n")


async def test_a_log_that_still_differs_is_marked_and_keeps_its_longest_text(world: World) -> None:
    await world.pipeline()
    job = await world.job()
    await world.patch(job, 0, b"a long first try of the log\n")
    assert (await world.put(job, "success", b"never sent")).status_code == 412
    await world.patch(job, 0, b"short\n")
    assert (await world.put(job, "success", b"never sent")).status_code == 200
    row = await world.row(job["id"])
    assert (row.status, row.log_incomplete) == ("success", True)
    async with world.services.database.read() as connection:
        assert (await head(connection, job["id"])).size == len(b"a long first try of the log\n")


async def test_a_job_that_is_canceling_ends_canceled_whatever_its_runner_says(world: World) -> None:
    pipeline_id = await world.pipeline()
    job = await world.job()
    async with world.services.database.write() as connection:
        from models.repositories import loading

        loaded = await loading.load(connection, pipeline_id)
        ids = cancel_pipeline(loaded.pipeline).cancel
        await cancel_jobs(connection, pipeline_id, ids, world.services.clock())
    alive = await world.put(job, "running")
    assert (alive.status_code, alive.headers["job-status"]) == (200, "canceling")
    patched = await world.patch(job, 0, b"stopping\n")
    assert (patched.status_code, patched.headers["job-status"]) == (202, "canceling")
    assert (await world.put(job, "success", b"stopping\n")).status_code == 200
    assert (await world.row(job["id"])).status == "canceled"


async def test_a_job_that_was_canceled_tells_its_runner_to_stop(world: World) -> None:
    pipeline_id = await world.pipeline()
    answer = await world.request(info={"features": {}})
    job = answer.json()
    async with world.services.database.write() as connection:
        await cancel_jobs(connection, pipeline_id, [job["id"]], world.services.clock())
    for stopped in (await world.put(job, "running"), await world.patch(job, 0, b"x")):
        assert (stopped.status_code, stopped.headers["job-status"]) == (403, "canceled")
