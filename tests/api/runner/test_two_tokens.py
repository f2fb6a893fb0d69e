"""A call whose header and body show different tokens is refused: a router goes by one, and a pod by the other."""

import pytest

from tests.api.runner.world import RUNNER_TOKEN, World

OTHER = "glrt-another-runner-of-tests"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/jobs/request"),
        ("POST", "/runners/verify"),
        ("POST", "/runners/reset_authentication_token"),
        ("DELETE", "/runners"),
        ("DELETE", "/runners/managers"),
    ],
)
async def test_two_tokens_of_a_runner(world: World, method: str, path: str) -> None:
    for in_header, in_body in ((RUNNER_TOKEN, OTHER), (OTHER, RUNNER_TOKEN)):
        body = {"token": in_body, "system_id": "s_tests"}
        response = await world.client.request(method, f"/api/v4{path}", json=body, headers={"RUNNER-TOKEN": in_header})
        assert response.status_code == 400, response.text
        assert "the token in the header is not the one in the body" in response.text
    headers, body = {"RUNNER-TOKEN": RUNNER_TOKEN}, {"token": RUNNER_TOKEN}
    assert (await world.client.post("/api/v4/runners/verify", headers=headers, json=body)).status_code == 200


async def test_two_tokens_of_jobs(world: World) -> None:
    await world.pipeline("one: {script: make}\ntwo: {script: make}\n")
    one, two = await world.job(), await world.job()
    for in_header, in_body in ((one, two), (two, one)):
        body = {"token": in_body["token"], "state": "success"}
        headers = {"JOB-TOKEN": in_header["token"]}
        response = await world.client.put(f"/api/v4/jobs/{one['id']}", json=body, headers=headers)
        assert (response.status_code, (await world.row(one["id"])).status) == (400, "running")
    body = {"token": one["token"], "state": "success"}
    done = await world.client.put(f"/api/v4/jobs/{one['id']}", json=body, headers={"JOB-TOKEN": one["token"]})
    assert (done.status_code, (await world.row(one["id"])).status) == (200, "success")
