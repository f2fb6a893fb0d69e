"""Life of a runner."""

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import httpx
import orjson
import pytest
from sqlalchemy import select

from api.app import create_app
from application.runners.registration_tokens import renewed
from auth.routable_token import TYPE_NUMBER
from auth.secret_token import PAYLOAD_FIRST, RANDOM_FIRST, digest
from domain.pods.routable_token import read_route
from domain.pods.token_prefixes import RUNNER_BY_REGISTRATION
from domain.runners.matching import RunnerType
from models.clock import system_clock
from models.notifications import RUNNERS
from models.repositories import database_time
from models.repositories.pipelines.job_rows import job
from models.repositories.projects import projects
from models.repositories.queue import claims
from models.repositories.runners import runners
from models.repositories.runners.registration_tokens import RunnerScope
from models.repositories.runners.runners import manager
from tests.api.runner.world import RUNNER_TOKEN, World
from tests.fault_point import held_at, side_by_side, somebody_waits_for_a_lock
from tests.waiting import eventually


def registration_token(world: World) -> str:
    """The token that the first start left behind."""
    return str(orjson.loads((world.services.settings.home / "credentials.json").read_bytes())["registration_token"])


async def register(world: World, **body: Any) -> Any:
    """Register with the right token."""
    return await world.client.post("/api/v4/runners", json={"token": registration_token(world), **body})


async def test_a_runner_registers_and_takes_a_job(world: World) -> None:
    response = await register(world, description="new", tag_list="a, b", run_untagged=True)
    assert response.status_code == 201
    assert response.json()["token_expires_at"] is None
    assert await token_form(world, response.json()["id"]) == RANDOM_FIRST
    await world.pipeline("one: {script: x, tags: [a, b]}\n")
    assert (await world.request(token=response.json()["token"])).status_code == 201


async def organisation_of(world: World) -> int:
    """The organisation of the project."""
    async with world.services.database.read() as connection:
        row = await projects.find(connection, world.project_id)
    assert row is not None
    return int(row.organisation_id)


@pytest.mark.parametrize("runner_type", [RunnerType.PROJECT, RunnerType.GROUP])
async def test_a_registration_token_says_whose_runner_it_makes(world: World, runner_type: RunnerType) -> None:
    owner = await organisation_of(world)
    scope = RunnerScope(runner_type, owner, world.project_id if runner_type is RunnerType.PROJECT else None)
    token = (await renewed(world.services, scope)).token
    made = await world.client.post("/api/v4/runners", data={"token": token, "tag_list": "a,b", "maximum_timeout": "0"})
    assert made.status_code == 201, made.text
    async with world.services.database.read() as connection:
        row = await runners.get(connection, made.json()["id"])
        assert row is not None
        linked = [item.id for item in await runners.projects_of(connection, row.id)]
    assert (row.runner_type, row.organisation_id, row.tags) == (runner_type, owner, ["a", "b"])
    assert linked == ([world.project_id] if runner_type is RunnerType.PROJECT else [])
    assert made.json()["token"].startswith(RUNNER_BY_REGISTRATION)
    route = read_route(made.json()["token"])
    assert route is not None
    assert (route.pod_number, route.organisation_id, route.runner_type) == (0, owner, TYPE_NUMBER[runner_type])
    again = (await renewed(world.services, scope)).token
    assert (await world.client.post("/api/v4/runners", json={"token": token})).status_code == 403
    assert (await world.client.post("/api/v4/runners", json={"token": again})).status_code == 201


async def test_the_runner_that_a_reset_left_keeps_the_kind_of_its_token(world: World) -> None:
    made = (await register(world)).json()["token"]
    new = (await world.client.post(RESET, json={"token": made})).json()["token"]
    assert new.startswith(RUNNER_BY_REGISTRATION)


async def test_registration_tokens_can_be_switched_off(world: World) -> None:
    services = replace(
        world.services, settings=world.services.settings.model_copy(update={"registration_tokens": False})
    )
    transport = httpx.ASGITransport(create_app(services))
    async with httpx.AsyncClient(transport=transport, base_url="http://perdure.test") as client:
        good = await client.post("/api/v4/runners", json={"token": registration_token(world)})
        bad = await client.post("/api/v4/runners", json={"token": "GR1348941nonsense"})
    assert (good.status_code, bad.status_code) == (410, 403)
    assert "PERDURE_REGISTRATION_TOKENS" in good.json()["message"]


@pytest.mark.parametrize(
    ("given", "column", "kept"),
    [
        ({"active": False}, "paused", True),
        ({"active": "false"}, "paused", True),
        ({"paused": 1, "active": True}, "paused", True),
        ({"maximum_timeout": "3600"}, "maximum_timeout", 3600),
        ({"maximum_timeout": 3600.0}, "maximum_timeout", 3600),
        ({"maximum_timeout": None}, "maximum_timeout", None),
        ({"maximum_timeout": ""}, "maximum_timeout", None),
        ({"tag_list": None}, "tags", []),
        ({"tag_list": ["a", 7, " b "]}, "tags", ["a", "b"]),
        ({"access_level": "ref_protected"}, "ref_protected", True),
        ({"access_level": None, "info": "nonsense"}, "ref_protected", False),
        ({"description": None, "maintainer_note": "old name"}, "maintenance_note", "old name"),
        ({"description": "a\0b"}, "description", "ab"),
    ],
)
async def test_runners_of_many_versions_register(world: World, given: dict[str, Any], column: str, kept: Any) -> None:
    response = await register(world, **given)
    assert response.status_code == 201, response.text
    async with world.services.database.read() as connection:
        row = await runners.get(connection, response.json()["id"])
    assert getattr(row, column) == kept


async def test_a_wrong_registration_token_is_forbidden(world: World) -> None:
    response = await world.client.post("/api/v4/runners", json={"token": "GR1348941nonsense"})
    assert response.status_code == 403


@pytest.mark.parametrize(
    ("body", "field", "words"),
    [
        ({"run_untagged": False}, "", "tags list can not be empty"),
        ({"maximum_timeout": 5}, "maximum_timeout", "at least 10 minutes"),
        ({"tag_list": ",".join(f"t{number}" for number in range(51))}, "tag_list", "Too many tags"),
    ],
)
async def test_wrong_wishes_are_explained(world: World, body: dict[str, Any], field: str, words: str) -> None:
    response = await register(world, **body)
    assert response.status_code == 400
    message = response.json()["message"]
    if field:
        assert list(message) == [field]
        (message,) = message[field]
    assert words in message


async def test_verify_names_the_runner_and_remembers_the_process(world: World) -> None:
    body = {"token": RUNNER_TOKEN, "system_id": "s_verify", "info": {"version": "19.4.0"}}
    response = await world.client.post("/api/v4/runners/verify", json=body)
    assert response.status_code == 200
    assert response.json() == {"id": world.runner_id, "token": RUNNER_TOKEN, "token_expires_at": None}
    async with world.services.database.read() as connection:
        row = (await connection.execute(select(manager))).one()
        runner_row = await runners.get(connection, world.runner_id)
        assert runner_row is not None
        assert runner_row.contacted_at is not None
        now = await database_time.moment(connection)
    assert (row.system_id, row.info) == ("s_verify", {"version": "19.4.0"})
    assert timedelta(0) <= now - runner_row.contacted_at < timedelta(minutes=1)


async def test_contacts_are_written_by_the_clock_of_the_database(world: World) -> None:
    services = replace(world.services, clock=lambda: system_clock() + timedelta(days=3))
    transport = httpx.ASGITransport(create_app(services))
    async with httpx.AsyncClient(transport=transport, base_url="http://perdure.test") as client:
        await client.post("/api/v4/runners/verify", json={"token": RUNNER_TOKEN})
    async with world.services.database.read() as connection:
        row = (await connection.execute(select(manager))).one()
    assert row.system_id == "<legacy>"
    assert abs(row.contacted_at - system_clock()) < timedelta(hours=1)


async def test_a_bad_token_is_forbidden_wherever_it_is_shown(world: World) -> None:
    calls = [
        ("POST", "/runners/verify"),
        ("POST", "/runners/reset_authentication_token"),
        ("DELETE", "/runners"),
        ("DELETE", "/runners/managers"),
        ("GET", "/runners/router/discovery"),
    ]
    for method, path in calls:
        for shown in ({"json": {"token": "glrt-no"}}, {"headers": {"RUNNER-TOKEN": "glrt-no"}}, {"json": {"token": 7}}):
            response = await world.client.request(method, f"/api/v4{path}", **shown)
            assert (response.status_code, list(response.json())) == (403, ["message"]), (method, path)


RESET = "/api/v4/runners/reset_authentication_token"


async def taken(world: World, token: str, status: int) -> bool:
    """Whether a poll with this token is answered so."""
    return (await world.request(token=token)).status_code == status


async def verified(world: World, token: str) -> int:
    """The status of a verify call."""
    return (await world.client.post("/api/v4/runners/verify", json={"token": token})).status_code


async def token_form(world: World, runner_id: int) -> int:
    """What the database says of the token."""
    async with world.services.database.read() as connection:
        row = await runners.get(connection, runner_id)
    assert row is not None
    return int(row.token_form)


async def test_a_token_of_the_old_form_is_good_until_it_is_reset(world: World) -> None:
    old = "glrt-YzoxCm86MAp0OjEAAQIDBAUGBwgJCgsMDQ4PEA.01.121djrvjg"
    async with world.services.database.write() as connection:
        runner_id = await runners.create(connection, digest(old), world.services.clock())
    await world.pipeline("one: {script: x}\n")
    assert (await verified(world, old), await token_form(world, runner_id)) == (200, PAYLOAD_FIRST)
    assert await taken(world, old, 201)
    new = (await world.client.post(RESET, json={"token": old})).json()["token"]
    assert (await verified(world, new), await token_form(world, runner_id)) == (200, RANDOM_FIRST)
    assert new[5:14] != old[5:14]


async def test_a_reset_token_replaces_the_old_one_when_it_is_used(world: World) -> None:
    response = await world.client.post(RESET, json={"token": RUNNER_TOKEN})
    assert response.status_code == 201
    new = response.json()["token"]
    assert new.startswith("glrt-")
    assert await taken(world, RUNNER_TOKEN, 204)
    assert await taken(world, new, 204)
    await eventually(lambda: taken(world, RUNNER_TOKEN, 403), "the old token is refused")
    assert (await world.client.post(RESET, json={"token": RUNNER_TOKEN})).status_code == 403
    assert await taken(world, new, 204)


async def test_a_reset_whose_answer_is_lost_can_be_asked_again(world: World) -> None:
    lost = (await world.client.post(RESET, json={"token": RUNNER_TOKEN})).json()["token"]
    again = (await world.client.post(RESET, json={"token": RUNNER_TOKEN})).json()["token"]
    assert await verified(world, lost) == 403
    assert await verified(world, RUNNER_TOKEN) == 200
    assert await verified(world, again) == 200
    assert await verified(world, RUNNER_TOKEN) == 403


async def test_of_two_resets_at_once_the_later_one_counts(world: World) -> None:
    responses = await asyncio.gather(*(world.client.post(RESET, json={"token": RUNNER_TOKEN}) for _ in range(4)))
    assert {response.status_code for response in responses} == {201}
    good = [
        token for token in (response.json()["token"] for response in responses) if await verified(world, token) == 200
    ]
    assert len(good) == 1


async def test_an_expired_token_is_refused(world: World) -> None:
    times = world.services.settings.times.model_copy(update={"runner_token_lifetime": 3600.0})
    settings = world.services.settings.model_copy(update={"times": times})
    services = replace(world.services, settings=settings)
    transport = httpx.ASGITransport(create_app(services))
    async with httpx.AsyncClient(transport=transport, base_url="http://perdure.test") as client:
        response = (await client.post(RESET, json={"token": RUNNER_TOKEN})).json()
    token, end = response["token"], datetime.fromisoformat(response["token_expires_at"])
    assert abs(end - services.clock() - timedelta(hours=1)) < timedelta(minutes=1)
    known = await world.client.post("/api/v4/runners/verify", json={"token": token})
    assert datetime.fromisoformat(known.json()["token_expires_at"]) == end
    async with services.database.write() as connection:
        await runners.change(connection, world.runner_id, token_expires_at=services.clock() - timedelta(seconds=1))
    await services.notifications.tell(RUNNERS)
    assert await verified(world, token) == 403
    assert (await world.client.post(RESET, json={"token": token})).status_code == 403
    await eventually(lambda: taken(world, token, 403), "the expired token is refused")


async def test_an_unregistered_runner_is_gone_but_its_job_ends_well(world: World) -> None:
    await world.pipeline()
    job = await world.job()
    gone = await world.client.request("DELETE", "/api/v4/runners", params={"token": RUNNER_TOKEN})
    assert (gone.status_code, gone.content) == (204, b"")
    await eventually(lambda: taken(world, RUNNER_TOKEN, 403), "the token is refused")
    assert (await world.patch(job, 0, b"hello\n")).status_code == 202
    assert (await world.put(job, "success", b"hello\n")).status_code == 200


async def test_a_runner_that_is_removed_in_the_middle_of_its_claim_gets_no_job(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    side_by_side(world.services.database)
    await world.pipeline()
    async with held_at(monkeypatch, claims, "_serve", world.request()) as poll:
        gone = world.client.request("DELETE", "/api/v4/runners", json={"token": RUNNER_TOKEN})
        removal = asyncio.create_task(gone)
        await eventually(lambda: somebody_waits_for_a_lock(world.services.database), "the removal waits for the claim")
    assert (await removal).status_code == 204
    response = await poll
    assert response.status_code in {201, 204}
    async with world.services.database.read() as connection:
        held = (await connection.execute(select(job.c.id).where(job.c.status == "running"))).scalars().all()
    assert len(held) == (response.status_code == 201)


async def test_one_process_of_a_runner_can_leave(world: World) -> None:
    assert await verified(world, RUNNER_TOKEN) == 200
    await world.request()
    url = "/api/v4/runners/managers"
    assert (await world.client.request("DELETE", url, json={"token": RUNNER_TOKEN})).status_code == 400
    body = {"token": RUNNER_TOKEN, "system_id": "s_tests"}
    assert (await world.client.request("DELETE", url, json=body)).status_code == 204
    assert (await world.client.request("DELETE", url, json=body)).status_code == 404


async def test_there_is_no_job_router(world: World) -> None:
    response = await world.client.get("/api/v4/runners/router/discovery", headers={"RUNNER-TOKEN": RUNNER_TOKEN})
    assert response.status_code == 501
