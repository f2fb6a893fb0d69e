"""`POST /projects/:id/jobs/:job_id/retry` with `from_step`."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from models.columns import table_of
from models.repositories.artifacts import job_objects
from models.tables.outbox import Outbox
from models.tables.pinned_steps import PinnedSteps
from tests.api.v4.site import Site
from tests.handed_in_steps import DONE, RUN, STEPS, hand_in, step, written

MAINTAINER, DEVELOPER, REPORTER = 40, 30, 20


async def failed(site: Site, content: bytes | None = None, config: str = RUN) -> int:
    """A job that has failed, and has handed in this; its id."""
    await site.world.pipeline(config)
    job = await site.world.job()
    if content is not None:
        await hand_in(site.services.database, site.services.store, job["id"], content)
    assert (await site.world.put(job, "failed", failure_reason="script_failure")).status_code == 200
    await site.world.settle((await site.world.row(job["id"])).pipeline_id)
    return int(job["id"])


async def retry(site: Site, job_id: int, person: Any = None, **call: Any) -> httpx.Response:
    """Ask for a retry."""
    async with site.client(person or site.root) as client:
        return await client.post(f"/api/v4/projects/{site.world.project_id}/jobs/{job_id}/retry", **call)


async def begun(site: Site, job_id: int) -> Any:
    """What the runner of the attempt after this one is told of where it begins."""
    await site.world.settle((await site.world.row(job_id)).pipeline_id)
    return (await site.world.job()).get("steps_resume")


@pytest.fixture
def answering(site: Site) -> Site:
    """A site whose commands are answered."""
    site.connect_temporal()
    return site


@pytest.mark.parametrize(
    "call",
    [
        {"json": {"from_step": "whisper"}},
        {"json": {"from_step": 3}},
        {"data": {"from_step": "3"}},
        {"params": {"from_step": "whisper"}},
        {"files": {"from_step": (None, "whisper")}},
    ],
)
async def test_an_attempt_begins_at_the_step_that_is_named(answering: Site, call: dict[str, Any]) -> None:
    first = await failed(answering, written(*STEPS))
    response = await retry(answering, first, **call)
    assert (response.status_code, response.json()["attempt"]) == (201, 2)
    assert await begun(answering, first) == {"from": "whisper", "done": DONE}


@pytest.mark.parametrize("call", [{}, {"json": {}}, {"json": {"from_step": None}}, {"json": {"from_step": "hello"}}])
async def test_without_a_step_or_at_the_first_one_all_is_run(answering: Site, call: dict[str, Any]) -> None:
    first = await failed(answering)
    assert (await retry(answering, first, **call)).status_code == 201
    assert await begun(answering, first) is None


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            "shuot",
            "The job has no step 'shuot'; did you mean `shout`? Its steps are hello (1), shout (2), whisper (3).",
        ),
        (4, "The job has no step '4'."),
        ("whisper", "step 'shout' before it gave something sensitive, which is not kept. Begin at 'shout' or before."),
        ("", "from_step is a step of the job's `run` by name or number"),
        ("x" * 256, "from_step is a step of the job's `run` by name or number, of at most 255 characters"),
        (True, "from_step"),
        (1.5, "from_step"),
        (["hello"], "from_step"),
        ({}, "from_step"),
    ],
)
async def test_what_cannot_be_begun_is_400_with_the_reason(answering: Site, asked: Any, said: str) -> None:
    first = await failed(answering, written(STEPS[0], step("shout", is_kept=False), step("whisper", "failed")))
    response = await retry(answering, first, json={"from_step": asked})
    assert response.status_code == 400
    assert said in response.json()["message"]
    assert not (await answering.world.row(first)).retried


@pytest.mark.parametrize(
    ("config", "content", "said"),
    [
        (RUN, None, "since its runner handed in no results of steps"),
        (RUN, b"{", "cannot be used: the file is no JSON"),
        ("work: {script: x}\n", None, "The job has no `run`, so there is no step to begin at."),
    ],
)
async def test_an_attempt_of_which_nothing_is_known_says_why(
    answering: Site, config: str, content: bytes | None, said: str
) -> None:
    first = await failed(answering, content, config)
    response = await retry(answering, first, json={"from_step": 2})
    assert (response.status_code, said in response.json()["message"]) == (400, True)


async def test_a_job_that_is_not_retryable_is_refused_as_ever(answering: Site) -> None:
    await answering.world.pipeline(RUN)
    job = await answering.world.job()
    response = await retry(answering, job["id"], json={"from_step": "nope"})
    assert (response.status_code, response.json()["message"]) == (403, "403 Forbidden - Job is not retryable")


@pytest.mark.parametrize(("level", "status"), [(0, 404), (REPORTER, 403), (DEVELOPER, 403), (MAINTAINER, 400)])
async def test_only_who_may_retry_hears_of_the_steps(answering: Site, level: int, status: int) -> None:
    first = await failed(answering)
    response = await retry(answering, first, await answering.person("bob", level), json={"from_step": "nope"})
    assert response.status_code == status
    assert ("hello (1)" in response.text) == (status == 400)


async def test_another_operation_takes_no_step(answering: Site) -> None:
    pipeline_id = await answering.world.pipeline(f"{RUN}      when: manual\n")
    jobs = f"/api/v4/projects/{answering.world.project_id}/jobs"
    async with answering.client(answering.root) as client:
        (manual,) = (await client.get(jobs)).json()
        play = f"{jobs}/{manual['id']}/play"
        assert (await client.post(play)).status_code == 200
        await answering.world.settle(pipeline_id)
        job = await answering.world.job()
        assert (await answering.world.put(job, "failed", failure_reason="script_failure")).status_code == 200
        await answering.world.settle(pipeline_id)
        assert (await client.post(play, json={"from_step": "nope"})).status_code == 200
    assert await begun(answering, job["id"]) is None


async def test_results_that_are_erased_after_the_retry_are_told_the_runner(answering: Site) -> None:
    first = await failed(answering, written(*STEPS))
    assert (await retry(answering, first, json={"from_step": "shout"})).status_code == 201
    async with answering.client(answering.root) as client:
        address = f"/api/v4/projects/{answering.world.project_id}/jobs/{first}/erase"
        assert (await client.post(address)).status_code == 201
    assert await begun(answering, first) == {"from": "shout", "done": {"hello": DONE["hello"]}}


async def test_erasing_before_leaves_nothing_to_begin_behind(answering: Site) -> None:
    first = await failed(answering, written(*STEPS))
    async with answering.services.database.write() as connection:
        await job_objects.erase(connection, first, answering.services.clock())
    response = await retry(answering, first, json={"from_step": "shout"})
    assert (response.status_code, "erased with the log" in response.json()["message"]) == (400, True)


async def test_while_temporal_is_away_only_the_name_waits(site: Site) -> None:
    first = await failed(site, written(*STEPS))
    assert (await retry(site, first, json={"from_step": "shuot"})).status_code == 400
    assert (await retry(site, first, json={"from_step": "shout"})).status_code == 202
    async with site.services.database.read() as connection:
        rows = (await connection.execute(table_of(Outbox).select())).all()
        assert (await connection.execute(table_of(PinnedSteps).select())).all() == []
    (payload,) = [row.payload for row in rows if row.payload.get("name") == "retry_job"]
    assert payload["from_step"] == "shout"
    assert "canary" not in str(rows)


def take_away(folder: Path) -> None:
    """The folder of a store is no folder any more."""
    folder.rename(folder.with_name("elsewhere"))
    folder.write_bytes(b"")


async def test_a_store_that_is_away_is_503(answering: Site) -> None:
    first = await failed(answering, written(*STEPS))
    take_away(answering.services.settings.home / "objects")
    response = await retry(answering, first, json={"from_step": "shout"})
    assert response.status_code == 503
    assert not (await answering.world.row(first)).retried
