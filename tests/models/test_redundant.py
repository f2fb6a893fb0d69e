"""A new pipeline tells the older ones of its ref, in the transaction that creates it."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Table, update

from models.columns import table_of
from models.repositories.namespaces import namespaces
from models.repositories.pipelines import pipelines, redundant
from models.repositories.pipelines.pipelines import PipelineRequest
from models.repositories.projects import projects
from models.tables.projects import Project
from tests.compiling import plan_of
from tests.models.query_plans import multiply, query_plan
from tests.models.world import World, outbox_table, pipeline

project = table_of(Project)
ONE = "one: {script: x}\n"
POLICY = "workflow: {{auto_cancel: {{on_new_commit: {0}}}}}\none: {{script: x}}\n"


async def push(world: World, sha: str, config: str = ONE, **values: Any) -> int:
    """A pipeline of a commit of `main`."""
    request = PipelineRequest(world.project_id, world.user_id, "main", sha, "push")
    async with world.database.write() as connection:
        return await pipelines.create(connection, replace(request, **values), plan_of(config), world.now(), seal=str)


async def set_row(world: World, table: Table, row_id: int, **values: Any) -> None:
    """Write columns of a row."""
    async with world.database.write() as connection:
        await connection.execute(update(table).where(table.c.id == row_id).values(**values))


async def told(world: World) -> list[tuple[int, dict[str, Any]]]:
    """Who was asked for what."""
    rows = await world.rows(outbox_table, kind="command")
    return [(row.pipeline_id, row.payload) for row in rows]


async def test_a_newer_commit_tells_every_unfinished_pipeline_of_the_ref_once(world: World) -> None:
    first, second = await push(world, "a" * 40), await push(world, "b" * 40)
    third = await push(world, "c" * 40)
    reason = f"canceled by pipeline {third}: a newer commit of main came (cccccccc)"
    by_third = {"name": "auto_cancel", "key": f"auto-cancel-{third}", "reason": reason}
    found = await told(world)
    assert [pipeline_id for pipeline_id, _ in found] == [first, first, second]
    assert found[0][1]["key"] == f"auto-cancel-{second}"
    assert [payload for _, payload in found[1:]] == [by_third, by_third]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ({"ref": "feature"}, {}),
        ({"tag": True}, {}),
        ({}, {"tag": True}),
        ({"sha": "b" * 40}, {}),
        ({"source": "webide"}, {}),
        ({"source": "parent_pipeline"}, {}),
        ({}, {"source": "parent_pipeline"}),
        ({}, {"source": "duo_workflow"}),
        ({}, {"head": "a" * 40}),
    ],
    ids=str,
)
async def test_others_are_left_alone(world: World, older: dict[str, Any], newer: dict[str, Any]) -> None:
    await push(world, **{"sha": "a" * 40, **older})
    await push(world, **{"sha": "b" * 40, **newer})
    assert await told(world) == []


async def test_another_project_is_left_alone(world: World) -> None:
    await push(world, "a" * 40)
    async with world.database.write() as connection:
        owner = await namespaces.get_by(connection, path="acme")
        other = await projects.create_project(connection, owner, "other", "Other", world.user_id, world.now())
    await push(world, "b" * 40, project_id=other)
    assert await told(world) == []


async def test_a_project_may_want_every_pipeline_to_end(world: World) -> None:
    first = await push(world, "a" * 40)
    await set_row(world, project, world.project_id, auto_cancel_redundant=False)
    await push(world, "b" * 40)
    assert await told(world) == []
    await set_row(world, project, world.project_id, auto_cancel_redundant=True)
    third = await push(world, "c" * 40)
    assert (first, f"auto-cancel-{third}") in [(key, payload["key"]) for key, payload in await told(world)]


@pytest.mark.parametrize(
    ("values", "is_told"),
    [
        ({"status": "manual"}, True),
        ({"status": "scheduled"}, True),
        ({"status": "running"}, True),
        ({"status": "success"}, False),
        ({"status": "failed"}, False),
        ({"status": "canceled"}, False),
        ({"status": "skipped"}, False),
    ],
    ids=str,
)
async def test_what_has_ended_is_left_alone(world: World, values: dict[str, Any], is_told: bool) -> None:
    old = await push(world, "a" * 40)
    await set_row(world, pipeline, old, **values)
    await push(world, "b" * 40)
    assert [key for key, _ in await told(world)] == [old] * is_told


async def test_after_seven_days_a_pipeline_is_left_to_people(world: World) -> None:
    old, older = await push(world, "a" * 40), await push(world, "a" * 40)
    week = timedelta(days=7)
    await set_row(world, pipeline, old, created_at=world.now() - week + timedelta(minutes=1))
    await set_row(world, pipeline, older, created_at=world.now() - week - timedelta(minutes=1))
    await push(world, "b" * 40)
    assert [key for key, _ in await told(world)] == [old]


@pytest.mark.parametrize(("policy", "is_told"), [("none", False), ("interruptible", True), ("conservative", True)])
async def test_the_older_pipeline_decides_whether_it_is_told(world: World, policy: str, is_told: bool) -> None:
    old = await push(world, "a" * 40, POLICY.format(policy))
    await push(world, "b" * 40, POLICY.format("none"))
    assert [key for key, _ in await told(world)] == [old] * is_told


async def test_a_moved_tag_tells_its_older_pipeline(world: World) -> None:
    old = await push(world, "a" * 40, ref="v1", tag=True)
    await push(world, "b" * 40, ref="v1", tag=True)
    assert [key for key, _ in await told(world)] == [old]


async def test_nobody_is_told_of_a_pipeline_that_was_not_made(world: World) -> None:
    await push(world, "a" * 40)
    request = PipelineRequest(world.project_id, world.user_id, "main", "b" * 40, "push")

    async def interrupted() -> None:
        async with world.database.write() as connection:
            await pipelines.create(connection, request, plan_of(ONE), world.now(), seal=str)
            raise RuntimeError("power")

    with pytest.raises(RuntimeError, match="power"):
        await interrupted()
    assert await told(world) == []


async def test_the_search_reads_only_the_unfinished_pipelines_of_the_ref(world: World) -> None:
    """By the index of the ref, not by the list of all pipelines of a project."""
    key = await push(world, "a" * 40)
    ends = ("success", "failed", "running", "manual")
    await multiply(
        world, pipeline, key, lambda step: {"iid": 1_000 + step, "ref": f"r{step // 20}", "status": ends[step % 4]}
    )
    values = {"b_project": world.project_id, "b_ref": "main", "b_since": world.now() - timedelta(days=1)}
    assert "pipeline_of_ref" in await query_plan(world, redundant._UNFINISHED, values)
