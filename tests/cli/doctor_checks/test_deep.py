"""`perdure doctor --deep` on a copy of a database: what is wrong with stored pipelines, and what to do."""

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import text

from cli.doctor_checks.check import Check, State
from cli.doctor_checks.deep import MAX_OF_A_RULE, deep_checks
from models.session import Database
from settings import Settings
from tests.models.database import migrated
from tests.models.world import World


async def stored(home: Path, pipelines: int, *damage: str) -> Path:
    """The file of a database with pipelines, damaged by these statements."""
    settings = Settings(home=home)
    async with migrated(Database(settings.database)) as database:
        world = await World.make(database)
        for _ in range(pipelines):
            await world.begin("one: {script: x}")
        async with database.write() as connection:
            for statement in damage:
                await connection.execute(text(statement))
    return home / "perdure.db"


async def test_a_database_in_order_is_said_to_be(tmp_path: Path) -> None:
    path = await stored(tmp_path, 2)
    (check,) = await _checks(path)
    assert (check.name, check.state) == ("stored state", State.OK)


async def test_each_fault_is_a_row_with_a_remedy(tmp_path: Path) -> None:
    path = await stored(tmp_path, 1, "UPDATE stage SET status = 'running'")
    (check,) = await _checks(path)
    assert (check.name, check.state) == ("stage_status", State.FAIL)
    assert check.detail == "stage test of pipeline 1 is stored as running; its jobs fold into pending"
    assert "--workflow-id pipeline-1 --name reconcile" in check.fix


async def test_many_faults_of_a_kind_are_counted(tmp_path: Path) -> None:
    path = await stored(tmp_path, MAX_OF_A_RULE + 3, "DELETE FROM queue_entry")
    checks = await _checks(path)
    assert len(checks) == MAX_OF_A_RULE + 1
    assert checks[-1].detail == "3 more like these"


async def test_a_copy_that_is_not_there_is_named(tmp_path: Path) -> None:
    (check,) = await _checks(tmp_path / "nowhere.db")
    assert check.state == State.FAIL
    assert f"There is no database at {tmp_path / 'nowhere.db'}" in check.detail


async def _checks(path: Path) -> list[Check]:
    """The command runs an event loop of its own, so it runs beside this one."""
    return await asyncio.to_thread(lambda: list(deep_checks(str(path))))


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No installation of this machine is looked at."""
    monkeypatch.chdir(tmp_path)
