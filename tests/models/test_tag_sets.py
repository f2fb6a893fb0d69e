"""Tag sets in rows: what jobs of a group used, what waits, and what runners take."""

import random
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update

from domain.pipelines.status import Status
from domain.runners.matching import RunnerType
from domain.runners.status import Connection, Holds, connection_of
from models.repositories import database_time
from models.repositories.installation.measurements import MAX_ROWS
from models.repositories.namespaces import namespaces
from models.repositories.projects import projects
from models.repositories.queue import contacts, tag_sets
from models.repositories.queue.contacts import Contact
from models.repositories.queue.tag_sets import DemandUse
from models.repositories.runners import runner_counts, runners
from models.rows.namespaces import NamespaceRow
from tests.models import waiting
from tests.models.query_plans import multiply, query_plan
from tests.models.waiting import runner
from tests.models.world import BEGIN, World, job, pipeline

CONFIG = """
build: {script: make}
test: {script: make, tags: [gpu, linux, gpu]}
again: {script: make, tags: [linux, gpu]}
gate: {script: make, when: manual, tags: [arm]}
bridge: {trigger: {project: acme/other}}
"""
Used = dict[tuple[tuple[str, ...], bool], int]


async def group(world: World, path: str = "acme") -> NamespaceRow:
    async with world.database.read() as connection:
        return await namespaces.get_by(connection, path=path)


async def rows(world: World, path: str = "acme", **window: float) -> Sequence[DemandUse]:
    """By demand, of pipelines made in this time before the newest ones."""
    row = await group(world, path)
    async with world.database.read() as connection:
        since = world.now() - timedelta(**(window or {"days": 30}))
        pipeline_ids = await tag_sets.pipelines_since(connection, row, since)
        return await tag_sets.used_by(connection, pipeline_ids) if pipeline_ids else []


async def used(world: World, path: str = "acme", **window: float) -> Used:
    """Jobs by tags and whether their ref is protected."""
    found = await rows(world, path, **window)
    async with world.database.read() as connection:
        demands = await tag_sets.read(connection, (use.demand_id for use in found))
    counted: Counter[tuple[tuple[str, ...], bool]] = Counter()
    for use in found:
        demand = demands[use.demand_id]
        counted[tuple(sorted(demand.tags)), demand.protected] += use.jobs
    return dict(counted)


async def test_jobs_are_counted_by_what_they_ask_for_and_bridges_are_not(world: World) -> None:
    await world.begin(CONFIG)
    await world.settle(await world.create(CONFIG, ref="fix"))
    one = {(): 1, ("gpu", "linux"): 2, ("arm",): 1}
    assert await used(world) == {(tags, kept): jobs for tags, jobs in one.items() for kept in (True, False)}


async def test_what_was_made_before_does_not_count_and_a_repeated_job_does(world: World) -> None:
    await world.begin(CONFIG)
    world.seconds += 86_400 * 40
    await world.begin("one: {script: x, tags: [arm], retry: 1}\n")
    await world.set_runner(tags=["arm"], run_untagged=False)
    await world.end(await world.take(), Status.FAILED)
    row = (await world.rows(pipeline))[-1]
    await world.settle(row.id)
    assert await used(world) == {(("arm",), True): 2}
    assert await used(world, days=50) != {(("arm",), True): 2}
    (use,) = await rows(world)
    assert use.last_used_at == (await world.rows(job))[-1].created_at


async def test_a_group_has_what_is_below_it_and_nothing_beside(world: World) -> None:
    async with world.database.write() as connection:
        top = await namespaces.get_by(connection, path="acme")
        await namespaces.create(connection, "team", "Team", BEGIN, parent=top)
        team = await namespaces.get_by(connection, path="acme/team")
        await namespaces.create(connection, "others", "Others", BEGIN)
        below = await projects.create_project(connection, team, "app", "App", world.user_id, BEGIN)
    await world.begin("one: {script: x, tags: [top]}\n")
    world.project_id = below
    await world.begin("one: {script: x, tags: [below]}\n")
    assert await used(world) == {(("top",), True): 1, (("below",), True): 1}
    assert await used(world, "acme/team") == {(("below",), True): 1}
    assert await used(world, "others") == {}
    async with world.database.write() as connection:
        await connection.execute(
            update(projects.project).where(projects.project.c.id == below).values(removal_asked_at=BEGIN)
        )
    assert await used(world, "acme/team") == {}


async def test_only_pipelines_of_the_time_asked_for_are_read(world: World) -> None:
    """By their index: an organisation of ten years costs what its last month does."""
    key = await world.begin("one: {script: x}\n")
    row = await group(world)
    await multiply(
        world,
        pipeline,
        key,
        lambda step: {"iid": 1_000 + step, "created_at": BEGIN - timedelta(days=step)},
    )
    one = await world.row(job)
    await multiply(world, job, one.id, lambda step: {"pipeline_id": key + step, "first_id": None})
    values = {"b_trail": f"{row.trail}%", "b_since": world.now() - timedelta(days=30)}
    assert "pipeline_of_project_by_time" in await query_plan(world, tag_sets._PIPELINES, values)
    assert "job_of_pipeline" in await query_plan(world, tag_sets._USED, {"b_pipelines": [key, key + 1]})


async def test_what_waits_is_counted_by_demand_with_the_time_of_the_oldest(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.begin(CONFIG)
    await waiting.wait(world, 100)
    await world.begin(CONFIG)
    async with world.database.read() as connection:
        found = await tag_sets.waiting(connection)
    counted = {tuple(sorted(one.demand.tags)): one.jobs for one in found}
    assert counted == {(): 2, ("gpu", "linux"): 4}
    assert all(100 <= one.waited < 160 for one in found)
    for dialect in MAX_ROWS:
        monkeypatch.setitem(MAX_ROWS, dialect, 3)
    async with world.database.read() as connection:
        assert sum(one.jobs for one in await tag_sets.waiting(connection)) == 3


async def test_many_demands_are_read_in_parts(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tag_sets, "_MAX_BATCH", 2)
    await world.begin("".join(f"j{number}: {{script: x, tags: [t{number}]}}\n" for number in range(5)))
    assert len(await used(world)) == 5


async def make_runners(world: World, number: int) -> list[dict[str, Any]]:
    """Runners of all kinds; the world's own one is removed from those that count by `description`."""
    chance = random.Random(7)
    made = []
    async with world.database.write() as connection:
        now = await database_time.moment(connection)
        owner = await namespaces.get_by(connection, path="acme")
        for step in range(number):
            kind = chance.choice(list(RunnerType))
            silent = chance.choice([None, timedelta(0), timedelta(minutes=10), timedelta(hours=3), timedelta(days=9)])
            values = {
                "runner_type": kind.value,
                "organisation_id": None if kind is RunnerType.INSTANCE else owner.id,
                "tags": chance.sample(["arm", "gpu", "linux"], chance.randrange(3)),
                "run_untagged": chance.random() < 0.5,
                "ref_protected": chance.random() < 0.3,
                "paused": chance.random() < 0.3,
            }
            key = await runners.create(connection, f"made-{step}", now, **values)
            at = {
                "contacted_at": None if silent is None else now - silent,
                "created_at": now - timedelta(days=chance.choice([1, 20])),
            }
            await connection.execute(update(runner).where(runner.c.id == key).values(**at))
            made.append({**values, **at})
        await connection.execute(runner.delete().where(runner.c.id == world.runner_id))
    return made


async def test_runners_are_counted_by_type_and_status_as_each_one_is_shown(world: World) -> None:
    made = await make_runners(world, 60)
    async with world.database.read() as connection:
        now = await database_time.moment(connection)
        found = await runner_counts.by_type(connection, now)
    for kind, counted in found.items():
        those = [one for one in made if one["runner_type"] == kind]
        statuses = Counter(connection_of(one["contacted_at"], one["created_at"], now, Holds.NOTHING) for one in those)
        assert counted.by_status == {status: statuses[status] for status in Connection}
        assert counted.paused == sum(one["paused"] for one in those)
    assert {kind: sum(counted.by_status.values()) for kind, counted in found.items()} == dict(
        Counter(RunnerType(one["runner_type"]) for one in made)
    )


async def test_runners_are_counted_by_what_they_take_and_whether_they_are_there(world: World) -> None:
    made = await make_runners(world, 60)
    async with world.database.read() as connection:
        now = await database_time.moment(connection)
        found = await runner_counts.tag_sets(connection, now, 7200.0)
    expected: Counter[tuple[Any, ...]] = Counter()
    for one in made:
        is_there = one["contacted_at"] is not None and now - one["contacted_at"] <= timedelta(hours=2)
        state = "paused" if one["paused"] else "available" if is_there else "silent"
        kind = (one["runner_type"], one["run_untagged"], one["ref_protected"])
        expected[tuple(sorted(one["tags"])), *kind, state] += 1
    counted = {
        (one.tags, str(one.runner_type), one.run_untagged, one.ref_protected, state): number
        for one in found
        for state in ("available", "silent", "paused")
        if (number := getattr(one, state))
    }
    assert counted == dict(expected)
    keys = {(one.tags, one.runner_type, one.run_untagged, one.ref_protected) for one in found}
    assert len(keys) == len(found)


async def test_a_runner_that_holds_a_job_is_there_however_long_ago_it_called(world: World) -> None:
    await world.begin("one: {script: x}\n")
    await waiting.call(world, world.runner_id)
    await world.take()
    await waiting.wait(world, 86_400 * 20)
    async with world.database.read() as connection:
        now = await database_time.moment(connection)
        counted = await runner_counts.by_type(connection, now)
        (served,) = await runner_counts.tag_sets(connection, now, 60.0)
    assert counted[RunnerType.INSTANCE].by_status[Connection.ONLINE] == 1
    assert (served.available, served.silent) == (1, 0)


async def test_processes_are_counted_by_the_version_that_they_say(world: World) -> None:
    async with world.database.write() as connection:
        calls = [
            Contact(world.runner_id, f"s_{number}", {"version": version} if version else {}, "")
            for number, version in enumerate(["18.0.0", "18.0.0", "17.5.1", ""])
        ]
        await contacts.write(connection, calls, world.now())
        await contacts.write(connection, [Contact(world.runner_id, "old", {"version": "1"}, "")], BEGIN)
    async with world.database.read() as connection:
        found = await runner_counts.versions(connection, BEGIN + timedelta(seconds=1))
    assert found == {"": 1, "17.5.1": 1, "18.0.0": 2}
