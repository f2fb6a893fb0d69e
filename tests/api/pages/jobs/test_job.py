"""The page of a job: what stands beside its log, and what its buttons do."""

import re
from typing import Any

import httpx
import pytest

from models.repositories.owner import Owner
from models.repositories.projects import ci_variables
from tests.api.pages.test_pages import EVIL, browser
from tests.api.v4.jobs.test_artifacts import archive
from tests.api.v4.site import Person, Site
from tests.handed_in_steps import DONE, RUN, STEPS, hand_in, written

WEB = """
stages: [build, test]
build: {stage: build, script: x, artifacts: {paths: [out]}}
lint: {stage: build, script: x, variables: {A: "1"}}
check:
  stage: test
  script: x
  needs: [build, {job: lint, artifacts: false}]
  variables: {LEVEL: high}
  environment: {name: live, url: "https://live.example"}
  resource_group: one
  rules: [{if: '$CI_COMMIT_BRANCH == "main"'}]
"""


async def text(site: Site, job_id: int, person: Person | None = None, rest: str = "") -> str:
    """A page of a job as somebody sees it, its white space in one."""
    async with browser(site, person or site.root) as client:
        response = await client.get(f"/{await site.path()}/-/jobs/{job_id}{rest}")
    assert response.status_code == 200, response.text
    return re.sub(r"\s+", " ", response.text)


async def press(site: Site, job_id: int, action: str, form: Any = None, person: Person | None = None) -> httpx.Response:
    """Send a form of a job's page."""
    async with browser(site, person or site.root, Origin=site.services.settings.url) as client:
        return await client.post(f"/{await site.path()}/-/jobs/{job_id}/{action}", data=form)


async def ended(site: Site, config: str, state: str = "failed", files: dict[str, str] | None = None) -> int:
    """The first job of a pipeline, when it has ended; its id."""
    pipeline = await site.world.pipeline(config)
    job = await site.world.job()
    if files:
        await site.world.upload(job, archive(files))
    await site.world.put(job, state)
    await site.world.settle(pipeline)
    return int(job["id"])


async def manual(site: Site, config: str) -> int:
    """The id of the one job of a pipeline, which waits for somebody."""
    pipeline = await site.world.pipeline(config)
    async with site.client(site.root) as client:
        address = f"/api/v4/projects/{site.world.project_id}/pipelines/{pipeline}/jobs"
        (job,) = (await client.get(address)).json()
    return int(job["id"])


async def test_what_a_job_has_to_do_with_stands_beside_its_log(site: Site) -> None:
    pipeline = await site.world.pipeline(WEB)
    built, linted = await site.world.job(), await site.world.job()
    await site.world.upload(built, archive({"out/a": "1"}))
    for job in (built, linted):
        await site.world.put(job, "success")
    await site.world.settle(pipeline)
    async with site.services.database.write() as connection:
        owner = Owner(project_id=site.world.project_id)
        for key in ("LEVEL", "TOKEN"):
            sealed = site.services.sealer.seal("of nobody", ci_variables.purpose_of(owner))
            await ci_variables.add(
                connection, owner, site.services.clock(), key=key, value=sealed, environment_scope="*"
            )
    async with site.client(site.root) as client:
        project = f"/api/v4/projects/{site.world.project_id}"
        (environment,) = (await client.get(f"{project}/environments")).json()
        live = {"external_url": "https://live.example"}
        assert (await client.put(f"{project}/environments/{environment['id']}", json=live)).status_code == 200
        address = f"/api/v4/projects/{site.world.project_id}/pipelines/{pipeline}/jobs"
        (job_id,) = (item["id"] for item in (await client.get(address)).json() if item["name"] == "check")
    page = await text(site, job_id)
    assert f'/-/jobs/{built["id"]}/artifacts/browse"' in page, "what it gets of the job before it"
    assert "without its files" in page
    assert re.search(r"deploys to <a [^>]*/-/environments/\d+\"><bdi>live</bdi>", page)
    assert 'href="https://live.example"' in page
    assert "This job holds it." in page or "want" in page
    assert "rules[0]" in page
    assert re.search(r"<code>LEVEL</code> <span[^>]*>project, not configuration", page)
    assert re.search(r"<code>TOKEN</code> <span[^>]*>project</span>", page)
    assert "of nobody" not in page, "values are never shown"
    reader = await site.person("reader", 20)
    assert "TOKEN" not in await text(site, job_id, reader), "who may not run it sees no names"


async def test_times_are_those_of_the_row_and_of_the_log(site: Site) -> None:
    pipeline = await site.world.pipeline("build: {script: x}\n")
    job = await site.world.job()
    began = int((await site.world.row(job["id"])).started_at.timestamp())
    log = f"section_start:{began}:step_script\r\x1b[0Kx\nsection_end:{began + 1}:step_script\r\x1b[0K\n".encode()
    await site.world.patch(job, 0, log)
    await site.world.put(job, "success", log)
    await site.world.settle(pipeline)
    page = await text(site, job["id"])
    assert "ran its script" in page
    assert "waited for a runner" in page
    assert '<svg class="time-split"' in page


async def test_why_it_waits_says_the_place_in_the_queue_and_the_next_step(site: Site) -> None:
    pipeline = await site.world.pipeline("a: {script: x}\nb: {script: x, tags: [none-such]}\n")
    async with site.client(site.root) as client:
        address = f"/api/v4/projects/{site.world.project_id}/pipelines/{pipeline}/jobs"
        jobs = {item["name"]: item["id"] for item in (await client.get(address)).json()}
        why = (await client.get(f"/api/v4/projects/{site.world.project_id}/jobs/{jobs['b']}/why")).json()["explanation"]
    await site.world.request()
    stuck = await text(site, jobs["b"])
    assert 'data-why="stuck"' in stuck
    assert why["next_step"] in stuck.replace("&#39;", "'").replace("&#34;", '"').replace("`", "`")


async def test_a_retry_is_given_variables_over_those_that_it_had(site: Site) -> None:
    site.connect_temporal()
    job_id = await manual(site, "go: {script: x, when: manual}\n")
    played = await press(site, job_id, "play", {"keys[]": ["COLOUR", "SIZE", ""], "values[]": ["crimson", "9", "x"]})
    assert played.status_code == 303
    job = await site.world.job()
    given = {item["key"]: item["value"] for item in job["variables"]}
    assert (given["COLOUR"], given["SIZE"]) == ("crimson", "9"), "the runner has them"
    await site.world.put(job, "failed")
    await site.world.settle((await site.world.row(job_id)).pipeline_id)
    form = await text(site, job_id, rest="/retry")
    assert "<code>COLOUR</code>, <code>SIZE</code>" in form
    assert "crimson" not in form
    retried = await press(site, job_id, "retry", {"keys[]": ["SIZE"], "values[]": ["10"]})
    await site.world.settle((await site.world.row(job_id)).pipeline_id)
    again = await site.world.job()
    given = {item["key"]: item["value"] for item in again["variables"]}
    assert (given["COLOUR"], given["SIZE"]) == ("crimson", "10")
    assert retried.headers["location"].endswith(f"/-/jobs/{again['id']}")
    beside = await text(site, again["id"], rest="/attempts")
    assert "Open at the failure" in beside


INPUTS = """
go:
  script: echo ${{ job.inputs.level }}
  when: manual
  inputs:
    level: {type: number, default: 3, options: [1, 3, 5], description: How much}
    name: {default: a, regex: "^[a-z]+$"}
"""


async def test_inputs_reach_the_runner_and_what_is_wrong_with_them_is_said(site: Site) -> None:
    site.connect_temporal()
    job_id = await manual(site, INPUTS)
    form = await text(site, job_id, rest="/play")
    assert "How much" in form
    assert '<option value="3" selected>' in form
    wrong = await press(site, job_id, "play", {"inputs[name]": "A1", "keys[]": ["K"], "values[]": ["kept"]})
    assert wrong.status_code == 400
    assert "`name` input: provided value does not match" in wrong.text
    assert 'value="kept"' in wrong.text
    badly = await press(site, job_id, "play", {"keys[]": ["no name"], "values[]": ["x"]})
    assert badly.status_code == 400
    assert (await press(site, job_id, "play", {"inputs[level]": "5", "inputs[name]": "a"})).status_code == 303
    job = await site.world.job()
    assert {item["key"]: item["value"]["content"] for item in job["inputs"]} == {"level": 5, "name": "a"}
    await site.world.put(job, "failed")
    await site.world.settle((await site.world.row(job_id)).pipeline_id)
    async with site.client(site.root) as client:
        address = f"/api/v4/projects/{site.world.project_id}/jobs/{job_id}/retry"
        refused = await client.post(address, json={"job_inputs": {"level": 2}})
        retried = await client.post(address, json={"job_inputs": {"name": "b"}})
    assert (refused.status_code, retried.status_code) == (400, 201)
    await site.world.settle((await site.world.row(job_id)).pipeline_id)
    again = await site.world.job()
    assert {item["key"]: item["value"]["content"] for item in again["inputs"]} == {"level": 5, "name": "b"}


async def test_a_question_is_asked_before_a_job_is_played(site: Site) -> None:
    site.connect_temporal()
    question = "Ship 'it' to <everybody>?"
    job_id = await manual(site, f'go: {{script: x, when: manual, manual_confirmation: "{question}"}}\n')
    asked = await press(site, job_id, "play")
    assert asked.status_code == 200
    assert "Ship &#39;it&#39; to &lt;everybody&gt;?" in asked.text
    assert (await site.world.row(job_id)).status == "manual", "nobody has said yes"
    assert (await press(site, job_id, "play", {"confirmed": "yes"})).status_code == 303
    assert (await site.world.row(job_id)).status == "pending"


async def test_a_retry_begins_at_a_step(site: Site) -> None:
    site.connect_temporal()
    await site.world.pipeline(RUN)
    job = await site.world.job()
    await hand_in(site.services.database, site.services.store, job["id"], written(*STEPS))
    await site.world.put(job, "failed")
    pipeline = (await site.world.row(job["id"])).pipeline_id
    await site.world.settle(pipeline)
    assert "From a step" in await text(site, job["id"])
    form = await text(site, job["id"], rest="/retry")
    assert "step 3, <bdi>whisper</bdi>" in form
    assert (await press(site, job["id"], "retry", {"from_step": "9"})).status_code == 400
    assert (await press(site, job["id"], "retry", {"from_step": "3"})).status_code == 303
    await site.world.settle(pipeline)
    assert (await site.world.job())["steps_resume"] == {"from": "whisper", "done": DONE}


async def test_a_delayed_job_is_started_now_or_waits_for_somebody(site: Site) -> None:
    site.connect_temporal()
    config = "go: {script: x, when: delayed, start_in: 1 day}\n"
    first, second = await manual(site, config), await manual(site, config)
    assert "Start now" in await text(site, first)
    assert (await press(site, first, "unschedule")).status_code == 303
    assert (await press(site, second, "play")).status_code == 303
    assert [(await site.world.row(key)).status for key in (first, second)] == ["manual", "pending"]


async def test_artifacts_are_kept_deleted_and_erased_by_whoever_may(site: Site) -> None:
    config = "build: {script: x, artifacts: {paths: [out], expire_in: 1 day}}\n"
    job_id = await ended(site, config, "success", {"out/a": "1"})
    developer = await site.person("developer", 30)
    assert "kept until 20" in await text(site, job_id, developer)
    assert (await press(site, job_id, "artifacts/keep", person=developer)).status_code == 403
    async with site.client(site.root) as client:
        await client.delete(f"/api/v4/projects/{site.world.project_id}/protected_branches/main")
    page = await text(site, job_id, developer)
    assert "Delete the artifacts" not in page
    assert "Erase log" not in page
    assert (await press(site, job_id, "artifacts/delete", person=developer)).status_code == 403
    assert (await press(site, job_id, "erase", person=developer)).status_code == 403
    async with browser(site, developer) as client:
        for rest in ("erase", "artifacts/delete"):
            assert (await client.get(f"/{await site.path()}/-/jobs/{job_id}/{rest}")).status_code == 403
    assert (await press(site, job_id, "artifacts/keep", person=developer)).status_code == 303
    assert "kept until somebody deletes them" in await text(site, job_id)
    assert "out" in (await text(site, job_id, rest="/artifacts/browse"))
    assert "gone for ever" in await text(site, job_id, rest="/artifacts/delete")
    assert (await press(site, job_id, "artifacts/delete")).status_code == 303
    assert "They have expired or were deleted." in await text(site, job_id)
    assert "will be gone for ever" in await text(site, job_id, rest="/erase")
    assert (await press(site, job_id, "erase")).status_code == 303
    assert "were erased" in await text(site, job_id)
    assert (await press(site, job_id, "erase")).status_code == 403


async def test_attempts_stand_side_by_side_with_what_differs(site: Site) -> None:
    site.connect_temporal()
    job_id = await ended(site, "build: {script: x, artifacts: {paths: [out]}}\n")
    assert "There is one attempt" in await text(site, job_id, rest="/attempts")
    retried = await press(site, job_id, "retry", {"keys[]": ["MORE"], "values[]": ["1"]})
    await site.world.settle((await site.world.row(job_id)).pipeline_id)
    again = await site.world.job()
    await site.world.upload(again, archive({"out/a": "1"}))
    await site.world.put(again, "success")
    await site.world.settle((await site.world.row(job_id)).pipeline_id)
    assert retried.status_code == 303
    for asked in (job_id, again["id"]):
        page = await text(site, asked, rest="/attempts")
        assert f'/-/jobs/{job_id}">Attempt 1' in page
        assert f'/-/jobs/{again["id"]}">Attempt 2' in page
        assert f"/-/jobs/{again['id']}/artifacts/browse" in page
        assert re.search(r"<code>MORE</code></td><td[^>]*>not there</td><td[^>]*>this job, when it was started", page)
        assert 'class="differs"' in page
    async with browser(site, site.root) as client:
        missing = await client.get(f"/{await site.path()}/-/jobs/{job_id}/attempts?one=7")
    assert missing.status_code == 404


@pytest.mark.parametrize("name", [EVIL, "n" * 255, "\u202eevil"])
async def test_names_are_text_and_short_enough_to_read(site: Site, name: str) -> None:
    site.connect_temporal()
    config = f'? "{name}"\n: {{script: x, when: manual, artifacts: {{paths: [out]}}}}\n'
    job_id = await manual(site, config)
    for rest in ("", "/play", "/attempts"):
        page = await text(site, job_id, rest=rest)
        assert "<script>alert" not in page
        assert len(page) < 60_000
    assert (await press(site, job_id, "play")).status_code == 303
    job = await site.world.job()
    await site.world.upload(job, archive({"a": "1"}))
    await site.world.put(job, "failed")
    await site.world.settle((await site.world.row(job_id)).pipeline_id)
    for rest in ("/retry", "/erase", "/artifacts/delete", "/artifacts/browse", "/artifacts/file/a"):
        page = await text(site, job_id, rest=rest)
        assert "<script>alert" not in page
        assert len(page) < 60_000
