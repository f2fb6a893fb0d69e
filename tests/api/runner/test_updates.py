"""`PUT /jobs/:id`."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, update

from domain.pipelines.operations import cancel_pipeline
from models.repositories.logs.traces import head
from models.repositories.pipelines import outbox
from models.repositories.pipelines.cancellation import cancel_jobs
from models.repositories.pipelines.job_rows import job as job_table
from models.repositories.queue import held_jobs, leases
from tests.api.runner.world import World


async def tick(world: World) -> None:
    """Let the clock of leases count one tick."""
    async with world.services.database.write() as connection:
        assert await leases.tick(connection, every=0.0) is not None


async def look(world: World, job: dict[str, Any]) -> Any:
    """A held job with its lease."""
    async with world.services.database.read() as connection:
        return await held_jobs.look(connection, job["id"])


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
    response = await world.put(job, "success", b"")
    assert response.status_code == 200
    assert "job-status" not in response.headers
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
    response = await world.put(job, "failed", b"")
    assert (response.status_code, response.headers["job-status"]) == (403, "success")
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
    response = await world.put(job, "exploded")
    assert response.status_code == 400
    assert "exploded" in response.json()["message"]


@pytest.mark.parametrize(
    ("sent", "kept"), [(3, 3), (None, None), ("3", None), (True, None), (3.0, None), (2**40, None)]
)
async def test_only_an_integer_is_an_exit_code(world: World, sent: object, kept: int | None) -> None:
    await world.pipeline()
    job = await world.job()
    assert (await world.put(job, "failed", b"", exit_code=sent)).status_code == 200
    assert (await world.row(job["id"])).exit_code == kept


@pytest.mark.parametrize("state", ["running", "pending"])
async def test_whoever_is_alive_hears_the_status_and_when_to_send_its_log(world: World, state: str) -> None:
    await world.pipeline()
    response = await world.put(await world.job(), state)
    assert (response.status_code, response.headers["job-status"]) == (200, "running")
    assert int(response.headers["x-gitlab-trace-update-interval"]) > 0
    assert response.headers["content-type"] == "application/json"


async def test_a_hand_out_that_is_still_pending_at_its_runner_waits_on(world: World) -> None:
    """The first phase of a commit in two: the job neither counts as taken up nor goes back to the queue."""
    await world.pipeline()
    job = await world.job()
    for _ in range(2):
        await tick(world)
        assert (await world.put(job, "pending")).status_code == 200
    row = await look(world, job)
    assert (row.taken_up, row.contact, row.ticks) == (False, 2, 2)
    assert (await world.put(job, "running")).status_code == 200
    assert (await look(world, job)).taken_up


async def test_a_job_that_was_taken_up_is_pending_at_nobody(world: World) -> None:
    await world.pipeline()
    job = await world.job()
    await world.put(job, "running")
    response = await world.put(job, "pending")
    assert (response.status_code, response.json()["message"].split(":")[0]) == (409, "409 Conflict")
    await world.put(job, "success", b"")
    late = await world.put(job, "pending")
    assert (late.status_code, late.headers["job-status"]) == (403, "success")


async def test_a_verdict_needs_no_acceptance_before(world: World) -> None:
    """Runners that know no acceptance end a short job with their first call."""
    await world.pipeline()
    job = await world.job()
    assert (await world.put(job, "success", b"")).status_code == 200
    assert (await world.row(job["id"])).status == "success"


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


async def test_a_412_whose_answer_was_lost_is_said_again_but_not_for_ever(world: World) -> None:
    """The runner repeats its call before it has sent a byte again."""
    await world.pipeline()
    job = await world.job()
    await world.patch(job, 0, b"the holy log\n")
    responses = [(await world.put(job, "success", b"the whole log\n")).status_code for _ in range(4)]
    assert responses == [412, 412, 412, 200]
    row = await world.row(job["id"])
    assert (row.status, row.log_incomplete) == ("success", True)


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
        from models.repositories.pipelines import loading

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
    response = await world.request(info={"features": {}})
    job = response.json()
    async with world.services.database.write() as connection:
        await cancel_jobs(connection, pipeline_id, [job["id"]], world.services.clock())
    for stopped in (await world.put(job, "running"), await world.patch(job, 0, b"x")):
        assert (stopped.status_code, stopped.headers["job-status"]) == (403, "canceled")


async def test_a_verdict_may_be_repeated_for_a_minute_and_nothing_else_may(world: World) -> None:
    await world.pipeline()
    job = await world.job()
    await world.patch(job, 0, b"all\n")
    await world.put(job, "success", b"all\n")
    for late, again in ((59, 200), (61, 403)):
        now = world.services.clock()
        ended = update(job_table).where(job_table.c.id == job["id"]).values(finished_at=now - timedelta(seconds=late))
        async with world.services.database.write() as connection:
            await connection.execute(ended)
        responses = {
            "repeated": await world.put(job, "success", b"all\n"),
            "another": await world.put(job, "failed", b"all\n"),
            "alive": await world.put(job, "running"),
            "log": await world.patch(job, 4, b"more\n"),
            "artifact": await world.upload(job, b"PK"),
        }
        codes = {name: response.status_code for name, response in responses.items()}
        assert codes == {"repeated": again, "another": 403, "alive": 403, "log": 403, "artifact": 403}
        refused = [response for response in responses.values() if response.status_code == 403]
        assert {response.headers["job-status"] for response in refused} == {"success"}
    async with world.services.database.read() as connection:
        assert (await head(connection, job["id"])).size == len(b"all\n")
