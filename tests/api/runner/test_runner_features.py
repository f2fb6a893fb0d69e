"""Jobs that ask for more than the runner that takes them can do."""

import pytest

from models.repositories import traces
from tests.api.runner.world import World

REPORTS = "one: {script: a, artifacts: {reports: {junit: r.xml}}}\ntwo: {script: b}\n"


async def log_of(world: World, job_id: int) -> str:
    async with world.services.database.read() as connection:
        head = await traces.head(connection, job_id)
        return (await traces.read(connection, job_id, head.generation, 0, head.size)).decode()


async def test_a_job_that_needs_what_its_runner_lacks_fails_and_the_next_one_is_handed_out(world: World) -> None:
    await world.pipeline(REPORTS)
    answer = await world.request(info={"features": {"upload_multiple_artifacts": False}})
    assert (answer.status_code, answer.json()["job_info"]["name"]) == (201, "two")
    first = await world.row(answer.json()["id"] - 1)
    assert (first.status, first.failure_reason) == ("failed", "runner_unsupported")
    assert "lacks upload_multiple_artifacts (for artifacts:reports)" in await log_of(world, first.id)


async def test_it_is_tried_again_only_if_its_retry_says_so(world: World) -> None:
    text = "one: {script: a, artifacts: {reports: {junit: r.xml}}, retry: {max: 1, when: runner_unsupported}}\n"
    pipeline_id = await world.pipeline(text)
    assert (await world.request(info={"features": {}})).status_code == 204
    decision = await world.settle(pipeline_id)
    assert decision is not None
    assert len(decision.attempts) == 1


@pytest.mark.parametrize("info", [None, {}, {"features": {"upload_multiple_artifacts": True}}])
async def test_a_runner_that_has_it_or_says_nothing_gets_the_job(world: World, info: object) -> None:
    await world.pipeline(REPORTS)
    answer = await world.request(info=info)
    assert (answer.status_code, answer.json()["job_info"]["name"]) == (201, "one")
