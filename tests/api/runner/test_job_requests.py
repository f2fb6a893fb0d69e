"""`POST /jobs/request`."""

import asyncio

import pytest
from sqlalchemy import update

from models.repositories.pipelines.job_rows import job as job_table
from models.repositories.runners.runners import runner as runner_table
from tests.api.runner.world import World


async def test_a_wrong_token_is_forbidden_and_says_what_to_do(world: World) -> None:
    response = await world.request(token="glrt-nobody")
    assert response.status_code == 403
    assert "register it again" in response.json()["message"]


async def test_without_a_job_a_runner_gets_204_and_a_queue_value(world: World) -> None:
    response = await world.request()
    assert (response.status_code, response.content) == (204, b"")
    assert response.headers["x-gitlab-last-update"]


async def test_a_job_comes_with_everything_a_strict_runner_decodes(world: World) -> None:
    pipeline_id = await world.pipeline()
    job = await world.job()
    assert job["job_info"]["name"] == "build"
    assert job["steps"][0]["script"] == ["make"]
    assert job["git_info"]["refspecs"][0].endswith(f":refs/pipelines/{pipeline_id}")
    assert job["token"] in job["git_info"]["repo_url"]
    assert isinstance(job["runner_info"]["timeout"], int)
    variables = {item["key"]: item for item in job["variables"]}
    assert variables["CI_PIPELINE_ID"]["value"] == str(pipeline_id)
    assert variables["CI_JOB_TOKEN"]["masked"] is True
    assert all(isinstance(item["value"], str) for item in job["variables"])
    assert "run" not in job


async def test_a_claim_lifts_stage_and_pipeline_to_running(world: World) -> None:
    pipeline_id = await world.pipeline()
    await world.job()
    async with world.services.database.read() as connection:
        from models.repositories.pipelines import pipelines

        assert (await pipelines.get(connection, pipeline_id)).status == "running"
        stages = await pipelines.stages_of(connection, pipeline_id)
    assert [(stage.name, stage.status) for stage in stages] == [("build", "running"), ("test", "created")]


async def test_the_same_request_gets_the_same_job_again_until_it_is_taken_up(world: World) -> None:
    await world.pipeline("one: {script: a}\ntwo: {script: b}\n")
    headers = {"X-Request-Id": "0123456789abcdef0123456789abcdef"}
    first = (await world.request(headers=headers)).json()
    again = (await world.request(headers=headers)).json()
    assert again["id"] == first["id"]
    assert (await world.put(again, "running")).status_code == 200
    other = (await world.request(headers=headers)).json()
    assert other["id"] != first["id"]


async def test_a_paused_runner_gets_nothing(world: World) -> None:
    await world.pipeline()
    async with world.services.database.write() as connection:
        await connection.execute(update(runner_table).values(paused=True))
    assert (await world.request()).status_code == 204


@pytest.mark.parametrize(
    ("tags", "run_untagged", "wanted", "taken"),
    [
        ([], True, [], True),
        ([], False, [], False),
        (["linux"], False, ["linux"], True),
        (["linux", "big"], True, ["linux"], True),
        (["linux"], True, ["linux", "big"], False),
        ([], True, ["linux"], False),
    ],
)
async def test_a_runner_needs_every_tag_of_a_job(
    world: World, tags: list[str], run_untagged: bool, wanted: list[str], taken: bool
) -> None:
    async with world.services.database.write() as connection:
        await connection.execute(update(runner_table).values(tags=tags, run_untagged=run_untagged))
    await world.pipeline(f"one: {{script: a, tags: {wanted}}}\n")
    assert (await world.request()).status_code == (201 if taken else 204)


async def test_twenty_runners_never_get_the_same_job(world: World) -> None:
    await world.pipeline("many: {script: a, parallel: 12}\n")
    responses = await asyncio.gather(*(world.request() for _ in range(20)))
    ids = [response.json()["id"] for response in responses if response.status_code == 201]
    assert len(ids) == len(set(ids)) == 12


async def test_a_payload_that_cannot_be_built_fails_its_job_alone(world: World) -> None:
    await world.pipeline("one: {script: a}\ntwo: {script: b}\n")
    async with world.services.database.write() as connection:
        await connection.execute(update(job_table).where(job_table.c.name == "one").values(plan={"broken": True}))
    job = await world.job()
    assert job["job_info"]["name"] == "two"
    broken = await world.row(job["id"] - 1)
    assert (broken.status, broken.failure_reason) == ("failed", "scheduler_failure")


async def test_a_body_that_is_no_json_is_a_clear_error(world: World) -> None:
    response = await world.client.post("/api/v4/jobs/request", content=b"{")
    assert response.status_code == 400
    assert "not JSON" in response.json()["message"]


async def test_a_request_that_is_too_large_names_its_own_limit(world: World) -> None:
    response = await world.request(padding="x" * 40_000)
    assert response.status_code == 413
    said = response.json()["message"]
    assert "at most 32,768 bytes (32 KiB) are taken" in said
    assert "PERDURE_" not in said, "no setting raises it"
