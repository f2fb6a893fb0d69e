"""What projects are watched for: by their own hooks, by those of groups above them, by those of the installation."""

import asyncio
from dataclasses import dataclass

import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.hooks.webhooks import REPORTED, Event, bits_of
from models.repositories.hooks import forge_links, hooks
from models.repositories.namespaces import namespaces
from models.repositories.owner import Owner
from models.repositories.projects import projects
from models.session import Database
from tests.models.world import BEGIN, World

PUSH, JOB, PIPELINE = (bits_of([event]) for event in (Event.PUSH, Event.JOB, Event.PIPELINE))


@dataclass
class Tree:
    """Group `top` with `inner` in it, each with a project, and `World`'s own project beside them."""

    world: World
    top: int
    inner: int
    upper: int
    lower: int

    @property
    def database(self) -> Database:
        return self.world.database

    async def watched(self) -> tuple[int, int, int]:
        """What of the upper project is watched, of the lower one, and of the one beside them."""
        found = []
        async with self.database.read() as connection:
            for key in (self.upper, self.lower, self.world.project_id):
                row = await projects.find(connection, key)
                assert row is not None
                found.append(row.watched)
        return found[0], found[1], found[2]

    async def hook(self, owner: Owner, bits: int) -> int:
        async with self.database.write() as connection:
            return await hooks.add(connection, owner, BEGIN, url="https://h.example/", events=bits)

    async def project(self, namespace_id: int, path: str) -> int:
        async with self.database.write() as connection:
            return await new_project(self.world, connection, namespace_id, path)


async def new_project(world: World, connection: AsyncConnection, namespace_id: int, path: str) -> int:
    """A project in a group, in a transaction that goes on."""
    owner = await namespaces.get_by(connection, key=namespace_id)
    return await projects.create_project(connection, owner, path, path, world.user_id, BEGIN)


@pytest.fixture
async def tree(world: World) -> Tree:
    """The groups and their projects."""
    async with world.database.write() as connection:
        top = await namespaces.create(connection, "top", "Top", BEGIN)
        above = await namespaces.get_by(connection, key=top)
        inner = await namespaces.create(connection, "inner", "Inner", BEGIN, parent=above)
        upper = await new_project(world, connection, top, "upper")
        lower = await new_project(world, connection, inner, "lower")
    return Tree(world, top, inner, upper, lower)


async def test_hooks_of_groups_and_of_the_installation_reach_what_lies_below(tree: Tree) -> None:
    await tree.hook(Owner(namespace_id=tree.inner), PUSH)
    assert await tree.watched() == (0, PUSH, 0)
    of_top = await tree.hook(Owner(namespace_id=tree.top), JOB)
    assert await tree.watched() == (JOB, PUSH | JOB, 0)
    system = await tree.hook(Owner(), PIPELINE)
    assert await tree.watched() == (JOB | PIPELINE, PUSH | JOB | PIPELINE, PIPELINE)
    own = await tree.hook(Owner(tree.upper), PUSH)
    assert await tree.watched() == (PUSH | JOB | PIPELINE, PUSH | JOB | PIPELINE, PIPELINE)
    async with tree.database.write() as connection:
        await hooks.change(connection, of_top, Owner(namespace_id=tree.top), events=PUSH)
        await hooks.remove(connection, system, Owner())
        await hooks.remove(connection, own, Owner(tree.upper))
    assert await tree.watched() == (PUSH, PUSH, 0)


async def test_a_link_to_a_forge_stays_beside_them(tree: Tree) -> None:
    link = {"repository_url": "x", "api_url": "y", "repository": "z"}
    async with tree.database.write() as connection:
        await forge_links.put(connection, tree.upper, "gitea", BEGIN, **link)
    await tree.hook(Owner(namespace_id=tree.top), JOB)
    assert await tree.watched() == (REPORTED | JOB, JOB, 0)


async def test_a_new_project_is_watched_for_what_lies_above_it(tree: Tree) -> None:
    await tree.hook(Owner(namespace_id=tree.top), JOB)
    await tree.hook(Owner(), PUSH)
    tree.lower = await tree.project(tree.inner, "more")
    tree.upper = await tree.project(tree.top, "more")
    assert await tree.watched() == (JOB | PUSH, JOB | PUSH, PUSH)


@pytest.mark.parametrize("of_group", [True, False])
async def test_a_project_and_a_hook_that_come_at_the_same_moment_know_each_other(tree: Tree, of_group: bool) -> None:
    """Whoever comes second waits for the first one to end."""
    owner = Owner(namespace_id=tree.top) if of_group else Owner()
    async with tree.database.write() as connection:
        tree.lower = await new_project(tree.world, connection, tree.inner, "first")
        second = asyncio.create_task(tree.hook(owner, JOB))
        done, _ = await asyncio.wait({second}, timeout=0.3)
        assert not done
    await second
    async with tree.database.write() as connection:
        await hooks.add(connection, owner, BEGIN, url="https://h.example/", events=PUSH)
        made = asyncio.create_task(tree.project(tree.inner, "second"))
        done, _ = await asyncio.wait({made}, timeout=0.3)
        assert not done
    tree.upper = await made
    assert (await tree.watched())[:2] == (JOB | PUSH, JOB | PUSH)
