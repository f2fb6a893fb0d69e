"""Releases in SQL."""

from datetime import timedelta
from typing import Any

import pytest

from domain.errors import NotFound
from domain.pipelines.operations import Attempt
from models.repositories.artifacts import releases
from models.repositories.artifacts.releases import release
from models.repositories.paging import every_of
from models.repositories.pipelines.attempts import add_attempts
from tests.models.world import BEGIN, World, job


def values(world: World, tag: str = "v1", **more: Any) -> dict[str, Any]:
    """A row to be written."""
    return {
        "project_id": world.project_id,
        "user_id": world.user_id,
        "tag": tag,
        "name": tag,
        "description": "",
        "sha": "c0ffee",
        "milestones": [],
        "assets": {"links": []},
        "released_at": BEGIN,
        **more,
    }


async def test_a_tag_has_one_release_and_the_first_stays(world: World) -> None:
    async with world.database.write() as connection:
        assert await releases.add(connection, BEGIN, **values(world, name="one"))
        assert not await releases.add(connection, BEGIN, **values(world, name="two"))
        assert await releases.add(connection, BEGIN, **values(world, "v2"))
        assert (await releases.get(connection, world.project_id, "v1")).name == "one"
    assert [row.tag for row in await world.rows(release)] == ["v1", "v2"]


async def test_a_release_is_of_all_attempts_of_its_job_and_of_no_other_job(world: World) -> None:
    pipeline_id = await world.begin()
    build, test = (row.id for row in await world.rows(job, pipeline_id=pipeline_id))
    async with world.database.write() as connection:
        await add_attempts(connection, (Attempt(build),), BEGIN)
        await releases.add(connection, BEGIN, **values(world), job_id=build)
        await releases.add(connection, BEGIN, **values(world, "v2"))
        row = await releases.get(connection, world.project_id, "v1")
        by_hand = await releases.get(connection, world.project_id, "v2")
    (again,) = await world.rows(job, attempt=2)
    async with world.database.read() as connection:
        found = [await releases.is_of_job(connection, row, key) for key in (build, again.id, test)]
        assert found == [True, True, False]
        assert not await releases.is_of_job(connection, by_hand, build)


async def test_they_are_listed_by_their_time_and_one_of_the_future_is_not_the_latest(world: World) -> None:
    async with world.database.write() as connection:
        for tag, days in (("b", 2), ("a", 1), ("future", 9)):
            await releases.add(connection, BEGIN, **values(world, tag, released_at=BEGIN + timedelta(days=days)))
        newest = await every_of(connection, releases.of_project(world.project_id))
        oldest = await every_of(connection, releases.of_project(world.project_id, ascending=True))
        made = await every_of(connection, releases.of_project(world.project_id, order_by="created_at"))
        assert [row.tag for row in newest] == ["future", "b", "a"]
        assert [row.tag for row in oldest] == ["a", "b", "future"]
        assert [row.tag for row in made] == ["future", "a", "b"]
        assert (await releases.latest(connection, world.project_id, BEGIN + timedelta(days=3))).tag == "b"
        with pytest.raises(NotFound):
            await releases.latest(connection, world.project_id, BEGIN)
        await releases.remove(connection, newest[0], BEGIN)
        assert await releases.find(connection, world.project_id, "future") is None
        with pytest.raises(NotFound):
            await releases.get(connection, world.project_id, "future")
