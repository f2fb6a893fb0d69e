"""Job tokens at every door: only the hand-out that holds the job gets in."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import jwt
import pytest
from sqlalchemy import update

from auth.job_token import PREFIX, Scope, scope_of
from domain.pipelines.status import Status
from models.repositories.pipelines.job_rows import job as job_table
from tests.api.runner.world import World

DOORS = ("update", "trace", "upload")


async def knock(world: World, door: str, job: dict[str, object]) -> int:
    """Use one door with the token of `job`."""
    if door == "update":
        return (await world.put(job, "running")).status_code
    if door == "trace":
        return (await world.patch(job, 0, b"x")).status_code
    return (await world.upload(job, b"PK")).status_code


@pytest.mark.parametrize("door", DOORS)
async def test_the_right_token_opens(world: World, door: str) -> None:
    await world.pipeline()
    assert await knock(world, door, await world.job()) in {200, 201, 202}


@pytest.mark.parametrize("door", DOORS)
async def test_every_other_token_is_403(world: World, door: str) -> None:
    await world.pipeline("one: {script: a}\ntwo: {script: b}\n")
    job, other = await world.job(), await world.job()
    services, now = world.services, world.services.clock()
    claims = services.job_tokens.read(job["token"])

    def issued(**changed: Any) -> str:
        return services.job_tokens.issue(replace(claims, **changed), 60, now)

    tokens = {
        "another job": other["token"],
        "another attempt": issued(attempt=2),
        "another hand-out": issued(hand_out=2),
        "another project": issued(project_id=claims.project_id + 1),
        "another organisation": issued(organisation_id=claims.organisation_id + 1),
        "another pod": issued(pod="elsewhere"),
        "no scope": issued(scopes=(scope_of(Scope.GIT_READ, claims.project_id),)),
        "expired": services.job_tokens.issue(claims, 60, now - timedelta(days=2)),
        "not ours": PREFIX + jwt.encode({"sub": str(job["id"])}, "secret" * 8, algorithm="HS256"),
        "none": "",
    }
    for fault, token in tokens.items():
        assert await knock(world, door, {**job, "token": token}) == 403, fault
        assert (await world.row(job["id"])).status == Status.RUNNING, fault


@pytest.mark.parametrize("door", DOORS)
async def test_a_job_that_has_ended_says_so(world: World, door: str) -> None:
    await world.pipeline()
    job = await world.job()
    await world.put(job, "success", b"")
    assert await knock(world, door, job) == 403


async def test_a_job_that_was_put_back_is_closed_to_its_old_runner(world: World) -> None:
    await world.pipeline("one: {script: a}\n")
    old = await world.job()
    async with world.services.database.write() as connection:
        from models.repositories.queue import leases

        rows = await leases.silent(connection, -1, taken_up=False)
        assert await leases.put_back(connection, rows, world.services.clock()) == [old["id"]]
    new = await world.job()
    assert new["id"] == old["id"]
    assert (await world.put(old, "running")).status_code == 403
    assert (await world.put(new, "running")).status_code == 200


async def test_an_unknown_job_is_403_and_not_404(world: World) -> None:
    await world.pipeline()
    job = await world.job()
    assert (await world.put({**job, "id": 999_999}, "running")).status_code == 403
    async with world.services.database.write() as connection:
        await connection.execute(update(job_table).where(job_table.c.id == job["id"]).values(attempt=7))
    assert (await world.put(job, "running")).status_code == 403
