"""Results of steps: handed in by the runner of a job with `run`, told to that of an attempt which begins at a step."""

from typing import Any

import orjson
import pytest
from sqlalchemy import select

from activities.steps import StepActivities
from domain.messages import Command, PinSteps
from domain.steps.kept_results import MAX_FILE
from models.repositories.artifacts import artifacts, job_objects
from models.repositories.pipelines.job_rows import job as job_table
from models.rows.artifacts import ArtifactRow
from tests.api.runner.test_runner_features import log_of
from tests.api.runner.world import World
from tests.handed_in_steps import DONE, STEPS, written

WORK = "work: {run: [{name: hello, script: a}, {name: shout, script: b}, {name: whisper, script: c}]}\n"
AS_STEPS = {"artifact_type": "steps", "artifact_format": "raw"}


async def found(world: World, job: dict[str, Any]) -> ArtifactRow | None:
    """The results that a job has."""
    async with world.services.database.read() as connection:
        return await artifacts.find(connection, job["id"], artifacts.STEPS)


async def newest(world: World) -> Any:
    """The attempt that was made last."""
    async with world.services.database.read() as connection:
        return (await connection.execute(select(job_table).order_by(job_table.c.id.desc()).limit(1))).one()


async def failed(world: World, content: bytes, config: str = WORK) -> tuple[int, dict[str, Any]]:
    """A pipeline, and its job, which has failed and has handed in this."""
    pipeline_id = await world.pipeline(config)
    job = await world.job()
    assert (await world.upload(job, content, **AS_STEPS)).status_code == 201
    assert (await world.put(job, "failed", failure_reason="script_failure")).status_code == 200
    await world.settle(pipeline_id)
    return pipeline_id, job


async def again(world: World, pipeline_id: int, job_id: int, from_step: str, key: str = "k") -> str:
    """A retry from a step on, as the workflow carries it out; why it was refused."""
    services = world.services
    activities = StepActivities(services.database, services.store)
    refused = (await activities.pin_steps(PinSteps(pipeline_id, key, job_id, from_step))).refused
    await world.settle(pipeline_id, Command("retry_job", key, job_id, refused=refused))
    await world.settle(pipeline_id)
    return refused


@pytest.mark.parametrize("state", ["success", "failed"])
async def test_the_payload_of_an_attempt_that_begins_at_a_step_says_where_and_with_what(
    world: World, state: str
) -> None:
    pipeline_id = await world.pipeline(WORK)
    first = await world.job()
    assert "steps_resume" not in first
    assert (await world.upload(first, written(*STEPS), **AS_STEPS)).status_code == 201
    assert (await world.put(first, state)).status_code == 200
    await world.settle(pipeline_id)
    assert await again(world, pipeline_id, first["id"], "3") == ""
    second = await world.job()
    assert second["run"] == first["run"]
    assert second["steps_resume"] == {"from": "whisper", "done": DONE}
    assert list(second["steps_resume"]["done"]) == ["hello", "shout"]
    assert second.keys() - first.keys() == {"steps_resume"}


async def test_what_was_pinned_is_handed_out_though_the_attempt_before_was_erased(world: World) -> None:
    pipeline_id, first = await failed(world, written(*STEPS))
    assert await again(world, pipeline_id, first["id"], "shout") == ""
    async with world.services.database.write() as connection:
        await job_objects.erase(connection, first["id"], world.services.clock())
    row = await found(world, first)
    assert row is not None
    assert row.object_key == ""
    assert (await world.job())["steps_resume"] == {"from": "shout", "done": {"hello": DONE["hello"]}}


async def test_the_next_attempt_begins_behind_what_was_pinned_and_handed_in_again(world: World) -> None:
    pipeline_id, first = await failed(world, written(*STEPS))
    assert await again(world, pipeline_id, first["id"], "shout", "one") == ""
    second = await world.job()
    await world.upload(second, written(*STEPS), **AS_STEPS)
    await world.put(second, "failed", failure_reason="script_failure")
    await world.settle(pipeline_id)
    assert "is not the latest attempt" not in await again(world, pipeline_id, second["id"], "whisper", "two")
    assert (await world.job())["steps_resume"] == {"from": "whisper", "done": DONE}


async def test_a_runner_that_would_begin_with_the_first_step_fails_the_job_by_name(world: World) -> None:
    pipeline_id, first = await failed(world, written(*STEPS))
    assert await again(world, pipeline_id, first["id"], "shout") == ""
    response = await world.request(info={"features": {"native_steps_integration": True}})
    assert response.status_code == 204
    second = await newest(world)
    assert (second.status, second.failure_reason) == ("failed", "runner_unsupported")
    assert "lacks steps_resume (for a retry that begins at a step)" in await log_of(world, second.id)


async def test_a_job_without_steps_hands_in_none(world: World) -> None:
    await world.pipeline()
    job = await world.job()
    asked = await world.client.post(
        f"/api/v4/jobs/{job['id']}/artifacts/authorize", headers={"JOB-TOKEN": job["token"]}, params=AS_STEPS
    )
    taken = await world.upload(job, written(*STEPS), **AS_STEPS)
    for response in (asked, taken):
        assert (response.status_code, response.json()["message"]) == (
            400,
            "400 Bad request: artifact_type 'steps' is for jobs with `run`.",
        )
    assert await found(world, job) is None


@pytest.mark.parametrize("size", [MAX_FILE + 1, 100 * 1024 * 1024])
async def test_results_that_are_too_large_leave_nothing(world: World, size: int) -> None:
    await world.pipeline(WORK)
    job = await world.job()
    response = await world.upload(job, bytes(size), **AS_STEPS)
    assert response.status_code == 413
    assert "the file of results of steps" in response.json()["message"]
    assert "4,194,304 bytes (4 MiB)" in response.json()["message"]
    assert await found(world, job) is None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00" * MAX_FILE,
        b"not JSON",
        b'{"version": 1, "steps": [NaN]}',
        b"[" * MAX_FILE,
        orjson.dumps({"version": 1, "steps": [STEPS[0], STEPS[0]]}),
        orjson.dumps({"version": 1, "steps": [{**STEPS[0], "name": "of nobody"}]}),
        orjson.dumps({"version": 1, "steps": [{**STEPS[0], "outputs": "text"}]}),
        orjson.dumps({"version": "1", "steps": [STEPS[0]]}),
    ],
    ids=range(9),
)
async def test_a_hostile_runner_may_hand_in_anything_and_nothing_begins_behind_it(world: World, content: bytes) -> None:
    pipeline_id, first = await failed(world, content)
    refused = await again(world, pipeline_id, first["id"], "shout")
    assert "nothing is known of the steps before it" in refused
    assert len(refused) < 300
    assert await again(world, pipeline_id, first["id"], "hello", "other") == ""
    assert "steps_resume" not in await world.job()


async def test_results_of_steps_are_no_archive(world: World) -> None:
    pipeline_id = await world.pipeline(WORK + "after: {stage: deploy, script: x, dependencies: [work]}\n")
    job = await world.job()
    await world.upload(job, written(*STEPS), **AS_STEPS)
    response = await world.client.get(f"/api/v4/jobs/{job['id']}/artifacts", headers={"JOB-TOKEN": job["token"]})
    assert response.status_code in {403, 404}
    await world.put(job, "success")
    await world.settle(pipeline_id)
    after = await world.job()
    assert after["job_info"]["name"] == "after"
    assert after["dependencies"] == []


async def test_they_are_kept_as_long_as_the_artifacts_of_the_job(world: World) -> None:
    config = WORK.replace("work: {", "work: {artifacts: {paths: [o], expire_in: 2 hours, access: developer}, ")
    _, job = await failed(world, written(*STEPS), config)
    row = await found(world, job)
    assert row is not None
    assert row.expire_at is not None
    assert (row.access, row.parsed, row.filename) == ("developer", True, "artifacts.zip")
    assert (row.expire_at - row.created_at).total_seconds() == 7200


async def test_a_job_that_is_being_canceled_hands_in_what_its_steps_gave(world: World) -> None:
    pipeline_id = await world.pipeline(WORK)
    first = await world.job()
    await world.settle(pipeline_id, Command("cancel_job", "stop", first["id"]))
    assert (await world.row(first["id"])).status == "canceling"
    assert "the attempt has not ended" in await again(world, pipeline_id, first["id"], "shout", "early")
    steps = [STEPS[0], {**STEPS[1], "status": "canceled", "is_kept": False}]
    assert (await world.upload(first, written(*steps), **AS_STEPS)).status_code == 201
    await world.put(first, "failed", failure_reason="job_canceled")
    await world.settle(pipeline_id)
    assert (await world.row(first["id"])).status == "canceled"
    assert await again(world, pipeline_id, first["id"], "shout") == ""
    assert (await world.job())["steps_resume"] == {"from": "shout", "done": {"hello": DONE["hello"]}}
