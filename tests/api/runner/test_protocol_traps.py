"""What a stock runner trips over and no other test here asks: transport, tokens, lenient reading.

Source: docs/reference/runner-protocol.md, "Every call", "Registration", "Job request", "Job updates", "Log upload",
"Failure reasons".
"""

from typing import Any

import httpx
import pytest
from sqlalchemy import select

from api.app import create_app
from models.repositories.runners.runners import manager
from tests.api.runner.world import RUNNER_TOKEN, World

REQUEST_ID = "0123456789abcdef0123456789abcdef"


async def test_every_answer_carries_the_id_of_its_request(world: World) -> None:
    await world.pipeline()
    headers = {"X-Request-Id": REQUEST_ID}
    for response in (
        await world.request(headers=headers),
        await world.request(headers=headers, token="glrt-nobody"),
        await world.client.put("/api/v4/jobs/1", json={"state": "running"}, headers=headers),
        await world.client.get("/api/v4/nothing", headers=headers),
    ):
        assert response.headers["x-request-id"] == REQUEST_ID
    assert "x-request-id" not in (await world.request()).headers
    assert "x-request-id" not in (await world.request(headers={"X-Request-Id": "a" * 65})).headers


async def test_what_is_decoded_says_that_it_is_json(world: World) -> None:
    await world.pipeline()
    verified = await world.client.post("/api/v4/runners/verify", json={"token": RUNNER_TOKEN})
    assert (verified.status_code, verified.headers["content-type"]) == (200, "application/json")
    assert verified.json()["id"] > 0
    job = await world.request()
    assert (job.status_code, job.headers["content-type"]) == (201, "application/json")
    assert "x-gitlab-last-update" not in job.headers
    assert None not in (job.json()[name] for name in ("id", "token", "steps", "variables"))


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/v4/nothing", 404),
        ("PUT", "/api/v4/jobs/request", 405),
        ("PUT", "/api/v4/jobs/0x1", 404),
        ("PUT", "/api/v4/jobs/1", 403),
        ("PUT", "/api/v4/jobs/" + "9" * 30, 403),
        ("PUT", "/api/v4/jobs/{job_id:int}", 404),
        ("DELETE", "/api/v4/jobs/1/trace", 405),
        ("PATCH", "/api/v4/jobs/1/trace", 403),
        ("POST", "/api/v4/jobs/request", 403),
    ],
)
async def test_errors_have_a_message_that_runners_show(world: World, method: str, path: str, status: int) -> None:
    response = await world.client.request(method, path, json={} if method != "GET" else None)
    assert response.status_code == status
    assert response.json().keys() == {"message"}


async def test_an_archive_can_be_asked_for_without_its_content(world: World) -> None:
    """The same response as to GET, as for every address (RFC 9110, 9.3.2)."""
    response = await world.client.head("/api/v4/jobs/1/artifacts")
    assert (response.status_code, response.headers["content-type"]) == (403, "application/json")


async def test_what_nobody_foresaw_is_our_fault(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def break_down(_text: str) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("api.runner.runner_access.digest", break_down)
    transport = httpx.ASGITransport(create_app(world.services), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://perdure.test") as client:
        response = await client.post(
            "/api/v4/jobs/request", json={"token": RUNNER_TOKEN}, headers={"X-Request-Id": "1"}
        )
    assert (response.status_code, response.json()) == (500, {"message": "500 Internal Server Error"})
    assert response.headers["x-request-id"] == "1"


@pytest.mark.parametrize("place", ["body", "header"])
async def test_the_token_of_a_runner_may_stand_in_either_place(world: World, place: str) -> None:
    body = {"token": RUNNER_TOKEN} if place == "body" else {}
    headers = {"RUNNER-TOKEN": RUNNER_TOKEN} if place == "header" else {}
    response = await world.client.post("/api/v4/jobs/request", json=body, headers=headers)
    assert response.status_code == 204


@pytest.mark.parametrize("place", ["body", "header", "query"])
async def test_the_token_of_a_job_may_stand_in_any_place(world: World, place: str) -> None:
    await world.pipeline()
    job = await world.job()
    body = {"state": "running"} | ({"token": job["token"]} if place == "body" else {})
    headers = {"JOB-TOKEN": job["token"]} if place == "header" else {}
    query = {"token": job["token"]} if place == "query" else {}
    response = await world.client.put(f"/api/v4/jobs/{job['id']}", json=body, headers=headers, params=query)
    assert response.status_code == 200


async def test_a_process_without_a_system_id_is_known_as_legacy(world: World) -> None:
    assert (await world.client.post("/api/v4/jobs/request", json={"token": RUNNER_TOKEN})).status_code == 204
    await world.services.contacts.flush()
    async with world.services.database.read() as connection:
        assert (await connection.execute(select(manager.c.system_id))).scalars().all() == ["<legacy>"]


@pytest.mark.parametrize(
    "strange",
    [
        {"info": "gitlab-runner"},
        {"info": {"features": ["refspecs"], "config": 7, "labels": {"a": None}, "new": {"deep": [1]}}},
        {"system_id": 5, "last_update": 7, "session": {"url": "https://127.0.0.1:8093", "certificate": 1}},
        {"surprise": [{"nothing": "known"}]},
    ],
)
async def test_nothing_that_a_runner_tells_of_itself_keeps_it_from_a_job(world: World, strange: dict[str, Any]) -> None:
    await world.pipeline()
    assert (await world.request(**strange)).status_code == 201


@pytest.mark.parametrize("output", [None, [], "none", {}, {"checksum": None, "bytesize": None}, {"bytesize": "3"}])
async def test_a_verdict_without_a_checksum_is_taken_as_it_is(world: World, output: Any) -> None:
    await world.pipeline()
    job = await world.job()
    await world.patch(job, 0, b"log")
    more = {"runtime_environment_key": "x", "surprise": [1]}
    document = {"token": job["token"], "state": "success", "output": output, **more}
    assert (await world.client.put(f"/api/v4/jobs/{job['id']}", json=document)).status_code == 200
    assert not (await world.row(job["id"])).log_incomplete


async def test_the_old_place_of_the_checksum_counts(world: World) -> None:
    await world.pipeline()
    job = await world.job()
    await world.patch(job, 0, b"log")
    document = {"token": job["token"], "state": "success", "checksum": "crc32:00000000"}
    assert (await world.client.put(f"/api/v4/jobs/{job['id']}", json=document)).status_code == 412


@pytest.mark.parametrize("body", [b"", b"{}", b'{"state": null}', b'{"state": 1}', b'{"state": ["success"]}'])
async def test_an_update_that_says_no_state_is_a_clear_error(world: World, body: bytes) -> None:
    await world.pipeline()
    job = await world.job()
    headers = {"JOB-TOKEN": job["token"], "Content-Type": "application/json"}
    response = await world.client.put(f"/api/v4/jobs/{job['id']}", content=body, headers=headers)
    assert (response.status_code, (await world.row(job["id"])).status) == (400, "running")
    assert "is none of pending, running, success, failed" in response.json()["message"]
