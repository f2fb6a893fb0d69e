"""Polls that look at the same moment: one transaction, and what one of them meets is not the others' fault."""

import asyncio
from collections.abc import Awaitable, Iterable
from typing import Any

import httpx
import pytest
from sqlalchemy import update

from models.repositories.pipelines.job_rows import job
from models.repositories.queue import claims
from tests.api.runner.hang_up import hang_up
from tests.api.runner.world import World
from tests.fault_point import WITHIN, held_at
from tests.waiting import eventually

pytestmark = pytest.mark.both_databases


async def side_by_side(
    world: World, monkeypatch: pytest.MonkeyPatch, work: Iterable[Awaitable[Any]]
) -> tuple[httpx.Response, list[Any], list[int]]:
    """A first poll is held until all others wait; its response, theirs, and how many each later transaction served."""
    sizes: list[int] = []
    take = claims.take

    async def counted(connection: Any, asking: Any, *others: Any, **named: Any) -> Any:
        sizes.append(len(asking))
        return await take(connection, asking, *others, **named)

    monkeypatch.setattr(claims, "take", counted)
    async with held_at(monkeypatch, claims, "take", world.request()) as first:
        others = [asyncio.ensure_future(one) for one in work]

        async def wait() -> bool:
            return len(world.services.claims._asked) == len(others)

        await eventually(wait, "all others wait for the first one")
    responses = await asyncio.wait_for(asyncio.gather(*others), WITHIN)
    assert sizes.pop(0) == 1
    return first.result(), responses, sizes


def ids(responses: Iterable[httpx.Response]) -> list[int]:
    """The jobs that were handed out."""
    return [response.json()["id"] for response in responses if response.status_code == 201]


async def test_those_who_wait_are_one_transaction_and_who_came_first_gets_the_oldest_job(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.pipeline("many: {script: x, parallel: 4}\n")
    first, others, sizes = await side_by_side(world, monkeypatch, [world.request() for _ in range(4)])
    taken = ids([first, *others])
    assert [response.status_code for response in others] == [201, 201, 201, 204]
    assert (len(set(taken)), sizes) == (4, [4])
    assert taken == sorted(taken)


async def test_a_client_that_is_gone_leaves_its_job_to_the_others(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.pipeline("many: {script: x, parallel: 3}\n")
    asking = [world.request(), hang_up(world), world.request()]
    first, (one, gone, other), sizes = await side_by_side(world, monkeypatch, asking)
    assert gone[0]["status"] == 499
    taken = ids([first, one, other])
    assert (len(set(taken)), sizes) == (3, [3, 2])
    assert {(await world.row(job_id)).hand_out for job_id in taken} == {1}


async def test_a_job_whose_payload_cannot_be_built_fails_alone(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.pipeline("many: {script: x, parallel: 4}\n")
    async with world.services.database.write() as connection:
        poison = update(job).where(job.c.name == "many 2/4").values(plan={"allow_failure": False}).returning(job.c.id)
        bad = (await connection.execute(poison)).scalar_one()
    first, others, sizes = await side_by_side(world, monkeypatch, [world.request() for _ in range(3)])
    assert sorted(response.status_code for response in (first, *others)) == [201, 201, 201, 204]
    assert sizes == [3, 1, 1, 1, 1]
    row = await world.row(bad)
    assert (row.status, row.failure_reason) == ("failed", "scheduler_failure")


async def test_a_request_that_is_repeated_at_once_gets_one_job(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await world.pipeline("many: {script: x, parallel: 4}\n")
    name = {"x-request-id": "r-1"}
    asking = [world.request(headers=name), world.request(headers=name), world.request()]
    _, others, sizes = await side_by_side(world, monkeypatch, asking)
    one, again, other = ids(others)
    assert (one == again, one == other, sizes) == (True, False, [3])
