"""Deployments of a database from before those that no job made: their rows, ids and references stay what they were."""

from functools import partial
from typing import Any

import pytest
from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, select, text
from sqlalchemy.exc import IntegrityError

from domain.pods.identity import PodIdentity
from models import migrate as migrating
from models.columns import table_of
from models.migrate import migrate
from models.migration_scripts import alembic_config
from models.repositories.installation import installations
from models.session import Database
from models.tables.environments import Deployment
from tests.known_schema import MIGRATING
from tests.models.world import BEGIN, World

VERSION = "0012"
deployment = table_of(Deployment)


@pytest.fixture(autouse=True)
def real_migrations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every database goes through all of them."""
    monkeypatch.setattr(migrating, "_upgrade", MIGRATING)


def back(connection: Connection, *, before: bool = False) -> None:
    """To the schema of `VERSION`, or the one before it."""
    config = alembic_config()
    config.attributes["connection"] = connection
    version = ScriptDirectory.from_config(config).get_revision(VERSION)
    command.downgrade(config, str(version.down_revision if before else VERSION))


def shape(connection: Connection) -> dict[str, Any]:
    """What the table has beside its columns."""
    found = inspect(connection)
    return {
        "unique": sorted(sorted(one["column_names"]) for one in found.get_unique_constraints("deployment")),
        "indexes": {one["name"]: one["column_names"] for one in found.get_indexes("deployment") if not one["unique"]},
        "references": {
            (*one["constrained_columns"], one["referred_table"]) for one in found.get_foreign_keys("deployment")
        },
    }


async def test_rows_ids_and_references_are_kept(empty_database: Database) -> None:
    await migrate(empty_database)
    async with empty_database.write() as connection:
        await installations.ensure(connection, PodIdentity("east", 3), BEGIN)
    world = await World.make(empty_database)
    for _ in range(2):
        await world.begin("deploy: {script: x, environment: live}")
    async with empty_database.write() as connection:
        now = await connection.run_sync(shape)
        await connection.run_sync(back)
        then = await connection.run_sync(shape)
        await connection.run_sync(partial(back, before=True))
        assert await connection.run_sync(shape) == then
        await connection.execute(text("DELETE FROM deployment WHERE iid = 2"))
        (old,) = (await connection.execute(text("SELECT * FROM deployment"))).mappings().all()
    await migrate(empty_database)
    async with empty_database.write() as connection:
        assert await connection.run_sync(shape) == now
        (kept,) = (await connection.execute(text("SELECT * FROM deployment"))).mappings().all()
        assert {name: kept[name] for name in old} == dict(old)
        assert (kept["status"], kept["updated_at"], kept["finished_at"]) == ("", None, None)
    await world.begin("deploy: {script: x, environment: live}")
    async with empty_database.read() as connection:
        ids = (await connection.execute(select(deployment.c.id).order_by(deployment.c.id))).scalars().all()
    assert ids == [old["id"], old["id"] + 2], "the id of one that is gone is never used again"
    with pytest.raises(IntegrityError):
        async with empty_database.write() as connection:
            await connection.execute(deployment.update().where(deployment.c.id == ids[0]).values(job_id=1))


async def test_a_process_of_the_version_before_still_makes_deployments(empty_database: Database) -> None:
    await migrate(empty_database)
    world = await World.make(empty_database)
    await world.begin("deploy: {script: x, environment: live}")
    known = "iid, project_id, environment_id, job_id, pipeline_id, user_id, ref, tag, sha, on_stop, created_at"
    async with empty_database.write() as connection:
        (row,) = (await connection.execute(text(f"SELECT {known} FROM deployment"))).mappings().all()
        await connection.execute(text("DELETE FROM deployment"))
        values = ", ".join(f":{name}" for name in row)
        await connection.execute(text(f"INSERT INTO deployment ({known}) VALUES ({values})"), dict(row))
        assert (await connection.execute(text("SELECT status FROM deployment"))).scalar_one() == ""
