"""An installation of the first version goes on with this one: from its backup, and in place."""

import shutil
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from domain.pipelines.status import COMPLETE
from tests.program import Program, environment, running
from tests.server import SHORT_TIMES, Server, running_server
from tests.temporal import temporal_server
from tests.upgrade import first_version
from tests.waiting import HANGS, eventually

pytestmark = pytest.mark.slow

AGES = 10**9
"""Seconds that a job may wait here: one has waited since its rows were written down."""
TIMES = {
    **SHORT_TIMES,
    "lease_tick": 0.5,
    "runner_lost": 15,
    "outage_bonus_min": 1,
    "outage_bonus_max": 2,
    "pending_unmatched": AGES,
    "pending_limit": AGES,
}

WITHIN = 120.0
SUCCEEDED, FAILED, HELD = 1, 2, 3
"""Its pipelines: the last one has a job that a runner holds which never comes back, and one that waits."""
RUNNER = """
check_interval = 1
[[runners]]
  name = "kept"
  url = "{url}"
  token = "{token}"
  executor = "shell"
"""
Document = dict[str, Any]


@dataclass(frozen=True)
class Command:
    """Commands of this version for the installation in `home`."""

    home: Path
    temporal: str

    async def run(self, *words: str | Path) -> str:
        """Run one to its good end; what it printed."""
        known = {"PERDURE_HOME": str(self.home), "PERDURE_TEMPORAL_ADDRESS": self.temporal}
        log = self.home.parent / f"{words[0]}.log"
        program = Program([sys.executable, "-m", "cli.main", *words], log, env=environment(**known))
        await program.start()
        code = await program.wait(WITHIN)
        assert code == 0, program.output()
        return program.output()


@pytest.fixture(params=["restored", "in place"])
async def server(tmp_path: Path, old_database: Path, request: pytest.FixtureRequest) -> AsyncIterator[Server]:
    """This version over what the first one has left; Temporal has lost its store."""
    home = tmp_path / "server" / "home"
    home.parent.mkdir()
    async with temporal_server(tmp_path) as temporal:
        command = Command(home, temporal)
        backup = tmp_path / "backup.tar.gz"
        first_version.write_backup(backup, old_database)
        await command.run("restore", "--promote", backup)
        if request.param == "in place":  # repositories and objects are as they were; the database is put back
            for file in home.glob("perdure.db*"):
                file.unlink()
            shutil.copy(old_database, home / "perdure.db")
            await command.run("upgrade")
        async with running_server(home.parent, temporal, **TIMES) as running_one:
            yield running_one


async def test_everything_of_the_first_version_goes_on(server: Server, tmp_path: Path) -> None:
    told = first_version.tokens()
    async with (
        server.client() as root,  # with the token of the old `credentials.json`
        httpx.AsyncClient(
            base_url=server.url, headers={"PRIVATE-TOKEN": told["personal"]}, trust_env=False, timeout=HANGS
        ) as ada,
    ):
        assert (await root.get("/api/v4/user")).json()["username"] == "root"
        assert (await ada.get("/api/v4/user")).json()["username"] == "ada"
        project = "/api/v4/projects/1"
        assert (await ada.get(f"{project}/variables/SECRET")).json()["value"] == told["secret"]
        await _old_results_are_there(ada, project)
        made = await root.post(f"{project}/trigger/pipeline", data={"token": told["trigger"], "ref": "main"})
        assert made.status_code == httpx.codes.CREATED, made.text
        for name, pipeline_id in (("created_runner", HELD), ("registered_runner", made.json()["id"])):
            file = tmp_path / f"{name}.toml"
            file.write_text(RUNNER.format(url=server.url, token=told[name]))
            await _plays(file, ada, pipeline_id)


async def _old_results_are_there(client: httpx.AsyncClient, project: str) -> None:
    statuses = {item["id"]: item["status"] for item in (await client.get(f"{project}/pipelines")).json()}
    assert {key: statuses[key] for key in (SUCCEEDED, FAILED)} == {SUCCEEDED: "success", FAILED: "failed"}
    jobs = (await client.get(f"{project}/pipelines/{SUCCEEDED}/jobs")).json()
    build = next(item for item in jobs if item["name"] == "build")
    assert (await client.get(f"{project}/jobs/{build['id']}/trace")).text == "played build\n"
    assert (await client.get(f"{project}/jobs/{build['id']}/artifacts/made.txt")).text == "made\n"
    assert (await client.get(f"{project}/repository/files/a/raw?ref=main")).text == "c"
    (schedule,) = (await client.get(f"{project}/pipeline_schedules")).json()
    assert (schedule["description"], schedule["active"]) == ("nightly", True)


async def _plays(config: Path, client: httpx.AsyncClient, pipeline_id: int) -> None:
    """A runner that has kept its configuration file takes what waits; the pipeline ends."""
    argv: list[str | Path] = [sys.executable, "-m", "cli.main", "runner", "run", "--config", config]
    async with running(Program(argv, config.with_suffix(".log"), env=environment())) as program:

        async def ended() -> Document | None:
            found: Document = (await client.get(f"/api/v4/projects/1/pipelines/{pipeline_id}")).json()
            return found if found["status"] in COMPLETE else None

        try:
            found = await eventually(ended, f"pipeline {pipeline_id} has ended", WITHIN)
        except TimeoutError as error:
            raise AssertionError(f"{error}\n{program.output()[-4000:]}") from error
    jobs = (await client.get(f"/api/v4/projects/1/pipelines/{pipeline_id}/jobs")).json()
    by_name = {item["name"]: (item["status"], item.get("failure_reason")) for item in jobs}
    if pipeline_id == HELD:
        assert by_name["lint"] == ("success", None)
        assert by_name["unit"] == ("failed", "no_updates_running"), by_name  # it has begun so long ago
        assert found["status"] == "failed"
    else:
        assert found["status"] == "success", by_name
