"""`perdure upgrade`, and every other start, with a database or a Temporal of another version."""

import asyncio
import json
import sqlite3
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from alembic.script import ScriptDirectory
from temporalio.client import Client

from activities.worker_version import builds_of
from models.migration_scripts import alembic_config
from tests.cli.conftest import Perdure
from tests.program import Program, environment
from tests.server import running_server
from tests.temporal import new_namespace, temporal_server
from tests.waiting import eventually

pytestmark = pytest.mark.slow

NEWEST = ScriptDirectory.from_config(alembic_config()).get_current_head()
"""The schema of this version."""


def steps(perdure: Perdure, *words: str, **env: str) -> tuple[int, dict[str, dict[str, object]]]:
    """Exit status and what each step said."""
    done = perdure("upgrade", "--json", *words, **env)
    return done.returncode, {step["name"]: step for step in json.loads(done.stdout)}


def test_an_upgrade_says_what_it_would_do_does_it_and_then_nothing(perdure: Perdure) -> None:
    perdure.home.mkdir()
    code, checked = steps(perdure, "--check")
    assert (code, checked["schema"]["is_due"]) == (1, True)
    assert str(checked["schema"]["text"]).startswith("nothing -> 0001")
    assert str(checked["schema"]["text"]).endswith(f"{NEWEST}.")
    code, done = steps(perdure)
    assert (code, done["schema"]["is_due"]) == (0, False)
    assert "They are added when a worker joins it" in str(done["search attributes"]["text"])
    code, again = steps(perdure, "--check")
    assert (code, again["schema"]["text"]) == (0, f"{NEWEST} is the newest.")


def newer_database(perdure: Perdure) -> None:
    """Let the database be of a version that nobody knows yet."""
    assert steps(perdure)[0] == 0
    database = sqlite3.connect(perdure.home / "perdure.db")
    database.execute("UPDATE alembic_version SET version_num = '9999'")
    database.commit()
    database.close()


def test_a_database_of_a_newer_version_is_refused_in_one_line(perdure: Perdure) -> None:
    perdure.home.mkdir()
    newer_database(perdure)
    refused = perdure("upgrade")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert f"has schema 9999, which this Perdure does not know (its newest is {NEWEST})" in refused.stderr


@pytest.mark.parametrize("role", ["all", "worker"])
async def test_no_process_starts_with_such_a_database(perdure: Perdure, tmp_path: Path, role: str) -> None:
    perdure.home.mkdir()
    await asyncio.to_thread(newer_database, perdure)
    known = {"PERDURE_HOME": str(perdure.home), "PERDURE_TEMPORAL_ADDRESS": "127.0.0.1:1", "PERDURE_API_ROLE": role}
    program = Program([sys.executable, "-m", "worker"], tmp_path / "worker.log", env=environment(**known))
    await program.start()
    assert await program.wait(60) == 1
    assert "perdure-worker: The database has schema 9999" in program.output()
    assert "Traceback" not in program.output()


@pytest.fixture
async def temporal(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """Address of a server."""
    async with temporal_server(tmp_path_factory.mktemp("temporal")) as address:
        yield address


async def test_new_pipelines_go_to_a_build_once_one_of_its_workers_has_polled(temporal: str, tmp_path: Path) -> None:
    namespace = await new_namespace(temporal)
    more = {"temporal_namespace": namespace, "worker_deployment": "perdure", "worker_build": "two"}
    async with running_server(tmp_path, temporal, **more) as server:
        known = {
            "PERDURE_HOME": str(server.home),
            "PERDURE_TEMPORAL_ADDRESS": temporal,
            "PERDURE_TEMPORAL_NAMESPACE": namespace,
            "PERDURE_WORKER_DEPLOYMENT": "perdure",
        }

        async def upgrade(build: str, *words: str) -> tuple[int, str]:
            argv = [sys.executable, "-m", "cli.main", "upgrade", *words]
            env = environment(**known, PERDURE_WORKER_BUILD=build)
            program = Program(argv, tmp_path / "upgrade.log", env=env)
            await program.start()
            code = await program.wait(60)
            return code, program.output()

        client = await Client.connect(temporal, namespace=namespace)

        async def has_polled() -> bool:
            return "two" in (await builds_of(client, "perdure")).known

        await eventually(has_polled, "Temporal knows the build", 60)
        code, said = await upgrade("three")
        assert (code, "No worker of three has polled" in said) == (1, True)
        assert "none -> two" in (await upgrade("two", "--check"))[1]
        code, said = await upgrade("two")
        assert (code, "none -> two: new pipelines go there" in said) == (0, True)
        assert (await builds_of(client, "perdure")).current == "two"
        code, said = await upgrade("two")
        assert (code, "two is current" in said, "All are there" in said) == (0, True, True)
