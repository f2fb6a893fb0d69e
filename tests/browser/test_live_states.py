"""Every state that a page shows changes by itself as soon as it changes: whoever changes it tells the page.

The server's pages look again by themselves only after an hour here, so what comes sooner was told.

Marked slow: a server with its Temporal is started.
"""

import json
import os
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from playwright.async_api import Browser, Locator, expect

from tests.browser.chromium import signed_in_at
from tests.browser.live_stack import Rest
from tests.faults.stock_runner import Acknowledged, StockRunner
from tests.git.serving import git, new_work_tree
from tests.server import SHORT_TIMES, Server, running_server
from tests.temporal import temporal_server
from tests.waiting import HANGS, eventually

pytestmark = pytest.mark.slow

PATIENCE: Final = 20_000
"""Milliseconds: many more than it takes, and far less than an hour."""
CONFIG: Final = """\
stages: [build, deploy]
build: {stage: build, script: [x], tags: [here]}
ship: {stage: deploy, script: [x], tags: [here], environment: {name: prod, url: "https://example.org"}}
later: {stage: deploy, script: [x], tags: [here], when: manual}
"""


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    """The server."""
    async with (
        temporal_server(tmp_path) as temporal,
        running_server(tmp_path, temporal, module="tests.browser.patient_server", **SHORT_TIMES) as running,
    ):
        yield running


class Tabs:
    """Pages that are open beside one another; how long each change took to be seen.

    A browser opens six connections to one server; it gives a page in the background none, but here all are in front,
    so each has a browser of its own.
    """

    def __init__(self, browser: Browser, url: str, things: AsyncExitStack) -> None:
        self._browser = browser
        self._things = things
        self.url = url
        self.cookies: list[Any] = []
        self.open: dict[str, Locator] = {}
        self.took: dict[str, float] = {}

    async def show(self, name: str, path: str) -> Locator:
        """Open a page under a name."""
        context = await self._browser.new_context()
        self._things.push_async_callback(context.close)
        await context.add_cookies(self.cookies)
        page = await context.new_page()
        await page.goto(f"{self.url}{path}")
        self.open[name] = page.locator("body")
        return self.open[name]

    async def see(self, change: str, doing: Awaitable[Any], **texts: str) -> Any:
        """Change something; every page that is named shows its text, or what a selector `[...]` finds, soon."""
        begun = time.monotonic()
        done = await doing
        for name, text in texts.items():
            place, said = self.open[name], f"{name} after {change}"
            if text.startswith("["):
                await expect(place.locator(text).first, said).to_be_attached(timeout=PATIENCE)
            else:
                await expect(place, said).to_contain_text(text, timeout=PATIENCE)
            self.took[f"{change}: {name}"] = round(time.monotonic() - begun, 3)
        return done


async def test_pages_are_told_of_what_happens(server: Server, chromium: Browser, tmp_path: Path) -> None:
    async with AsyncExitStack() as open_things:
        rest = Rest(await open_things.enter_async_context(server.client(f"{server.url}/api/v4")))
        client = await open_things.enter_async_context(
            httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=HANGS)
        )
        runner = StockRunner(client, Acknowledged())
        await runner.register(server.credentials["registration_token"], "here")
        context = await chromium.new_context()
        open_things.push_async_callback(context.close)
        await signed_in_at(context, server.url, "root", server.credentials["password"])
        tabs = Tabs(chromium, server.url, open_things)
        tabs.cookies = list(await context.cookies())
        await _pipeline_runs(tabs, rest, runner, tmp_path)
        if place := os.environ.get("PERDURE_FIGURES"):
            Path(f"{place}.live").write_text(json.dumps(tabs.took, indent=1))  # noqa: ASYNC240  # a small file


async def _pipeline_runs(tabs: Tabs, rest: Rest, runner: StockRunner, folder: Path) -> None:
    group = await rest.post("/groups", name="Live", path="live")
    project = await rest.post("/projects", name="Live", path="live", namespace_id=group["id"])
    await tabs.show("home", "/")
    await tabs.show("group", "/groups/live")
    await tabs.show("pipelines", "/live/live/-/pipelines")
    sha = await tabs.see(
        "a push",
        _push(tabs.url, rest, folder),
        home="Pending",
        group="Pending",
        pipelines="Pending",
    )
    route = f"/projects/{project['id']}/pipelines"
    (made,) = await eventually(lambda: rest.get(route, sha=sha), "the pipeline is there")
    jobs = {job["name"]: job["id"] for job in await rest.get(f"{route}/{made['id']}/jobs")}
    await tabs.show("pipeline", f"/live/live/-/pipelines/{made['id']}")
    await tabs.show("job", f"/live/live/-/jobs/{jobs['build']}")
    await tabs.show("ship", f"/live/live/-/jobs/{jobs['ship']}")
    everywhere = dict.fromkeys(("home", "group", "pipelines", "pipeline", "job"), "Running")
    job = await tabs.see("a job begins", _taken(runner), **everywhere)
    await tabs.see("a log grows", runner.send(job, b"the first line\n"), job="the first line")
    more = b"the first line\nthe second line\n"
    await tabs.see("a log grows again", runner.send(job, more, 15), job="the second line")
    await tabs.see("a job ends", runner.end(job, more), job="Passed", pipeline=_node("build: passed"), ship="Pending")
    ship = await tabs.see("the next begins", _taken(runner), ship="Running")
    await tabs.see("the last ends", runner.end(ship, b"x\n"), home="Passed", group="Passed", pipelines="Passed")

    await _requests(tabs, rest, project["id"])


def _node(label: str) -> str:
    """A node of the graph that says so."""
    return f'[aria-label^="{label}"]'


async def _requests(tabs: Tabs, rest: Rest, project: int) -> None:
    """Merge requests, schedules and environments are told of, too."""
    route = f"/projects/{project}"
    await tabs.show("requests", "/live/live/-/merge_requests")
    await tabs.show("schedules", "/live/live/-/pipeline_schedules")
    await tabs.show("environments", "/live/live/-/environments")
    file = {"branch": "idea", "start_branch": "main", "content": "1", "commit_message": "Have an idea"}
    await rest.post(f"{route}/repository/files/idea", **file)
    wish = {"source_branch": "idea", "target_branch": "main", "title": "An idea"}
    made = await tabs.see("a request is opened", rest.post(f"{route}/merge_requests", **wish), requests="An idea")
    request = f"{route}/merge_requests/{made['iid']}"
    await tabs.show("request", f"/live/live/-/merge_requests/{made['iid']}")
    await tabs.see("a title changes", rest.put(request, title="A plan"), requests="A plan", request="A plan")
    await tabs.see("somebody says something", rest.post(f"{request}/notes", body="Well said"), request="Well said")
    await tabs.see("it is closed", rest.put(request, state_event="close"), request="Closed")
    when = {"description": "Weekly", "ref": "main", "cron": "0 4 * * 1"}
    weekly = await tabs.see("a schedule is made", rest.post(f"{route}/pipeline_schedules", **when), schedules="Weekly")
    renamed = rest.put(f"{route}/pipeline_schedules/{weekly['id']}", description="Monthly")
    await tabs.see("a schedule changes", renamed, schedules="Monthly")
    place = await tabs.see("a place is made", rest.post(f"{route}/environments", name="lab"), environments="lab")
    stopped = rest.post(f"{route}/environments/{place['id']}/stop")
    await tabs.see("a place is stopped", stopped, environments="Stopped 1")


async def _taken(runner: StockRunner) -> Any:
    job = await eventually(runner.job, "a job is handed out")
    await runner.accept(job)
    return job


async def _push(url: str, rest: Rest, folder: Path) -> str:
    tree = folder / "tree"
    sha = await new_work_tree(tree, {".gitlab-ci.yml": CONFIG})
    token = rest.client.headers["PRIVATE-TOKEN"]
    await git("push", "-q", f"{url.rstrip('/')}/live/live.git".replace("://", f"://root:{token}@"), "main", cwd=tree)
    return sha
