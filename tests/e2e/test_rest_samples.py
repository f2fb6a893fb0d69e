"""Small scripts that ask a real server as clients do; each says in its first lines what is right, and where from."""

import asyncio
import os
import re
from pathlib import Path
from typing import Final

import pytest

from tests.cases.test_samples import SAMPLES
from tests.e2e.player import Player
from tests.project import Project
from tests.server import SHORT_TIMES, running_server
from tests.temporal import TemporalServer

pytestmark = pytest.mark.slow

FOLDER: Final = SAMPLES / "turn4"
FILES: Final = {".gitlab-ci.yml": "build: {script: make}\n", "README.md": "words\n"}
_SAID: Final = (re.compile(r"^(\d{3}) \[(\d{3})"), re.compile(r"^(\d{3}) \S+ \(expected (\d{3})\)"))
"""How scripts tell of each call: what it got, and what is right."""


async def run(name: str, **variables: str) -> str:
    """What a script says; it must end well, and every status that it tells be the right one."""
    process = await asyncio.create_subprocess_exec(
        "sh",
        str(FOLDER / name),
        env={**os.environ, **variables, "no_proxy": "*"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said = (await process.communicate())[0].decode()
    assert process.returncode == 0, said
    pairs = [found.groups() for line in said.splitlines() for one in _SAID if (found := one.match(line))]
    assert [pair for pair in pairs if pair[0] != pair[1]] == [], said
    return said


async def test_a_real_server_answers_each_script_rightly(tmp_path: Path) -> None:
    """Ten seconds: a server and Temporal are started, and a pipeline is run, once for all four."""
    temporal = TemporalServer(tmp_path)
    await temporal.start()
    try:
        async with running_server(tmp_path, temporal.address, **SHORT_TIMES) as server, server.client() as client:
            (tmp_path / "tree").mkdir()
            project = await Project.create(client, "sampled", tmp_path / "tree", FILES)
            pipeline = await project.push()
            player = Player(client, server.credentials["registration_token"])
            await player.register()
            job = await player.job()
            assert await player.finish(job) == 200
            assert (await project.ended(pipeline["id"]))["status"] == "success"
            release = {"tag_name": "v1", "ref": "main", "description": "d"}
            made = await client.post(f"/api/v4/projects/{project.id}/releases", json=release)
            assert made.status_code == 201, made.text
            known = {"URL": server.url, "TOKEN": server.credentials["token"], "PROJECT": str(project.id)}
            assert "OK" in await run("project-create.sh", **known)
            assert "400 (expected 400)" in await run("play.sh", **known, JOB=str(job["id"]))
            pages = await run("release-response.sh", **known, TAG="v1", FULL_PATH="root/sampled")
            assert pages.count("(expected 200)") == 5
            statuses = await run("statuses.sh", **known)
            assert len(statuses.splitlines()) == 8
    finally:
        await temporal.stop()
