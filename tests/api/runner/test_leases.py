"""What a runner's call does to its lease, and what becomes of a runner that was silent."""

import base64
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from sqlalchemy import Row, select, update

from models.columns import table_of
from models.repositories.projects import projects
from models.repositories.queue import leases
from models.tables.queue import Lease
from tests.api.runner.silence import clock, sweep
from tests.api.runner.world import World

lease = table_of(Lease)

LATER = 10
Call = Callable[[World, dict[str, Any]], Awaitable[httpx.Response]]


async def repository(world: World, job: dict[str, Any], method: str, path: str) -> httpx.Response:
    """Git's own request, with the job token as the password."""
    await world.services.repositories.create(world.project_id, "main")
    async with world.services.database.read() as connection:
        row = await projects.find(connection, world.project_id)
    assert row is not None
    word = base64.b64encode(f"gitlab-ci-token:{job['token']}".encode()).decode()
    headers = {"Authorization": f"Basic {word}"}
    return await world.client.request(method, f"/{row.full_path}.git{path}", content=b"0000", headers=headers)


def header(job: dict[str, Any]) -> dict[str, str]:
    """The job token where most calls have it."""
    return {"JOB-TOKEN": job["token"]}


CALLS: dict[str, Call] = {
    "sign of life": lambda world, job: world.put(job, "running"),
    "log": lambda world, job: world.patch(job, 0, b"x"),
    "upload": lambda world, job: world.upload(job, b"PK"),
    "download": lambda world, job: world.client.get(
        f"/api/v4/jobs/{job['dependencies'][0]['id']}/artifacts", headers=header(job)
    ),
    "verdict with another log": lambda world, job: world.put(job, "success", b"another"),
    "git refs": lambda world, job: repository(world, job, "GET", "/info/refs?service=git-upload-pack"),
    "git fetch": lambda world, job: repository(world, job, "POST", "/git-upload-pack"),
    "releases": lambda world, job: world.client.get(
        f"/api/v4/projects/{world.project_id}/releases", headers=header(job)
    ),
}


async def the_lease(world: World) -> Row[Any] | None:
    """The lease, if there is one."""
    async with world.services.database.read() as connection:
        return (await connection.execute(select(lease))).first()


async def set_ticks(world: World, ticks: int) -> None:
    """Let so many ticks be counted."""
    async with world.services.database.write() as connection:
        await leases.tick(connection, 5)
        await connection.execute(update(clock).values(ticks=ticks))


@pytest.mark.parametrize("name", CALLS)
async def test_any_call_with_the_job_token_renews_the_lease(world: World, name: str) -> None:
    pipeline_id = await world.pipeline()
    build = await world.job()
    assert (await world.upload(build, b"PK")).status_code == 201
    await world.put(build, "success", b"")
    await world.settle(pipeline_id)
    job = await world.job()
    await set_ticks(world, LATER)
    before = await the_lease(world)
    assert before is not None
    assert (before.contact, before.taken_up) == (0, False)
    response = await CALLS[name](world, job)
    assert response.status_code not in {401, 403}, response.text
    after = await the_lease(world)
    assert after is not None
    assert (after.contact, after.taken_up) == (LATER, True)


async def test_a_runner_that_returns_before_it_is_given_up_simply_goes_on(world: World) -> None:
    await world.pipeline("one: {script: x}\n")
    job = await world.job()
    assert (await world.patch(job, 0, b"before ")).status_code == 202
    await sweep(world, 175)
    assert (await world.patch(job, 7, b"after")).status_code == 202
    await sweep(world, 175)
    assert (await world.put(job, "success", b"before after")).status_code == 200
    assert (await world.row(job["id"])).status == "success"


async def test_given_up_is_final(world: World) -> None:
    """The runner comes back a moment too late: every door is closed, and the verdict stands."""
    await world.pipeline("one: {script: x}\n")
    job = await world.job()
    assert (await world.patch(job, 0, b"before ")).status_code == 202
    await sweep(world, 190)
    for late in (
        await world.put(job, "running"),
        await world.patch(job, 7, b"after"),
        await world.upload(job, b"PK"),
        await world.put(job, "success", b"before "),
    ):
        assert (late.status_code, late.headers.get("job-status")) == (403, "failed")
    row = await world.row(job["id"])
    assert (row.status, row.failure_reason, row.hand_out) == ("failed", "runner_lost", 1)
    assert await the_lease(world) is None
    assert (await world.request()).status_code == 204
