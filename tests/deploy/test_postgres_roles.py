"""The container set's roles in a real PostgreSQL: each has what is its own, and nothing more."""

import asyncio
import os
from pathlib import Path

import asyncpg
import pytest

from models.migrate import migrate
from models.session import Database
from rigs.postgres import DRIVER, OWNER
from tests.postgres import postgres_programs, postgres_server

SCRIPT = Path(__file__).resolve().parents[2] / "deploy" / "postgres" / "10-roles.sh"


async def _told(address: str, *statements: str) -> None:
    connection = await asyncpg.connect(address)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


async def _row(address: str, statement: str) -> asyncpg.Record:
    connection = await asyncpg.connect(address)
    try:
        return await connection.fetchrow(statement)
    finally:
        await connection.close()


async def test_perdure_and_temporal_own_their_databases_and_nothing_else() -> None:
    """A server of its own: roles belong to a whole server. It takes two seconds; nothing else keeps them apart."""
    with postgres_server() as address:
        place = address.removeprefix(DRIVER).rpartition("/")[0].rpartition("@")[2]
        host, _, port = place.partition(":")
        await _told(f"postgresql://{OWNER}@{place}/postgres", "CREATE ROLE admin SUPERUSER LOGIN")
        await _told(f"postgresql://admin@{place}/postgres", f"ALTER ROLE {OWNER} RENAME TO made_by_the_tests")
        given = {"POSTGRES_USER": "admin", "POSTGRES_DB": "postgres", "PGHOST": host, "PGPORT": port}
        passwords = {"OWN_POSTGRES_PASSWORD": "it's", "TEMPORAL_POSTGRES_PASSWORD": "$x"}
        path = f"{postgres_programs()}:{os.environ['PATH']}"
        script = await asyncio.create_subprocess_exec("bash", SCRIPT, env={**given, **passwords, "PATH": path})
        assert await script.wait() == 0

        database = Database(f"{DRIVER}perdure@{place}/perdure")
        try:
            await migrate(database)
        finally:
            await database.close()
        row = await _row(f"postgresql://perdure@{place}/perdure", "SELECT * FROM pg_roles WHERE rolname = 'perdure'")
        assert not any(row[name] for name in ("rolsuper", "rolcreatedb", "rolcreaterole", "rolreplication"))
        for statement in ("COPY (SELECT 1) TO PROGRAM 'true'", "SELECT * FROM pg_authid", "CREATE ROLE other"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await _told(f"postgresql://perdure@{place}/perdure", statement)
        for role, foreign in (("perdure", "temporal"), ("perdure", "postgres"), ("temporal", "perdure")):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await _told(f"postgresql://{role}@{place}/{foreign}")
        for own in ("temporal", "temporal_visibility"):
            await _told(f"postgresql://temporal@{place}/{own}", "CREATE TABLE made (id int)")
