"""The schema that migrations make is the one that the models describe."""

import asyncio
from functools import partial
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, inspect, text
from sqlmodel import SQLModel

import models.schema  # noqa: F401  # registers every table
from domain.errors import Invalid
from domain.pods.identity import PodIdentity
from models import migrate as migrating
from models.migrate import migrate
from models.migration_scripts import alembic_config
from models.repositories.installation import installations
from models.repositories.namespaces.namespaces import create as create_namespace
from models.repositories.runners import runners
from models.schema import VERSION
from models.session import Database
from tests.known_schema import MIGRATING
from tests.models.world import BEGIN


@pytest.fixture(autouse=True)
def real_migrations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every database goes through all of them."""
    monkeypatch.setattr(migrating, "_upgrade", MIGRATING)


def differences(connection: Connection) -> list[Any]:
    """What a further migration would have to change."""
    context = MigrationContext.configure(connection, opts={"compare_type": True})
    return list(compare_metadata(context, SQLModel.metadata))


def tables(connection: Connection) -> set[str]:
    """Names of the tables there are."""
    return set(inspect(connection).get_table_names())


async def test_migrations_make_what_the_models_describe(empty_database: Database) -> None:
    async with empty_database.read() as connection:
        assert await connection.run_sync(tables) == set()
        assert await connection.run_sync(differences) != []
    await migrate(empty_database)
    async with empty_database.read() as connection:
        assert await connection.run_sync(tables) == {*SQLModel.metadata.tables, "alembic_version"}
        assert await connection.run_sync(differences) == []


async def test_migrating_again_and_at_the_same_time_is_harmless(empty_database: Database) -> None:
    await asyncio.gather(*(migrate(empty_database) for _ in range(3)))
    async with empty_database.read() as connection:
        versions = (await connection.execute(text("SELECT version_num FROM alembic_version"))).scalars().all()
    assert versions == [VERSION]


async def test_ids_of_a_pod_begin_at_its_block_and_are_never_used_again(empty_database: Database) -> None:
    """On a database of its own: where its counters stand must not reach another test."""
    await migrate(empty_database)
    database = empty_database
    first = 3 * installations.BLOCK + 1
    async with database.write() as connection:
        await installations.ensure(connection, PodIdentity("east", 3), BEGIN)
        assert await create_namespace(connection, "one", "One", BEGIN) == first
    async with database.write() as connection:
        await connection.execute(text("DELETE FROM namespace"))
    async with database.write() as connection:
        assert await create_namespace(connection, "two", "Two", BEGIN) == first + 1


async def test_ids_of_tables_that_a_later_version_adds_begin_at_the_block_too(empty_database: Database) -> None:
    """Also those of one that has given ids already; where ids have begun in the block they go on."""
    database, first = empty_database, 3 * installations.BLOCK
    older = (
        "INSERT INTO installation (id, installation_id, pod, registration_token_hash, sealed_check, created_at)"
        " VALUES (1, 'x', 'east', '', '', '2026-01-01 12:00:00')"
    )
    async with database.write() as connection:
        await connection.run_sync(partial(upgrade_to, version="0010"))
        await connection.execute(text(older))
        await installations.continue_after(connection, "namespace", first + 5)
    await migrate(database)
    async with database.write() as connection:
        await installations.ensure(connection, PodIdentity("east", 3), BEGIN)
        known = await installations.last_ids(connection)
    assert (known["namespace"], known["deploy_token"], known["runner"]) == (first + 5, first, first)
    async with database.write() as connection:
        await installations.continue_after(connection, "runner", 7)
        await installations.ensure(connection, PodIdentity("east", 3), BEGIN)
        assert (await installations.last_ids(connection))["runner"] == first


async def test_a_database_belongs_to_one_pod(database: Database) -> None:
    async with database.write() as connection:
        mine = await installations.ensure(connection, PodIdentity("east", 0), BEGIN)
        assert await installations.ensure(connection, PodIdentity("east", 0), BEGIN) == mine
        with pytest.raises(Invalid, match="belongs to pod east, not to west"):
            await installations.ensure(connection, PodIdentity("west", 0), BEGIN)


def upgrade_to(connection: Connection, version: str) -> None:
    """The schema of an earlier Perdure."""
    config = alembic_config()
    config.attributes["connection"] = connection
    command.upgrade(config, version)


def columns_of(connection: Connection, table: str) -> dict[str, Any]:
    """Names of a table's columns, with what they must hold of it where nothing is said."""
    return {column["name"]: column for column in inspect(connection).get_columns(table)}


async def test_rows_of_the_first_version_are_kept_and_its_processes_go_on(empty_database: Database) -> None:
    """A process of the version before may still write while the new ones have migrated: it knows no new column."""
    insert = (
        "INSERT INTO runner (token_hash, by_registration, runner_type, description, tags, run_untagged, locked, paused,"
        " ref_protected, maintenance_note, created_at) VALUES (:hash, false, 'instance_type', '', '[]', true, false,"
        " false, false, '', '2026-01-02 03:04:05')"
    )
    async with empty_database.write() as connection:
        await connection.run_sync(partial(upgrade_to, version="0001"))
        await connection.execute(text(insert), {"hash": "before"})
    await migrate(empty_database)
    async with empty_database.write() as connection:
        await connection.execute(text(insert), {"hash": "after"})
        alike = await runners.with_token_form(connection, 0)
        added = {
            table: await connection.run_sync(partial(columns_of, table=table))
            for table in ("runner", "project", "merge_request", "access_token", "installation")
        }
    assert len(alike) == 2
    for table, column in (
        ("runner", "token_form"),
        ("runner", "as_server"),
        ("project", "languages"),
        ("project", "may_run_as_server"),
        ("merge_request", "diff_version"),
        ("access_token", "names_pod"),
        ("installation", "registration_names_pod"),
    ):
        assert (added[table][column]["nullable"], added[table][column]["default"] is None) == (False, False)
