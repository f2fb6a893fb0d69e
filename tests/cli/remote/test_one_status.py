"""One status in words everywhere: each state of pipelines and jobs at every place that shows it, beside the table."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import update

from activities.hooks.pipeline_body import pipeline_body
from cli.output import Cell, state_cell
from cli.states import of_job, of_pipeline
from domain.notifications.occasions import Occasion
from domain.notifications.words import _PIPELINE
from domain.pipelines.shown_status import ALLOWED, SHOWN, WARNING, Shown, shown_as
from domain.pipelines.status import Status
from domain.projects.badges import said_of_status
from models.repositories.hooks import hook_facts
from models.rows.hooks import EventDeliveryRow
from tests.api.pages.test_pages import browser
from tests.api.v4.site import Site
from tests.cli.remote.shell import Shell
from tests.models.world import job, pipeline, stage

pytestmark = pytest.mark.slow  # each state on a dozen pages

CONFIG = "one: {stage: test, script: x, allow_failure: true}\ntwo: {stage: test, script: x}\n"
_CHIP = re.compile(
    r'<(?:a|span) class="chip ([\w-]+)"(?: href="([^"]*)")?>\s*<svg[^>]*><use href="#g-([\w-]+)"/></svg>([^<]*)<'
)


def chips(page: str, address: str) -> set[tuple[str, str]]:
    """Group and word of what a page says of the thing at this address."""
    return {(group, text.strip()) for group, href, _, text in _CHIP.findall(page) if href == address}


async def stand(site: Site, pipeline_id: int, status: str) -> None:
    """Bring a pipeline with all its stages into a state of the table."""
    of_whole = Status.SUCCESS if status == WARNING else status
    of_one = Status.FAILED if status == WARNING else of_whole
    async with site.services.database.write() as connection:
        await connection.execute(update(pipeline).where(pipeline.c.id == pipeline_id).values(status=of_whole))
        await connection.execute(update(stage).where(stage.c.pipeline_id == pipeline_id).values(status=of_whole))
        jobs = update(job).where(job.c.pipeline_id == pipeline_id)
        await connection.execute(jobs.values(status=of_whole))
        await connection.execute(jobs.where(job.c.name == "one").values(status=of_one))


async def begin(site: Site) -> tuple[str, int, str, int]:
    """A merge request with a pipeline: route of the project, pipeline, its commit, number of the merge request."""
    await site.commit({".gitlab-ci.yml": CONFIG})
    home = f"/api/v4/projects/{site.world.project_id}"
    change = {"action": "create", "file_path": "new", "content": "x"}
    async with site.client(site.root) as client:
        commit = {"branch": "topic", "start_branch": "main", "commit_message": "New", "actions": [change]}
        sha = (await client.post(f"{home}/repository/commits", json=commit)).json()["id"]
        wish = {"source_branch": "topic", "target_branch": "main", "title": "New"}
        opened = await client.post(f"{home}/merge_requests", json=wish)
        assert opened.status_code == 201, opened.text
        found = (await client.get(f"{home}/pipelines", params={"sha": sha})).json()
        if not found:
            found = [(await client.post(f"{home}/pipeline", json={"ref": "topic"})).json()]
    return home, found[0]["id"], sha, opened.json()["iid"]


async def on_pages(site: Site, pipeline_id: int, sha: str, iid: int) -> Iterator[tuple[str, set[tuple[str, str]]]]:
    """What each page that shows a pipeline says of it."""
    path = await site.path()
    address = f"/{path}/-/pipelines/{pipeline_id}"
    places = {
        "projects": "/",
        "pipelines": f"/{path}/-/pipelines",
        "commits": f"/{path}/-/commits/topic",
        "merge requests": f"/{path}/-/merge_requests",
        "merge request": f"/{path}/-/merge_requests/{iid}",
        "pipelines of the merge request": f"/{path}/-/merge_requests/{iid}/pipelines",
    }
    found = []
    async with browser(site, site.root) as client:
        for name, place in places.items():
            response = await client.get(place)
            assert response.status_code == 200, response.text
            found.append((name, chips(response.text, address)))
        for name, place in {"pipeline": address, "commit": f"/{path}/-/commit/{sha}"}.items():
            response = await client.get(place)
            assert response.status_code == 200, response.text
            found.append((name, chips(response.text, "")))
    return iter(found)


async def by_hook(site: Site, pipeline_id: int, status: str) -> str:
    """What the body of a webhook says of the pipeline."""
    async with site.services.database.read() as connection:
        statement = job.select().where(job.c.pipeline_id == pipeline_id)
        rows = (await connection.execute(statement)).all()
        builds: dict[str, list[int]] = {}
        for row in rows:
            builds.setdefault(row.status, []).append(row.id)
        facts = {"status": status, "builds": builds, "started_at": None, "finished_at": None}
        event = told(site, pipeline_id, facts)
        around = await hook_facts.around(connection, event)
    return str(pipeline_body(event, around, "http://x")["object_attributes"]["detailed_status"])


def told(site: Site, pipeline_id: int, facts: dict[str, Any]) -> EventDeliveryRow:
    """An event of a pipeline as it is delivered."""
    fields: dict[str, Any] = dict.fromkeys(EventDeliveryRow.__dataclass_fields__)
    fields |= {"project_id": site.world.project_id, "pipeline_id": pipeline_id, "user_id": site.root.id, "facts": facts}
    return EventDeliveryRow(**fields)


@pytest.mark.parametrize("status", SHOWN)
async def test_a_pipeline_is_the_same_everywhere(status: str, site: Site, shell: Shell) -> None:
    home, pipeline_id, sha, iid = await begin(site)
    await stand(site, pipeline_id, status)
    shown = SHOWN[status]
    pages = dict(await on_pages(site, pipeline_id, sha, iid))
    assert all((shown.group, shown.text) in said for said in pages.values()), pages
    assert all(len(said) == 1 for name, said in pages.items() if name not in {"pipeline", "commit"}), pages
    async with site.client(site.root) as client:
        (one,) = [one for one in (await client.get(f"{home}/pipelines")).json() if one["id"] == pipeline_id]
        whole = (await client.get(f"{home}/pipelines/{pipeline_id}")).json()
        (of_request,) = (await client.get(f"{home}/merge_requests/{iid}/pipelines")).json()
        request = (await client.get(f"{home}/merge_requests/{iid}")).json()["head_pipeline"]
    for document in (one, whole, of_request, request):
        assert (document["detailed_status"]["text"], document["detailed_status"]["label"]) == (shown.text, shown.label)
    listed = json.loads((await shell("pipeline", "list", "--json")).out)
    details = json.loads((await shell("pipeline", "show", str(pipeline_id), "--json")).out)
    cells = {state_cell(of_pipeline(found), found["status"]) for found in (listed[0], details)}
    machine = str(Status.SUCCESS if status == WARNING else status)
    assert cells == {Cell(shown.label, shown.style, shown.glyph, machine)}
    assert await by_hook(site, pipeline_id, machine) == shown.label
    assert said_of_status(machine).text == SHOWN[machine].text.lower(), "GitLab's badge knows no warnings"


@pytest.mark.parametrize("status", SHOWN)
async def test_a_stage_is_the_same_everywhere(status: str, site: Site, shell: Shell) -> None:
    _, pipeline_id, _, iid = await begin(site)
    await stand(site, pipeline_id, status)
    path, shown = await site.path(), SHOWN[status]
    async with browser(site, site.root) as client:
        for place in (f"/{path}/-/pipelines", f"/{path}/-/merge_requests/{iid}"):
            page = (await client.get(place)).text
            assert f'title="test: {shown.label}"' in page
            assert re.search(rf'title="test: {re.escape(shown.label)}"[^>]*>\s*<svg class="glyph {shown.group}"', page)
        graph = (await client.get(f"/{path}/-/pipelines/{pipeline_id}")).text
    assert re.search(rf'aria-label="Stage test">\s*<rect[^>]*/>\s*<use class="{shown.group}"', graph), graph


def jobs_in_states() -> Iterator[tuple[str, bool, Shown]]:
    yield from ((status, False, SHOWN[status]) for status in Status)
    yield Status.FAILED, True, ALLOWED


@pytest.mark.parametrize(("status", "allowed", "shown"), list(jobs_in_states()))
async def test_a_job_is_the_same_everywhere(status: str, allowed: bool, shown: Shown, site: Site, shell: Shell) -> None:
    made = await site.world.pipeline("one: {script: x}\n")
    async with site.services.database.write() as connection:
        of_pipeline = update(job).where(job.c.pipeline_id == made)
        await connection.execute(of_pipeline.values(status=status, allow_failure=allowed))
        job_id = (await connection.execute(job.select().where(job.c.pipeline_id == made))).one().id
    path = await site.path()
    async with browser(site, site.root) as client:
        builds = (await client.get(f"/{path}/-/pipelines/{made}/builds")).text
        page = (await client.get(f"/{path}/-/jobs/{job_id}")).text
    assert chips(builds, f"/{path}/-/jobs/{job_id}") == {(shown.group, shown.text)}
    assert (shown.group, shown.text) in {(group, text.strip()) for group, _, _, text in _CHIP.findall(page)}
    assert f'data-title="{shown.glyph} {shown.text} ' in page
    listed = json.loads((await shell("job", "list", "--pipeline", str(made), "--json")).out)
    details = json.loads((await shell("job", "show", str(job_id), "--json")).out)
    cells = {state_cell(of_job(found), found["status"]) for found in (listed[0], details)}
    assert cells == {Cell(shown.label, shown.style, shown.glyph, status)}
    by_word = await shell("job", "list", "--pipeline", str(made), "--status", shown_as(status).label, "--json")
    assert [found["id"] for found in json.loads(by_word.out)] == [job_id], "the word that is shown is one to ask for"


def test_messages_say_how_a_pipeline_ended_in_the_words_of_the_table() -> None:
    assert _PIPELINE[Occasion.PIPELINE_FAILED][1] == f"has {SHOWN[Status.FAILED].label}"
    assert _PIPELINE[Occasion.PIPELINE_SUCCEEDED][1] == f"has {SHOWN[Status.SUCCESS].label}"
