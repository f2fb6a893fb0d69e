"""What outsiders found with runners that stamp lines, on a real server: our runner behind a proxy that stamps."""

import asyncio
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cases.test_turn4 import TURN4
from tests.e2e.test_foreign_runners import PATIENCE, Stand, stand
from tests.foreign.own_runner import OwnRunner
from tests.project import Document
from tests.stamping import without_stamps
from tests.waiting import eventually

pytestmark = pytest.mark.slow

COVERAGE = {"a": 87.5, "b": 87.0, "c": 87.5, "d": 87.0, "e": 87.5}
SCREENSHOT = """
test:
  script:
    - mkdir shots && touch shots/a.png
    - printf "<testsuite><testcase name='x'><failure/><system-out>[[ATTACHMENT|shots/a.png]]</system-out></testcase></testsuite>" > r.xml
  artifacts: {paths: [shots], reports: {junit: r.xml}}
"""  # noqa: E501  # one line of a script


async def ended(place: Stand, config: str) -> tuple[Document, dict[str, Document]]:
    """The pipeline of a configuration when it is over, and its jobs."""
    await place.project.commit({".gitlab-ci.yml": config})
    pipeline = await place.project.ended((await place.project.push())["id"], PATIENCE)
    return pipeline, await place.project.jobs(pipeline["id"])


def sample(name: str) -> str:
    return (TURN4 / name).read_text()


async def test_what_outsiders_found(tmp_path: Path) -> None:
    (tmp_path / "runner").mkdir()
    runner = OwnRunner()
    async with (
        stand(tmp_path, "") as place,
        runner.serving(replace(place.site(), tag=""), tmp_path / "runner"),
    ):
        await check_coverage(place)
        await check_links(place)
        for name in ("runner-artifacts.yml", "artifact-globs.yml"):
            pipeline, jobs = await ended(place, sample(name))
            assert pipeline["status"] == "success", [await place.project.log(job["id"]) for job in jobs.values()]
        await check_dotenv(place)
        await check_attachment(place)


async def check_coverage(place: Stand) -> None:
    pipeline, jobs = await ended(place, sample("coverage-of-stamped-logs.yml"))

    async def found() -> bool:
        jobs = await place.project.jobs(pipeline["id"])
        return {name: job["coverage"] for name, job in jobs.items()} == COVERAGE

    await eventually(found, "the five patterns have found what they ask for", PATIENCE)
    assert b"Z 01O " in place.recording.logs[jobs["a"]["id"]]


async def check_links(place: Stand) -> None:
    pipeline, jobs = await ended(place, sample("symlink-in-artifacts.yml"))
    assert pipeline["status"] == "success"
    (bridge,) = await place.project.get(f"pipelines/{pipeline['id']}/bridges")
    assert bridge["downstream_pipeline"]["status"] == "success"
    files = f"/api/v4/projects/{place.project.id}/jobs/{jobs['gen']['id']}/artifacts"
    whole, link = [
        await place.project.client.get(f"{files}/{name}") for name in ("out/child.yml", "node_modules/.bin/x")
    ]
    assert (whole.status_code, link.status_code) == (200, 400)
    assert "symbolic link" in link.text


async def check_dotenv(place: Stand) -> None:
    pipeline, jobs = await ended(place, sample("dotenv.yml"))
    assert pipeline["status"] == "success"
    assert "[50%\r100%] [first page\fsecond]" in without_stamps(await place.project.log(jobs["use"]["id"]))


async def check_attachment(place: Stand) -> None:
    pipeline, _ = await ended(place, SCREENSHOT)

    async def is_read() -> bool:
        return bool((await place.project.get(f"pipelines/{pipeline['id']}/test_report"))["total_count"])

    await eventually(is_read, "the report is read", PATIENCE)
    known = {
        "URL": str(place.project.client.base_url).rstrip("/"),
        "TOKEN": place.project.client.headers["PRIVATE-TOKEN"],
        "PROJECT": str(place.project.id),
        "PIPELINE": str(pipeline["id"]),
    }
    run = await asyncio.create_subprocess_exec("sh", TURN4 / "junit-attachment.sh", env={**os.environ, **known})
    assert await run.wait() == 0, sys.stdout
