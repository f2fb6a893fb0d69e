"""Jobs that ask for more than the runner that takes them can do."""

import orjson
import pytest

from models.repositories.logs import traces
from tests.api.runner.world import World

STEPS = """
one: {run: [{name: hello, script: echo hello}]}
two:
  script: b
  secrets: {PASSWORD: {vault: production/db/password@ops, token: $TOKEN}}
  id_tokens: {TOKEN: {aud: "https://vault.example.com"}}
three: {script: c}
"""
REPORTS = "one: {script: a, artifacts: {reports: {junit: r.xml}}}\ntwo: {script: b}\n"


async def log_of(world: World, job_id: int) -> str:
    async with world.services.database.read() as connection:
        head = await traces.head(connection, job_id)
        return (await traces.read(connection, job_id, head.generation, 0, head.size)).decode()


async def test_a_job_that_needs_what_its_runner_lacks_fails_and_the_next_one_is_handed_out(world: World) -> None:
    await world.pipeline(REPORTS)
    response = await world.request(info={"features": {"upload_multiple_artifacts": False}})
    assert (response.status_code, response.json()["job_info"]["name"]) == (201, "two")
    first = await world.row(response.json()["id"] - 1)
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
    response = await world.request(info=info)
    assert (response.status_code, response.json()["job_info"]["name"]) == (201, "one")


@pytest.mark.parametrize("info", [None, {"features": {"job_inputs": True}}])
async def test_work_that_a_runner_would_leave_out_is_only_given_to_one_that_says_it_can(
    world: World, info: object
) -> None:
    await world.pipeline(STEPS)
    response = await world.request(info=info)
    assert (response.status_code, response.json()["job_info"]["name"]) == (201, "three")
    for job_id, feature in (
        (response.json()["id"] - 2, "native_steps_integration (for run)"),
        (response.json()["id"] - 1, "vault_secrets (for secrets)"),
    ):
        assert (await world.row(job_id)).failure_reason == "runner_unsupported"
        assert f"lacks {feature}" in await log_of(world, job_id)


async def test_a_runner_that_can_gets_steps_and_secrets(world: World) -> None:
    await world.pipeline(STEPS)
    info = {"features": {"native_steps_integration": True, "vault_secrets": True}}
    steps, secrets = [(await world.request(info=info)).json() for _ in range(2)]
    assert orjson.loads(steps["run"]) == [{"name": "hello", "script": "echo hello"}]
    vault = secrets["secrets"]["PASSWORD"]["vault"]
    assert (vault["path"], vault["field"], vault["engine"]["path"]) == ("production/db", "password", "ops")
    assert vault["server"]["auth"]["data"]["jwt"].count(".") == 2
    assert "run" not in secrets
