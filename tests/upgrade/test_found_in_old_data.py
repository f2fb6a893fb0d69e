"""What an attacker could use in an installation of the first version is named or closed after its upgrade."""

import asyncio
import json
import shutil
import sqlite3
import sys
from pathlib import Path

import pytest

from tests.git.serving import git
from tests.program import Program, environment
from tests.server import SHORT_TIMES, running_server
from tests.temporal import temporal_server
from tests.upgrade import first_version
from tests.upgrade.test_installation import WITHIN, Command
from tests.waiting import eventually

pytestmark = pytest.mark.slow
"""A backup is restored and upgraded, and a server of its own started."""

CANARY = "canary-swordfish"
WHY = {
    "included": True,
    "clause": "rules[0]",
    "text": "rules[0] says so",
    "tried": [{"name": "rules[0]", "matched": True, "expression": "if: $TOKEN", "values": {"TOKEN": CANARY}}],
}


def put_in_clear(database: Path) -> None:
    """Give pipelines and jobs values as the first version has written them."""
    variables = json.dumps([{"key": "TOKEN", "value": CANARY}])
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE pipeline SET variables = ?, reasons = ?", (variables, json.dumps({"why": WHY})))
        connection.execute("UPDATE job SET variables = ?, why = ?", (variables, json.dumps(WHY)))
    connection.close()


def places(database: Path) -> set[str]:
    """Where the value stands in clear."""
    rows = first_version.rows_in(database)
    return {f"{table}.{name}" for table in rows for row in rows[table] for name in row if CANARY in str(row[name])}


async def test_values_in_clear_are_sealed_and_an_ambiguous_name_is_told(tmp_path: Path, old_database: Path) -> None:
    home, backup = tmp_path / "server" / "home", tmp_path / "backup.tar.gz"
    home.parent.mkdir()
    async with temporal_server(tmp_path) as temporal:
        command = Command(home, temporal)
        first_version.write_backup(backup, old_database)
        await command.run("restore", "--promote", backup)
        for file in home.glob("perdure.db*"):
            file.unlink()
        put_in_clear(old_database)
        assert places(old_database) == {"pipeline.variables", "pipeline.reasons", "job.variables", "job.why"}
        shutil.copy(old_database, home / "perdure.db")
        (repository,) = (home / "repositories").glob("1.git")
        await git("update-ref", "refs/tags/main", "refs/heads/main", cwd=repository)
        await command.run("upgrade")
        async with running_server(home.parent, temporal, **SHORT_TIMES) as server:

            async def sealed() -> bool:
                return not await asyncio.to_thread(places, home / "perdure.db")

            await eventually(sealed, "no value stands in clear", WITHIN)
            async with server.client() as root:
                told = (await root.get("/api/v4/projects/1/pipelines/1/variables")).json()
                why = (await root.get("/api/v4/projects/1/pipelines/1/why")).json()
            assert [(item["key"], item["value"]) for item in told] == [("TOKEN", CANARY)]
            assert why["pipeline"]["tried"][0]["values"] == {"TOKEN": CANARY}
            known = {"PERDURE_HOME": str(home), "PERDURE_TEMPORAL_ADDRESS": temporal}
            doctor = Program(
                [sys.executable, "-m", "cli.main", "doctor"], tmp_path / "doctor.log", env=environment(**known)
            )
            await doctor.start()
            await doctor.wait(WITHIN)
            assert "main of project 1" in doctor.output()
