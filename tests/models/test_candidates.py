"""Runners as matching sees them, read again and again by what they show."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from models.repositories.queue import candidates, contacts
from models.repositories.queue.candidates import KnownRunner
from models.repositories.queue.contacts import Contact
from models.repositories.runners import runners
from tests.models.world import World

NOBODY: Mapping[str, KnownRunner | None] = {"nobody": None}


async def read(world: World, known: Mapping[str, KnownRunner | None] = NOBODY) -> dict[str, KnownRunner]:
    """The world's runner by its tokens, and nobody by another one."""
    async with world.database.read() as connection:
        return await candidates.by_tokens(connection, ["hash", "newer", "nobody"], known)


async def test_a_runner_that_has_not_changed_is_given_back_as_it_was_known(world: World) -> None:
    known = await read(world)
    assert known.keys() == {"hash"}
    async with world.database.write() as connection:
        await contacts.write(connection, [Contact(world.runner_id, "s_1", {}, "::1")], world.now())
    assert (await read(world, known))["hash"] is known["hash"]


@pytest.mark.parametrize("change", [{"paused": True}, {"tags": ["gpu"]}, {"maximum_timeout": 7}])
async def test_a_runner_that_has_changed_is_read_anew(world: World, change: dict[str, object]) -> None:
    known = await read(world)
    await world.set_runner(**change)
    found = (await read(world, known))["hash"]
    assert {name: getattr(found.row, name) for name in change} == change
    assert found.candidate == candidates.candidate(found.row, ())


async def test_a_runner_that_works_for_other_projects_than_before_is_read_anew(world: World) -> None:
    await world.set_runner(runner_type="project_type")
    known = await read(world)
    async with world.database.write() as connection:
        await runners.link(connection, world.runner_id, world.project_id)
    found = await read(world, known)
    assert found["hash"].candidate.projects == {world.project_id}
    async with world.database.write() as connection:
        await runners.unlink(connection, world.runner_id, world.project_id)
    assert (await read(world, found))["hash"].candidate.projects == set()


async def test_a_runner_whose_token_was_replaced_is_known_by_both(world: World) -> None:
    known = await read(world)
    async with world.database.write() as connection:
        await runners.rotate_token(connection, world.runner_id, "newer", None, shown="hash")
    found = await read(world, known)
    assert {token_hash: one.row.token_hash for token_hash, one in found.items()} == {"hash": "newer", "newer": "newer"}


async def test_a_runner_whose_token_has_expired_is_nobody_however_well_it_is_known(world: World) -> None:
    await world.set_runner(token_expires_at=datetime.now(UTC) + timedelta(days=1))
    known = await read(world)
    await world.set_runner(token_expires_at=datetime.now(UTC) - timedelta(days=1))
    assert await read(world, known) == {}
