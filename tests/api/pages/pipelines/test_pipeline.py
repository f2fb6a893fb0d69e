"""The page of a pipeline: its head, its graph, its jobs, and that many jobs cost neither statements nor bytes."""

import gzip
import re
from typing import Any

import pytest
from markupsafe import escape

from api.pages.frame.live_parts import Fragment
from api.pages.pipelines.pipeline import draw
from api.pages.pipelines.tab import Remembered
from application.access import access_to
from auth.permissions import DEVELOPER, REPORTER, Caller
from domain.pipelines.status import Status
from models.repositories.pipelines import loading, overview
from tests.api.pages.pipelines.shapes import layered, statements
from tests.api.pages.test_pages import EVIL, browser
from tests.api.v4.site import Person, Site

GRAPH = """
stages: [build, test, deploy]
compile: {stage: build, script: x}
lint: {stage: build, script: x, needs: []}
unit: {stage: test, script: x, parallel: 3, needs: [compile]}
report: {stage: test, script: x, needs: [unit, lint]}
ship: {stage: deploy, script: x, when: manual, manual_confirmation: "Really?"}
tagged: {stage: deploy, script: x, rules: [{if: $CI_COMMIT_TAG}]}
"""
VIEWS = (
    "",
    "?view=needs",
    "/builds",
    "/timeline",
    "/failures",
    "/test_report",
    "/security",
    "/codequality_report",
    "/config",
    "/history",
)


async def text_of(site: Site, path: str, person: Person | None = None) -> str:
    """A page of the project."""
    async with browser(site, person or site.root) as client:
        response = await client.get(f"/{await site.path()}/-/pipelines{path}")
    assert response.status_code == 200, (path, response.text[:2_000])
    return response.text


async def run_next(site: Site, pipeline: int, state: str = "success") -> int:
    """Let a runner take the next job and end it; its id."""
    job = await site.world.job()
    more: dict[str, Any] = {"failure_reason": "script_failure", "exit_code": 2} if state == "failed" else {}
    await site.world.put(job, state, **more)
    await site.world.settle(pipeline)
    return int(job["id"])


def nodes_in(page: str) -> dict[str, str]:
    """What each node says, by its first line."""
    found = re.findall(r'<g id="n-\d+" class="node [^"]*".*?<title>(.*?)</title>', page, re.DOTALL)
    return {text.split(":")[0]: text for text in found}


async def test_every_view_is_there_for_readers_and_for_nobody_else(site: Site) -> None:
    pipeline = await site.world.pipeline(GRAPH)
    reporter, passer = await site.person("rita", REPORTER), await site.person("passer")
    for view in VIEWS:
        page = await text_of(site, f"/{pipeline}{view}", reporter)
        assert 'aria-current="page"' in page
        assert "Cancel 7 jobs" not in page
        assert "New pipeline" not in page
        async with browser(site, passer) as client:
            root = f"/{await site.path()}/-/pipelines/{pipeline}"
            assert (await client.get(f"{root}{view}")).status_code == 404
            tab = view.partition("?")[0]
            assert (await client.get(f"{root}{tab}/events")).status_code == 404


async def test_instances_are_one_node_that_opens(site: Site) -> None:
    pipeline = await site.world.pipeline(GRAPH)
    for state in ("success", "success", "success", "failed"):
        await run_next(site, pipeline, state)
    page = await text_of(site, f"/{pipeline}")
    nodes = nodes_in(page)
    assert set(nodes) == {"compile", "lint", "unit", "report", "ship"}
    assert nodes["unit"] == "unit: 1/3 passed, 1 failed, 1 pending"
    assert ">1/3</text>" in page
    (number,) = re.findall(r'href="[^"]*\?open=(\d+)#opened"', page)
    opened = await text_of(site, f"/{pipeline}?open={number}")
    part = opened[opened.index('id="opened"') :]
    assert all(f"unit {at}/3" in part for at in (1, 2, 3))
    assert "Its script failed with exit code 2." in part
    assert 'id="opened"' not in await text_of(site, f"/{pipeline}?open=999")


async def test_both_orders_have_the_same_nodes_and_needs(site: Site) -> None:
    pipeline = await site.world.pipeline(GRAPH)
    by_stage, by_needs = [await text_of(site, f"/{pipeline}?view={view}") for view in ("stage", "needs")]
    assert by_stage.index('aria-label="Stage build"') < by_stage.index('aria-label="Stage deploy"')
    assert 'aria-label="Stage build"' not in by_needs
    for attribute in (r'id="n-\d+"', r'data-needs="[^"]*"', r'data-stage="\d+"(?: data-after)?'):
        assert re.findall(attribute, by_stage) == re.findall(attribute, by_needs)
    assert re.findall(r'data-needs="([^"]*)"', by_stage) == ["", "", "0", "1 2", ""]
    assert len(re.findall("data-after", by_stage)) == 2, "compile and ship wait for their stages"


async def test_nodes_say_why_and_what_to_do(site: Site) -> None:
    pipeline = await site.world.pipeline(GRAPH)
    await run_next(site, pipeline, "failed")
    nodes = nodes_in(await text_of(site, f"/{pipeline}"))
    assert "Its script failed with exit code 2." in nodes["compile"]
    assert "took 0." in nodes["compile"]
    assert "It waits for a runner that fits" in nodes["lint"]
    await run_next(site, pipeline)
    nodes = nodes_in(await text_of(site, f"/{pipeline}"))
    assert "compile" in nodes["unit"] or "skipped" in nodes["unit"]


async def test_buttons_say_what_they_will_do(site: Site) -> None:
    pipeline = await site.world.pipeline(GRAPH)
    before = await text_of(site, f"/{pipeline}")
    assert "Cancel 7 jobs</button>" in before
    assert re.search(r'data-question="Cancel 7 jobs: .*compile.*lint', before)
    assert "Retry" not in before
    await run_next(site, pipeline, "failed")
    after = await text_of(site, f"/{pipeline}")
    assert "Retry 1 failed job</button>" in after
    assert re.search(r'data-question="Retry 1 failed job: .compile.\?', after)
    developer = await site.person("dora", DEVELOPER)
    assert "Cancel" in await text_of(site, f"/{pipeline}", developer)


async def test_jobs_that_wait_for_somebody_can_be_played_below_the_graph(site: Site) -> None:
    pipeline = await site.world.pipeline("go: {script: x, when: manual, manual_confirmation: 'Really?'}\n")
    page = await text_of(site, f"/{pipeline}")
    assert 'aria-label="Jobs that need somebody"' in page
    assert 'data-question="Really?"' in page
    assert 'aria-label="Play go"' in page


async def test_the_head_tells_the_source(site: Site) -> None:
    cases = {
        "push": "push by <bdi>root</bdi>",
        "web": "started by hand by",
        "api": "started through the API by",
        "trigger": "trigger token <code>abcd…</code>",
        "schedule": f"schedule <bdi>{escape(EVIL)}</bdi> of",
        "chat": "chat by",
    }
    for source, words in cases.items():
        wish: dict[str, Any] = {"origin": {"trigger_token": "abcd"}} if source == "trigger" else {}
        wish |= {"schedule_description": EVIL} if source == "schedule" else {}
        pipeline = await site.world.pipeline("one: {script: x}\n", **wish)
        async with site.services.database.write() as connection:
            statement = overview.pipeline.update().where(overview.pipeline.c.id == pipeline).values(source=source)
            await connection.execute(statement)
        assert words in await text_of(site, f"/{pipeline}"), source


async def test_the_title_and_the_icon_tell_the_state(site: Site) -> None:
    pipeline = await site.world.pipeline("one: {script: x}\n")
    await run_next(site, pipeline, "failed")
    for view in VIEWS:
        page = await text_of(site, f"/{pipeline}{view}")
        assert f'data-title="✗ Failed · pipeline {pipeline} · ' in page
        assert 'data-icon="failed"' in page


async def test_the_critical_path_is_marked(site: Site) -> None:
    pipeline = await site.world.pipeline("stages: [a, b]\none: {stage: a, script: x}\ntwo: {stage: b, script: x}\n")
    await run_next(site, pipeline)
    await run_next(site, pipeline)
    page = await text_of(site, f"/{pipeline}")
    assert len(re.findall(r'class="node success on-path"', page)) == 2
    assert re.search(r'<path id="critical" class="edge critical" d="M', page)
    assert "Critical path 0." in page


@pytest.mark.parametrize("view", VIEWS)
async def test_many_jobs_cost_few_statements(site: Site, view: str) -> None:
    async def asked(pipeline: int) -> int:
        await text_of(site, f"/{pipeline}{view}")  # what is cached is cached
        with statements() as seen:
            await text_of(site, f"/{pipeline}{view}")
        return len(seen)

    few = await asked(await site.world.pipeline(layered(20)))
    many = await asked(await site.world.pipeline(layered(400)))
    assert many <= few + 1, "a list of several pages is counted"


async def test_a_thousand_jobs_are_a_small_page(site: Site) -> None:
    pipeline = await site.world.pipeline(layered(1_000))
    for view in ("", "?view=needs", "/builds", "/timeline", "/config"):
        page = await text_of(site, f"/{pipeline}{view}")
        assert len(gzip.compress(page.encode(), 5)) < 150 * 1024, view
    page = await text_of(site, f"/{pipeline}")
    assert len(nodes_in(page)) == 1_000


async def test_too_many_nodes_are_told_by_stage(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.pages.pipelines.graph.MAX_NODES", 10)
    pipeline = await site.world.pipeline(layered(20))
    page = await text_of(site, f"/{pipeline}")
    assert "20 nodes are too many for a picture" in page
    assert 'id="graph"' not in page
    assert "/builds?stage=s9" in page


async def test_a_followed_page_is_drawn_again_only_when_something_moved(site: Site) -> None:
    pipeline = await site.world.pipeline(layered(100))
    await site.world.job()
    project = await access_to(site.services, Caller(site.root.id, "root", True), site.world.project_id)
    drawn = []

    async def again() -> Fragment:
        drawn.append(await draw(site.services, project, pipeline, "stage", -1))
        return drawn[-1]

    look = Remembered(site.services, project, pipeline, again)
    first = await look()
    assert await look() is first
    await site.world.job()
    second = await look()
    assert len(drawn) == 2
    changed = {name for name, version in second.versions.items() if first.versions.get(name) != version}
    assert "" not in changed, "what is around the pieces stays"
    nodes = [name for name in changed if name.startswith("n-")]
    assert 1 <= len(nodes) <= 6, "the job, and what says that it waits for it"
    await site.world.job()
    await look()
    assert len(drawn) == 3


async def test_downstream_pipelines_stand_beside_their_bridges(site: Site) -> None:
    config = "go: {trigger: {project: tests/other}}\n"
    pipeline = await site.world.pipeline(config)
    child = await site.world.pipeline("inner: {stage: test, script: x}\n")
    async with site.services.database.write() as connection:
        job = overview.job
        await connection.execute(job.update().where(job.c.pipeline_id == pipeline).values(downstream_id=child))
    for view in ("stage", "needs"):
        page = await text_of(site, f"/{pipeline}?view={view}")
        path = await site.path()
        assert f'href="/{path}/-/pipelines/{child}" aria-label="{path} pipeline {child}:' in page
    assert f'<details id="below-{child}">' in page
    assert re.search(r'id="below-\d+".*?<bdi>test</bdi>', page, re.DOTALL), "its stages, one level down"


async def test_states_of_one_stage_fold_into_its_heading(site: Site) -> None:
    pipeline = await site.world.pipeline(GRAPH)
    await run_next(site, pipeline, "failed")
    page = await text_of(site, f"/{pipeline}")
    async with site.services.database.read() as connection:
        tallies = await overview.tallies(connection, pipeline)
    assert sum(tally.number for tally in tallies) == 7
    assert {tally.status for tally in tallies} >= {Status.FAILED, Status.PENDING}
    assert len(re.findall(r'<g id="s-\d" class="panel"', page)) == 3


async def test_what_is_shown_is_what_workflows_load(site: Site) -> None:
    for config, states in ((GRAPH, ("success", "failed", "success")), (layered(700), ("failed",))):
        pipeline = await site.world.pipeline(config)
        for state in states:
            await run_next(site, pipeline, state)
        job = await site.world.job()
        await site.world.put(job, "failed", failure_reason="script_failure")
        async with site.services.database.read() as connection:
            assert await loading.shown(connection, pipeline) == (await loading.load(connection, pipeline)).pipeline
