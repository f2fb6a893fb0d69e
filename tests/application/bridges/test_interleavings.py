"""What comes between two steps of carrying out a bridge."""

from typing import Any

import pytest
from sqlalchemy import select

from application.bridges.downstream import wish_of
from loops.bridges import BridgeLoop
from models.repositories.pipelines import bridges
from models.repositories.pipelines.outbox import FOLLOW
from tests.application.bridges.installation import Installation
from tests.models.world import outbox_table, pipeline

pytestmark = pytest.mark.both_databases

WISH = "loops.bridges.wish_of"
FILES = {
    ".gitlab-ci.yml": "go: {trigger: {include: child.yml, strategy: depend}}\n",
    "child.yml": "inner: {script: make}\n",
}


async def test_a_bridge_that_is_canceled_while_its_pipeline_is_compiled_makes_none(
    here: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = await here.create(FILES)
    await here.world.settle(parent)

    async def slowly(*given: Any) -> Any:
        wish = await wish_of(*given)
        await here.ask_only(parent, "cancel_pipeline")
        return wish

    monkeypatch.setattr(WISH, slowly)
    await here.carry_out()
    assert [row.status for row in await here.world.rows(pipeline)] == ["canceled"]
    assert (await here.named(parent, "go")).downstream_id is None


async def test_two_processes_that_compile_the_same_bridge_make_one_pipeline(
    here: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = await here.create(FILES)
    await here.world.settle(parent)
    (row,) = await here.unsent()

    async def overtaken(*given: Any) -> Any:
        wish = await wish_of(*given)
        monkeypatch.setattr(WISH, wish_of)
        await BridgeLoop(here.site.services).carry_out(row)
        return wish

    monkeypatch.setattr(WISH, overtaken)
    await here.loop.carry_out(row)
    child = await here.downstream(parent, "go")
    assert [each.id for each in await here.world.rows(pipeline)] == [parent, child.id]


async def test_a_bridge_that_was_told_twice_ends_once(here: Installation) -> None:
    """A process dies between the effect of a row and its mark: the row comes again."""
    parent = await here.begin(FILES)
    child = (await here.downstream(parent, "go")).id
    await here.world.end(await here.world.take())
    await here.world.settle(child)
    (row,) = await here.world.outbox(child, FOLLOW)
    await here.loop.carry_out(row)
    async with here.world.database.write() as connection:
        await connection.execute(outbox_table.insert().values(**dict(row._mapping)))
    await here.loop.carry_out(row)
    assert len(await here.world.outbox(parent, "outcome")) == 1
    await here.world.settle(parent)
    assert await here.world.status(parent) == "success"


async def test_a_pipeline_stays_as_it_is_until_its_bridges_have_taken_it_over(here: Installation) -> None:
    """A retry in between would have its end taken over afterwards, and nobody would look at the bridge again."""
    if here.world.database.is_sqlite:
        pytest.skip("SQLite has one writer: there is nothing in between")
    parent = await here.begin(FILES)
    child = (await here.downstream(parent, "go")).id
    await here.world.end(await here.world.take())
    await here.world.settle(child)
    decided = select(pipeline.c.id).where(pipeline.c.id == child).with_for_update(key_share=True, skip_locked=True)
    async with here.world.database.write() as connection:
        assert (await bridges.tell_followers(connection, child, 1, here.world.now())).pipelines == (parent,)
        async with here.world.database.write() as another:
            assert (await another.execute(decided)).all() == []
    async with here.world.database.write() as another:
        assert (await another.execute(decided)).scalar_one() == child
