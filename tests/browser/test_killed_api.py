"""The API is killed while a log streams in one tab and a graph is open in another: both go on by themselves.

Marked slow: a real job runs for as long as the stack needs to start its API anew.
"""

import asyncio
import re
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.live_stack import LiveStack
from tests.browser.visits import open_tab, session_of
from tests.waiting import eventually

pytestmark = pytest.mark.slow

CONFIG = """\
heart:
  script:
    - n=0; until [ -e GO ]; do n=$((n + 1)); echo "beat $n of the heart"; sleep 0.1; done
    - for m in 1 2 3; do echo "rest $m of the heart"; done
after: {stage: deploy, script: ["echo done"]}
"""
TALL = {"width": 1280, "height": 6_000}
"""So high that no line of the log is out of sight."""
_BEAT = re.compile(r"\b(?:beat|rest) \d+ of the heart")


async def beats(page: Page) -> list[str]:
    """The lines of the job that the page shows, in their order."""
    return _BEAT.findall(await page.locator("main").inner_text())


async def test_tabs_outlive_the_api(stack: LiveStack, chromium: Browser) -> None:
    go = stack.folder.parent / "go"
    project, pipeline, job = await _started(stack, CONFIG.replace("GO", str(go)))
    context = await chromium.new_context(viewport=TALL)  # type: ignore[arg-type]
    try:
        await context.add_cookies(await session_of(chromium, stack, stack.root))
        log, graph = await open_tab(context, stack), await open_tab(context, stack)
        await log.visit(f"/acme-killed/heart/-/jobs/{job['id']}")
        await graph.visit(f"/acme-killed/heart/-/pipelines/{pipeline}")
        for tab in (log, graph):
            await tab.page.evaluate("window.neverReloaded = true")
        await expect(graph.page).to_have_title(re.compile("Running"))
        await _grows(log.page)
        before = stack.stack.pid("api")
        stack.stack.kill("api")
        seen = len(await beats(log.page))
        await eventually(lambda: _is_another(stack, before), "the API is started again", 60)
        await _grows(log.page, seen)
        go.touch()
        await expect(log.page).to_have_title(re.compile("Passed"), timeout=60_000)
        await expect(graph.page).to_have_title(re.compile("Passed"), timeout=60_000)
        for tab in (log, graph):
            assert await tab.page.evaluate("window.neverReloaded") is True
            assert tab.faults.policy == []
        said = _BEAT.findall(await _log_of(stack, project, job["id"]))
        await eventually(lambda: _shows(log.page, said), "the whole log is in the tab")
        assert await beats(log.page) == said
    finally:
        await context.close()


async def _started(stack: LiveStack, config: str) -> tuple[int, int, dict[str, Any]]:
    """Project, pipeline and job, once the job runs."""
    rest = stack.root.rest
    group = await rest.post("/groups", name="Killed", path="acme-killed")
    project = await stack.project(stack.root, group["id"], "Heart")
    await rest.put(f"/projects/{project['id']}", may_run_as_server=True)
    sha = await stack.push(stack.root, "acme-killed/heart", {".gitlab-ci.yml": config}, "Beat")
    pipeline = await stack.pipeline(stack.root, project["id"], sha)
    await stack.rests(stack.root, project["id"], pipeline["id"], "running")
    return project["id"], pipeline["id"], await stack.job(stack.root, project["id"], pipeline["id"], "heart")


async def _grows(page: Page, beyond: int = 0) -> None:
    async def look() -> bool:
        return len(await beats(page)) > beyond + 10

    await eventually(look, f"more than {beyond} lines are in the tab", 60)


async def _shows(page: Page, said: list[str]) -> bool:
    return len(await beats(page)) >= len(said)


async def _is_another(stack: LiveStack, before: int) -> bool:
    await asyncio.sleep(0)
    return stack.stack.runs("api") and stack.stack.pid("api") != before


async def _log_of(stack: LiveStack, project: int, job: int) -> str:
    response = await stack.root.rest.client.get(f"/projects/{project}/jobs/{job}/trace")
    return response.text
