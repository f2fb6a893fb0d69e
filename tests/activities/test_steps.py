"""What the steps before gave is kept for a command, and becomes that of the attempt which the command makes."""

from pathlib import Path
from typing import Any

import pytest

from activities.steps import StepActivities
from domain.errors import Unavailable
from domain.messages import Command, PinSteps
from domain.pipelines.status import Status
from models.columns import table_of
from models.repositories.artifacts import artifacts, job_objects
from models.repositories.pipelines import pinned_steps
from models.repositories.pipelines.pipeline_removal import remove_ended
from models.tables.pinned_steps import PinnedSteps
from storage.objects import ObjectStore
from tests.handed_in_steps import DONE, RUN, STEPS, hand_in, step, written
from tests.models.world import BEGIN, World, job

pinned = table_of(PinnedSteps)


class Again:
    """A pipeline whose only job has ended, and its next attempts."""

    def __init__(self, world: World, store: ObjectStore) -> None:
        """Nothing has happened."""
        self.world = world
        self.store = store
        self.pipeline_id = 0

    async def ended(self, config: str = RUN, status: Status = Status.FAILED, **values: Any) -> int:
        """A job that has ended; its id."""
        self.pipeline_id = await self.world.begin(config)
        return await self.end(status, **values)

    async def end(self, status: Status = Status.FAILED, **values: Any) -> int:
        """The job that waits is taken and ends."""
        job_id = await self.world.take()
        await self.world.end(job_id, status, reason="script_failure", **values)
        await self.world.settle(self.pipeline_id)
        return job_id

    async def pin(self, job_id: int, from_step: str, key: str = "k") -> str:
        """Ask the activity; its refusal."""
        activities = StepActivities(self.world.database, self.store)
        return (await activities.pin_steps(PinSteps(self.pipeline_id, key, job_id, from_step))).refused

    async def hand_in(self, job_id: int, *steps: Any, **values: Any) -> None:
        """What its runner did."""
        await hand_in(self.world.database, self.store, job_id, written(*steps), **values)

    async def of_job(self, job_id: int) -> Any:
        """What a runner is told of where an attempt begins."""
        async with self.world.database.read() as connection:
            return await pinned_steps.of_job(connection, job_id)

    async def latest(self) -> Any:
        """The newest attempt."""
        return await self.world.row(job, pipeline_id=self.pipeline_id, retried=False)


@pytest.fixture
def again(world: World, tmp_path: Path) -> Again:
    """Nothing has happened."""
    return Again(world, ObjectStore.open((tmp_path / "objects").as_uri()))


async def test_the_new_attempt_begins_with_what_the_steps_before_gave(again: Again) -> None:
    first = await again.ended()
    await again.hand_in(first, *STEPS)
    assert await again.pin(first, "whisper") == ""
    assert await again.pin(first, "3") == ""  # the activity is repeated
    await again.world.settle(again.pipeline_id, Command("retry_job", "k", first))
    second = await again.latest()
    assert second.attempt == 2
    assert await again.of_job(second.id) == {"from": "whisper", "done": DONE}
    assert await again.of_job(first) is None
    assert await again.pin(first, "shout") == ""  # an attempt of the activity that Temporal has given up
    (row,) = await again.world.rows(pinned)
    assert row.key is None


async def test_the_first_step_is_a_plain_retry(again: Again) -> None:
    first = await again.ended()
    assert await again.pin(first, "1") == ""
    await again.world.settle(again.pipeline_id, Command("retry_job", "k", first))
    assert await again.of_job((await again.latest()).id) is None
    assert list(await again.world.rows(pinned)) == []


async def test_a_refused_command_leaves_nothing(again: Again) -> None:
    first = await again.ended()
    await again.hand_in(first, *STEPS)
    await again.world.settle(again.pipeline_id, Command("retry_job", "other", first))
    assert await again.pin(first, "shout") == ""
    recorded = await again.world.turn(again.pipeline_id, Command("retry_job", "k", first))
    assert "is not the latest attempt" in recorded.answers[0].refused
    assert list(await again.world.rows(pinned)) == []


async def test_a_command_that_cannot_begin_at_its_step_makes_no_attempt(again: Again) -> None:
    first = await again.ended()
    refused = Command("retry_job", "k", first, refused="the store is away")
    recorded = await again.world.turn(again.pipeline_id, refused)
    assert (recorded.answers[0].refused, recorded.answers[0].jobs) == ("the store is away", ())
    assert (await again.latest()).id == first


async def test_a_state_that_permits_no_retry_is_the_first_reason(again: Again) -> None:
    pipeline_id = await again.world.begin(RUN)
    running = await again.world.take()
    decision = await again.world.turn(pipeline_id, Command("retry_job", "k", running, refused="no results"))
    assert "only a finished job can be retried" in decision.answers[0].refused


async def test_what_was_pinned_stays_when_the_results_are_gone(again: Again) -> None:
    first = await again.ended()
    await again.hand_in(first, *STEPS)
    assert await again.pin(first, "shout") == ""
    async with again.world.database.write() as connection:
        await job_objects.erase(connection, first, BEGIN)
    assert "their results were erased with the log of the attempt" in await again.pin(first, "shout", "later")
    await again.world.settle(again.pipeline_id, Command("retry_job", "k", first))
    assert await again.of_job((await again.latest()).id) == {"from": "shout", "done": {"hello": DONE["hello"]}}


async def test_an_attempt_that_is_erased_forgets_what_it_began_with(again: Again) -> None:
    first = await again.ended()
    await again.hand_in(first, *STEPS)
    await again.pin(first, "shout")
    await again.world.settle(again.pipeline_id, Command("retry_job", "k", first))
    second = await again.end()
    async with again.world.database.write() as connection:
        await job_objects.erase(connection, second, BEGIN)
    assert list(await again.world.rows(pinned)) == []


async def test_an_automatic_retry_begins_where_the_attempt_before_it_did(again: Again) -> None:
    first = await again.ended(RUN.replace("run:", "retry: 2\n      run:"), Status.SUCCESS)
    await again.hand_in(first, *STEPS)
    await again.pin(first, "shout")
    await again.world.settle(again.pipeline_id, Command("retry_job", "k", first))
    second = await again.end()
    third = await again.latest()
    assert third.id != second
    begun = {"from": "shout", "done": {"hello": DONE["hello"]}}
    assert [await again.of_job(one) for one in (first, second, third.id)] == [None, begun, begun]
    await again.end()
    await again.world.settle(again.pipeline_id, Command("retry_job", "again", third.id))
    assert await again.of_job((await again.latest()).id) is None  # whoever asks for the whole job gets it


async def test_a_pipeline_is_removed_with_what_was_pinned(again: Again) -> None:
    first = await again.ended()
    await again.hand_in(first, *STEPS)
    await again.pin(first, "shout")
    await again.world.settle(again.pipeline_id, Command("retry_job", "k", first))
    await again.end()
    await again.pin((await again.latest()).id, "1", "waits")
    async with again.world.database.write() as connection:
        assert await remove_ended(connection, again.pipeline_id)
    assert list(await again.world.rows(pinned)) == []


async def test_the_results_of_a_job_that_has_not_ended_are_not_looked_at(again: Again) -> None:
    again.pipeline_id = await again.world.begin(RUN)
    running = await again.world.take()
    await again.hand_in(running, *STEPS)
    assert "the attempt has not ended" in await again.pin(running, "shout")


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        (None, "its runner handed in no results of steps"),
        ([step("hello", "failed")], "step 'hello' before it did not succeed"),
        ([step("hello", is_kept=False)], "gave something sensitive, which is not kept"),
        ([], "step 'hello' before it did not run"),
        ([step("hello"), step("hello")], "two steps of the file have the same name"),
        ([step("else")], "its steps are not those of the job"),
        (["hello"], "step 1 of the file is no object"),
    ],
)
async def test_what_cannot_be_begun_is_refused(again: Again, steps: Any, said: str) -> None:
    first = await again.ended()
    if steps is not None:
        await again.hand_in(first, *steps)
    assert said in await again.pin(first, "2")
    assert list(await again.world.rows(pinned)) == []


async def test_results_that_have_expired_are_told_as_such(again: Again) -> None:
    first = await again.ended()
    await again.hand_in(first, *STEPS, expire_at=BEGIN)
    async with again.world.database.write() as connection:
        await connection.execute(artifacts.project.update().values(keep_latest_artifacts=False))
    assert "have expired or were deleted" in await again.pin(first, "shout")
    async with again.world.database.write() as connection:
        assert await artifacts.expire(connection, 10) == 1
    assert "have expired or were deleted" in await again.pin(first, "shout")


@pytest.mark.parametrize("name", ["nope", "4"])
async def test_a_step_that_is_not_there_is_refused(again: Again, name: str) -> None:
    first = await again.ended()
    assert f"The job has no step '{name}'" in await again.pin(first, name)


async def test_a_job_of_another_pipeline_is_refused(again: Again) -> None:
    first = await again.ended()
    again.pipeline_id += 1
    assert f"has no job {first}" in await again.pin(first, "shout")


async def test_a_job_without_steps_is_refused(again: Again) -> None:
    first = await again.ended("work: {script: x}\n")
    assert "The job has no `run`" in await again.pin(first, "1")


async def test_damaged_results_are_tried_again(again: Again) -> None:
    """Temporal does, for a while: a store that is away may come back."""
    first = await again.ended()
    await again.hand_in(first, *STEPS, sha256="0" * 64)
    with pytest.raises(Unavailable):
        await again.pin(first, "shout")


async def test_an_object_that_is_gone_is_told_as_such(again: Again) -> None:
    first = await again.ended()
    await again.hand_in(first, *STEPS)
    await again.store.delete(f"projects/1/jobs/{first}/steps-1")
    assert "have expired or were deleted" in await again.pin(first, "shout")
