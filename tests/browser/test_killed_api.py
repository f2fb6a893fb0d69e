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
_BEAT = re.compile(r"\b(?:beat|rest) \d+ of the heart")
_IN_SIGHT = """
() => [...document.querySelectorAll('.log-rows .line')].map(
  (row) => [Number(row.id.slice(1)), row.classList.contains('coming') ? null : row.innerText])
"""


async def in_sight(page: Page) -> dict[int, str | None]:
    """The lines in the window, which is lower than the log is long, by their numbers; None: it is on its way."""
    return dict(await page.evaluate(_IN_SIGHT))


async def last_beat(page: Page) -> int:
    """The number of the last beat in sight."""
    found = _BEAT.findall("\n".join(text or "" for text in (await in_sight(page)).values()))
    return max((int(beat.split()[1]) for beat in found if beat.startswith("beat")), default=0)


async def read_through(page: Page, count: int) -> list[str]:
    """The texts of all `count` lines, from the first to the last, as somebody reads them who turns pages by a key."""
    await page.locator(".log-scroller").focus()
    await page.keyboard.press("Home")
    await eventually(lambda: _is_in_sight(page, 1), "the first line is in sight")
    read: dict[int, str] = {}

    async def turned() -> bool:
        lines = await in_sight(page)
        if None not in lines.values() and any(number not in read for number in lines):
            read.update({number: text or "" for number, text in lines.items()})
            await page.keyboard.press("PageDown")
        return count in read

    await eventually(turned, f"the last of {count} lines is read", 60)
    return [text for _, text in sorted(read.items())]


async def _is_in_sight(page: Page, number: int) -> bool:
    return number in await in_sight(page)


async def test_tabs_outlive_the_api(stack: LiveStack, chromium: Browser) -> None:
    go = stack.folder.parent / "go"
    project, pipeline, job = await _started(stack, CONFIG.replace("GO", str(go)))
    context = await chromium.new_context(reduced_motion="reduce")
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
        seen = await last_beat(log.page)
        await eventually(lambda: _is_another(stack, before), "the API is started again", 60)
        await _grows(log.page, seen)
        go.touch()
        await expect(log.page).to_have_title(re.compile("Passed"))
        await expect(graph.page).to_have_title(re.compile("Passed"))
        for tab in (log, graph):
            assert await tab.page.evaluate("window.neverReloaded") is True
            assert tab.faults.policy == []
        said = await _log_of(stack, project, job["id"])
        lines = await read_through(log.page, said.count("\n"))
        assert _BEAT.findall("\n".join(lines)) == _BEAT.findall(said)
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
        return await last_beat(page) > beyond + 10

    await eventually(look, f"a beat after {beyond + 10} is in the tab", 60)


async def _is_another(stack: LiveStack, before: int) -> bool:
    await asyncio.sleep(0)
    return stack.stack.runs("api") and stack.stack.pid("api") != before


async def _log_of(stack: LiveStack, project: int, job: int) -> str:
    response = await stack.root.rest.client.get(f"/projects/{project}/jobs/{job}/trace")
    return response.text
