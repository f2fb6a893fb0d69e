"""Thirty situations and more: why a job is as it is, in the same words on its page, by REST and on the command line."""

import html
import json
import re
from typing import Any

import pytest

from domain.pipelines.status import Status
from models.repositories.pipelines import pipelines
from models.repositories.pipelines.pipelines import PipelineRequest
from tests.api.pages.test_pages import browser
from tests.api.v4.site import Site
from tests.cli.remote.shell import Shell
from tests.cli.remote.situations import Play, Situation
from tests.cli.remote.why_situations import SITUATIONS

pytestmark = pytest.mark.slow  # 44 whole pipelines, each asked three times; `tests/domain/why` is quick

_TEXT = re.compile(r"<span data-text>(.*?)</span>(?: <span[^>]*data-next-step>(.*?)</span>)?", re.DOTALL)
_ABSENT = re.compile(r"<li><strong><bdi>(.*?)</bdi></strong> (<span data-text>.*?)</li>", re.DOTALL)


async def by_rest(site: Site, path: str) -> Any:
    async with site.client(site.root) as client:
        response = await client.get(f"/api/v4/projects/{site.world.project_id}/{path}/why")
    assert response.status_code == 200, response.text
    return response.json()


async def on_page(site: Site, path: str) -> str:
    async with browser(site, site.root) as client:
        response = await client.get(f"/{await site.path()}/-/{path}")
    assert response.status_code == 200, response.text
    return response.text


def read(page: str) -> tuple[str, str]:
    """What a page says, and what to do."""
    found = _TEXT.search(page)
    assert found is not None, page
    return html.unescape(found[1]), html.unescape(found[2] or "")


def lines(text: str, next_step: str) -> list[str]:
    """What the command line writes of both."""
    return [f"    {text}", *([f"    Next: {next_step}"] if next_step else [])]


def same(explanation: dict[str, Any]) -> Any:
    """What does not change while time passes."""
    estimate = explanation["facts"].get("estimate")
    return explanation | {"facts": explanation["facts"] | {"estimate": estimate and estimate["jobs"]}}


async def brought_about(site: Site, one: Situation) -> Play:
    site.connect_temporal()
    play = Play(site)
    await play.change_runner()
    if one.before is not None:
        await one.before(play)
    await play.begin(one.config, **one.given)
    if one.steps is not None:
        await one.steps(play)
    return play


@pytest.mark.parametrize("one", SITUATIONS, ids=lambda one: one.name)
async def test_page_rest_and_command_line_say_the_same(one: Situation, site: Site, shell: Shell) -> None:
    play = await brought_about(site, one)
    pipeline = play.ids["pipeline"]
    whole = await by_rest(site, f"pipelines/{pipeline}")
    told = await shell("pipeline", "why", str(pipeline))
    if one.absent:
        (explained,) = [found["explanation"] for found in whole["absent"] if found["name"] == one.job]
        page = dict(_ABSENT.findall(await on_page(site, f"pipelines/{pipeline}")))[one.job]
        done = await shell("job", "why", one.job, "--pipeline", str(pipeline))
    else:
        job_id = play.ids[one.job]
        explained = (await by_rest(site, f"jobs/{job_id}"))["explanation"]
        page = await on_page(site, f"jobs/{job_id}")
        done = await shell("job", "why", str(job_id))
        raw = json.loads((await shell("job", "why", str(job_id), "--json")).out)
        (again,) = [found["explanation"] for found in whole["jobs"] if found["id"] == job_id]
        assert same(raw["explanation"]) == same(again) == same(explained), "alone, and as one of its pipeline"
    values = {name.replace("@", "_"): number for name, number in play.ids.items()}
    says, next_step = one.says.format(**values), one.next_step.format(**values)
    assert (explained["text"], explained["next_step"] or "", explained["reason"]) == (says, next_step, one.reason)
    assert read(page) == (says, next_step)
    for said in (done, told):
        assert said.code == 0, said.err
        assert all(line in said.out.splitlines() for line in lines(says, next_step)), said.out


JOBLESS = {
    "faulty": (
        Status.FAILED,
        "config_error",
        "jobs:one is wrong\n  one: 5",
        "It could not be made: its configuration is not valid.",
        "Correct these faults, commit and push again.",
    ),
    "skipped": (
        Status.SKIPPED,
        "",
        "",
        "It was skipped: the push or the message of its commit asked for that.",
        "Run a new pipeline to have its jobs after all.",
    ),
}


@pytest.mark.parametrize("kind", JOBLESS)
async def test_a_pipeline_without_jobs_says_why_it_has_none(kind: str, site: Site, shell: Shell) -> None:
    status, reason, errors, says, next_step = JOBLESS[kind]
    world, services = site.world, site.services
    request = PipelineRequest(world.project_id, site.root.id, "main", "c0ffee00", "push")
    async with services.database.write() as connection:
        pipeline_id = await pipelines.create_ended(
            connection, request, status, services.clock(), seal=str, reason=reason, errors=errors
        )
    explained = (await by_rest(site, f"pipelines/{pipeline_id}"))["explanation"]
    assert (explained["text"], explained["next_step"]) == (says, next_step)
    assert read(await on_page(site, f"pipelines/{pipeline_id}")) == (says, next_step)
    told = await shell("pipeline", "why", str(pipeline_id))
    faults = [f"    {line}" for line in errors.splitlines()]
    assert (told.code, told.out.splitlines()) == (0, [*lines(says, next_step), *faults])


def test_there_are_thirty_of_them() -> None:
    assert len({one.name for one in SITUATIONS}) == len(SITUATIONS) >= 30
