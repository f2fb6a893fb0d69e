"""Life of a runner."""

from typing import Any

import orjson
import pytest
from sqlalchemy import select

from models.repositories.runners import manager
from tests.api.runner.world import RUNNER_TOKEN, World


def registration_token(world: World) -> str:
    """The token that the first start left behind."""
    return str(orjson.loads((world.services.settings.home / "credentials.json").read_bytes())["registration_token"])


async def register(world: World, **body: Any) -> Any:
    """Register with the right token."""
    return await world.client.post("/api/v4/runners", json={"token": registration_token(world), **body})


async def test_a_runner_registers_and_takes_a_job(world: World) -> None:
    answer = await register(world, description="new", tag_list="a, b", run_untagged=True)
    assert answer.status_code == 201
    assert answer.json()["token_expires_at"] is None
    await world.pipeline("one: {script: x, tags: [a, b]}\n")
    assert (await world.request(token=answer.json()["token"])).status_code == 201


async def test_a_wrong_registration_token_is_forbidden(world: World) -> None:
    answer = await world.client.post("/api/v4/runners", json={"token": "GR1348941nonsense"})
    assert answer.status_code == 403


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"run_untagged": False}, "tags list can not be empty"),
        ({"maximum_timeout": 5}, "at least 10 minutes"),
        ({"tag_list": ",".join(f"t{number}" for number in range(51))}, "too many tags"),
    ],
)
async def test_wrong_wishes_are_explained(world: World, body: dict[str, Any], words: str) -> None:
    answer = await register(world, **body)
    assert answer.status_code == 400
    assert words in answer.json()["message"]


async def test_verify_names_the_runner_and_remembers_the_process(world: World) -> None:
    body = {"token": RUNNER_TOKEN, "system_id": "s_verify", "info": {"version": "19.4.0"}}
    answer = await world.client.post("/api/v4/runners/verify", json=body)
    assert answer.status_code == 200
    assert answer.json() == {"id": world.runner_id, "token": RUNNER_TOKEN, "token_expires_at": None}
    async with world.services.database.read() as connection:
        row = (await connection.execute(select(manager))).one()
    assert (row.system_id, row.info["version"]) == ("s_verify", "19.4.0")


async def test_a_reset_token_replaces_the_old_one(world: World) -> None:
    answer = await world.client.post("/api/v4/runners/reset_authentication_token", json={"token": RUNNER_TOKEN})
    assert answer.status_code == 201
    assert answer.json()["token"].startswith("glrt-")
    assert (await world.request()).status_code == 403
    assert (await world.request(token=answer.json()["token"])).status_code == 204


async def test_an_unregistered_runner_is_gone_but_its_job_ends_well(world: World) -> None:
    await world.pipeline()
    job = await world.job()
    gone = await world.client.request("DELETE", "/api/v4/runners", json={"token": RUNNER_TOKEN})
    assert (gone.status_code, gone.content) == (204, b"")
    assert (await world.request()).status_code == 403
    assert (await world.put(job, "success", b"")).status_code == 200


async def test_one_process_of_a_runner_can_leave(world: World) -> None:
    await world.request()
    url = "/api/v4/runners/managers"
    assert (await world.client.request("DELETE", url, json={"token": RUNNER_TOKEN})).status_code == 400
    body = {"token": RUNNER_TOKEN, "system_id": "s_tests"}
    assert (await world.client.request("DELETE", url, json=body)).status_code == 204
    assert (await world.client.request("DELETE", url, json=body)).status_code == 404


async def test_there_is_no_job_router(world: World) -> None:
    answer = await world.client.get("/api/v4/runners/router/discovery", headers={"RUNNER-TOKEN": RUNNER_TOKEN})
    assert answer.status_code == 501
