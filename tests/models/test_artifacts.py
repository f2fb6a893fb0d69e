"""All artifacts of a project expire at once."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import insert, select

from models.repositories.artifacts import artifacts
from models.repositories.artifacts.artifacts import artifact
from tests.models.query_plans import multiply, query_plan
from tests.models.world import BEGIN, World, job

SOON, LONG_AGO = BEGIN + timedelta(days=36_500), BEGIN - timedelta(days=1)


async def handed_in(world: World, count: int, **values: Any) -> list[int]:
    """So many artifacts of one project, each of a job of its own; their ids."""
    await world.create(f"many: {{script: x, parallel: {count}}}\n")
    async with world.database.write() as connection:
        newest = select(job.c.id).order_by(job.c.id.desc()).limit(count)
        known = {"project_id": world.project_id, "file_type": "archive", "file_format": "zip", "filename": "a.zip"}
        stored = {"size": 1, "sha256": "", "object_key": "a", "access": "all", "parsed": True, "created_at": BEGIN}
        rows = [{**known, **stored, "job_id": key, **values} for key in (await connection.execute(newest)).scalars()]
        found = await connection.execute(insert(artifact).returning(artifact.c.id), rows)
        return list(found.scalars())


async def expiring(world: World) -> dict[int, Any]:
    """The ends of all artifacts."""
    async with world.database.read() as connection:
        rows = (await connection.execute(select(artifact.c.id, artifact.c.expire_at))).all()
    return {row.id: row.expire_at for row in rows}


async def test_all_artifacts_of_a_project_expire_some_at_a_time(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(artifacts, "_MAX_BATCH", 2)
    monkeypatch.setattr(artifacts, "_LATER", artifacts._LATER.limit(2))
    later = [*await handed_in(world, 2), *await handed_in(world, 1, expire_at=SOON)]
    over = await handed_in(world, 2, expire_at=LONG_AGO)
    gone = await handed_in(world, 2, object_key="")
    others = await handed_in(world, 2, project_id=world.project_id + 1)
    rounds = []
    for _ in range(2):
        async with world.database.write() as connection:
            rounds.append(await artifacts.expire_some(connection, world.project_id))
    assert rounds == [True, False]
    ends = await expiring(world)
    assert all(ends[key] not in {None, SOON, LONG_AGO} for key in later)
    assert [ends[key] for key in over] == [LONG_AGO] * 2
    assert [ends[key] for key in (*gone, *others)] == [None] * 4


async def test_they_are_found_by_their_index(world: World) -> None:
    [key] = await handed_in(world, 1)
    await multiply(world, artifact, key, lambda step: {"project_id": world.project_id + 1, "file_type": str(step)})
    plan = await query_plan(world, artifacts._LATER, {"b_project": world.project_id, "b_now": BEGIN})
    assert "artifact_of_project" in plan, plan
