"""Runners take jobs: each job once, and only what the runner may have."""

import asyncio
from typing import Any

import pytest

from domain.pipelines.status import Status
from models.columns import table_of
from models.repositories.projects import projects
from models.repositories.queue import contacts, queue_counts, waiting_jobs
from models.repositories.queue.contacts import Contact
from models.tables.logs import Trace
from models.tables.queue import Lease, QueueEntry
from tests.models.world import World, hand_out, job, pipeline, touch

lease = table_of(Lease)
queue_entry = table_of(QueueEntry)
trace = table_of(Trace)

MANY = "shard: {script: x, parallel: 50}\n"
TAGGED = """
    plain: {script: x}
    linux: {script: x, tags: [linux]}
    both: {script: x, tags: [linux, gpu]}
"""


async def test_two_claims_never_get_the_same_job(world: World) -> None:
    """50 jobs, 10 takers at the same time."""
    pipeline_id = await world.begin(MANY)

    async def take_all(system: str) -> list[int]:
        taken = []
        while found := await world.claim(system_id=system):
            assert found[1] == 1
            taken.append(found[0])
        return taken

    hands = await asyncio.gather(*(take_all(f"s_{number}") for number in range(10)))
    taken = [job_id for hand in hands for job_id in hand]
    assert len(taken) == len(set(taken)) == 50
    assert set((await world.statuses(pipeline_id)).values()) == {"running"}
    for number, hand in enumerate(hands):
        assert [row.id for row in await world.rows(job, system_id=f"s_{number}")] == sorted(hand)


async def test_a_claim_is_one_transaction(world: World) -> None:
    """Job, stage and pipeline run, the queue forgets the job, the lease is not taken up yet."""
    pipeline_id = await world.begin()
    assert await world.claim(cancel_gracefully=True) is not None
    row = await world.row(job, name="build")
    assert (row.status, row.hand_out, row.runner_id, row.system_id) == ("running", 1, world.runner_id, "s_1")
    assert row.cancel_gracefully is True
    assert row.started_at > row.queued_at
    assert await world.stages(pipeline_id) == {"build": "running", "test": "created"}
    assert (await world.row(pipeline, id=pipeline_id)).started_at == row.started_at
    assert list(await world.rows(queue_entry)) == []
    held = await world.row(lease, job_id=row.id)
    assert (held.hand_out, held.taken_up) == (1, False)
    assert (await world.row(trace, job_id=row.id)).size == 0


async def test_a_claim_that_is_rolled_back_leaves_the_job_in_the_queue(world: World) -> None:
    await world.begin()

    async def claim_and_lose_the_client() -> None:
        async with world.database.write() as connection:
            assert await hand_out(connection, world.runner(), world.now()) is not None
            raise ConnectionResetError("the client is gone")

    with pytest.raises(Exception, match="try again"):
        await claim_and_lose_the_client()
    assert (await world.row(job, name="build")).status == "pending"
    assert await world.claim() is not None


@pytest.mark.parametrize(
    ("runner", "names"),
    [
        ({}, {"plain"}),
        ({"tags": ["linux"]}, {"plain", "linux"}),
        ({"tags": ["linux", "gpu", "more"]}, {"plain", "linux", "both"}),
        ({"tags": ["linux"], "run_untagged": False}, {"linux"}),
        ({"tags": ["gpu"], "run_untagged": False}, set()),
        ({"paused": True}, set()),
    ],
)
async def test_a_runner_gets_jobs_whose_tags_it_has_all(world: World, runner: dict[str, Any], names: set[str]) -> None:
    await world.begin(TAGGED)
    await world.set_runner(**runner)
    taken = set()
    while found := await world.claim():
        taken.add((await world.row(job, id=found[0])).name)
    assert taken == names


@pytest.mark.parametrize(("ref", "taken"), [("main", True), ("fix", False)])
async def test_a_protected_runner_gets_jobs_of_protected_refs_only(world: World, ref: str, taken: bool) -> None:
    await world.settle(await world.create("one: {script: x}\n", ref=ref))
    await world.set_runner(ref_protected=True)
    assert (await world.claim() is not None) is taken


async def test_the_oldest_job_goes_first(world: World) -> None:
    await world.begin(MANY)
    taken = [await world.take() for _ in range(5)]
    assert taken == sorted(taken)


async def test_the_same_request_gets_the_same_job_again_until_it_is_taken_up(world: World) -> None:
    await world.begin(MANY)
    first = await world.claim(request_id="r-1")
    assert first is not None
    async with world.database.read() as connection:
        assert await queue_counts.repeated(connection, ["r-1", "r-2"]) == {"r-1"}
    assert await world.claim(request_id="r-1") == first
    assert await world.claim(request_id="r-2") != first
    async with world.database.write() as connection:
        assert await touch(connection, *first)
        assert not await queue_counts.repeated(connection, ["r-1"])
    assert await world.claim(request_id="r-1") != first


async def test_only_pending_jobs_are_in_the_queue(world: World) -> None:
    pipeline_id = await world.begin(TAGGED)
    taken = await world.take()
    assert {row.job_id for row in await world.rows(queue_entry)} == {
        row.id for row in await world.rows(job, pipeline_id=pipeline_id, status=Status.PENDING)
    }
    await world.end(taken)
    await world.set_runner(tags=["linux", "gpu"])
    while found := await world.claim():
        await world.end(found[0])
    assert list(await world.rows(queue_entry)) == list(await world.rows(lease)) == []


async def test_a_job_of_an_archived_project_waits_until_it_is_unarchived(world: World) -> None:
    """It was queued before: nothing of the project runs meanwhile, and whoever asks why is told."""
    await world.begin()

    async def archive(*, archived: bool) -> str:
        async with world.database.write() as connection:
            await projects.change(connection, world.project_id, archived=archived)
            await contacts.write(connection, [Contact(world.runner_id, "s_1", {}, "")], world.now())
            found = await waiting_jobs.reasons(connection, await world.rows(job, name="build"), world.now(), 7200)
        return next(iter(found.values()), "")

    why = await archive(archived=True)
    assert await world.claim() is None
    assert why == "The project is archived, and no runner takes jobs of one that is."
    assert await archive(archived=False) == ""
    assert await world.claim() is not None
