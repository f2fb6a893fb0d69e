"""Runners get no job of an organisation that leaves the pod, and go on with those of others."""

from sqlalchemy import select

from models.repositories.namespaces.namespaces import namespace
from models.repositories.queue import claims
from tests.models.world import World


async def test_an_organisation_that_leaves_has_no_jobs_for_runners(world: World) -> None:
    await world.begin()
    async with world.database.write() as connection:
        (mine,) = (await connection.execute(select(namespace.c.id).where(namespace.c.path == "acme"))).scalars()
        assert await claims.take(connection, [world.runner()], world.now(), {mine}) == [None]
        assert await claims.take(connection, [world.runner()], world.now(), {mine + 1}) != [None]
