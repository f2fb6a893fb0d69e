"""Forms in a browser: a pipeline run after a look at its plan, a schedule made while its ticks show, and environments.

Marked slow: a browser takes some seconds to start on a busy machine; only in one do the scripts of forms run.
"""

import os
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect

from auth.session_token import COOKIE, issue_session
from domain.messages import Command
from loops.schedule_ticks import TickLoop
from tests.api.pages.environments.deploying import Deploying
from tests.api.v4.site import Site, open_site, serving
from tests.browser.chromium import PROGRAM, browsing

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not PROGRAM.exists() and os.environ.get("CI") != "true",
        reason=f"not run: there is no {PROGRAM}; install Debian's package chromium",
    ),
]

CONFIG = """
spec:
  inputs:
    cloud: {options: [aws, gcp], default: aws, description: Where it runs}
    size:
      rules:
        - {if: '$[[ inputs.cloud ]] == "aws"', options: [t3, m5], default: t3}
        - {if: '$[[ inputs.cloud ]] == "gcp"', options: [e2, n2], default: e2}
---
variables:
  TARGET: {value: staging, options: [staging, production], description: Where to}
build: {script: 'make $[[ inputs.cloud ]] $[[ inputs.size ]]'}
ship:
  script: x
  rules: [{if: '$TARGET == "production" && $APPROVED == "yes"'}]
"""


@pytest.fixture
async def site(tmp_path: Path, sqlite_url: str) -> AsyncIterator[Site]:
    """An installation behind a real web server."""
    async with open_site(tmp_path, sqlite_url) as opened, serving(opened):
        yield opened


@pytest.fixture
async def page(site: Site, tmp_path: Path) -> AsyncIterator[Page]:
    """A browser in which root is signed in; nothing may go wrong in its console."""
    async with browsing(tmp_path / "failed.png") as opened:
        said: list[str] = []
        opened.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
        opened.on("pageerror", lambda error: said.append(str(error)))
        session = issue_session(site.services.key, site.root.id, site.services.clock())
        await opened.context.add_cookies([{"name": COOKIE, "value": session, "url": site.services.settings.url}])
        yield opened
        assert said == []


async def visit(site: Site, page: Page, place: str) -> None:
    """Open a page of the project."""
    await page.goto(f"{site.services.settings.url}/{await site.path()}/-/{place}")


async def agree(page: Page, button: str, question: str) -> None:
    """Push a button that asks first."""
    await page.get_by_role("button", name=button).first.click()
    dialog = page.locator("#question")
    await expect(dialog).to_contain_text(question)
    async with page.expect_navigation():
        await dialog.locator("[data-yes]").click()


async def test_a_pipeline_is_run_with_variables_and_inputs_after_a_look_at_its_plan(
    site: Site, page: Page, tmp_path: Path
) -> None:
    await site.commit({".gitlab-ci.yml": CONFIG})
    await visit(site, page, "pipelines/new?var[APPROVED]=yes")
    await expect(page.get_by_label("Name of APPROVED")).to_have_value("APPROVED")
    size = page.get_by_label("size")
    await expect(size).to_have_value("t3")
    await page.get_by_label("cloud").select_option("gcp")
    await expect(size).to_have_value("e2")
    await size.select_option("n2")
    plan = page.get_by_role("region", name="Plan")
    show = page.get_by_role("button", name="Show the plan")
    await show.click()
    await expect(plan).to_contain_text("1 job would run")
    await expect(plan).to_contain_text('TARGET is "staging"')
    await page.get_by_label("TARGET").select_option("production")
    names = page.get_by_label("Name of a further variable")
    for number in range(5):
        await names.last.fill(f"MORE_{number}")
        await page.get_by_label("Value of a further variable").nth(number).fill(f"value {number}")
        await expect(names).to_have_count(number + 2)
    await page.get_by_label("Type of a further variable").nth(4).select_option("file")
    await page.get_by_role("button", name="Remove a further variable").nth(3).click()
    await show.click()
    await expect(plan).to_contain_text("2 jobs would run")
    await expect(plan).to_contain_text("ship")
    await expect(size).to_have_value("n2")
    assert page.url.endswith("/new?var[APPROVED]=yes"), "the plan comes in place"
    await page.screenshot(path=tmp_path / "plan.png", full_page=True)
    await page.get_by_role("button", name="Run pipeline").click()
    await page.wait_for_url(re.compile(r"/-/pipelines/\d+$"))
    await site.world.settle(int(page.url.rpartition("/")[2]))
    job = await site.world.job()
    told = {item["key"]: item for item in job["variables"]}
    expected = {"TARGET": "production", "APPROVED": "yes", "MORE_0": "value 0", "MORE_4": "value 4"}
    assert {key: told[key]["value"] for key in expected} == expected
    assert "MORE_3" not in told
    assert told["MORE_4"]["file"] is True
    assert job["steps"][0]["script"] == ["make gcp n2"]


async def test_a_schedule_shows_its_ticks_while_it_is_written_and_its_pipeline_as_soon_as_it_is_run(
    site: Site, page: Page, tmp_path: Path
) -> None:
    await site.commit({".gitlab-ci.yml": CONFIG})
    await visit(site, page, "pipeline_schedules")
    await page.get_by_role("link", name="New schedule").first.click()
    ticks = page.get_by_role("region", name="When it ticks")
    await expect(ticks).to_contain_text("Every day at 04:00")
    await page.get_by_role("button", name="on weekdays").click()
    await expect(ticks).to_contain_text("Monday to Friday at 04:00")
    await page.get_by_label("Interval pattern").fill("61 * * * *")
    await expect(ticks).to_contain_text("'61' is wrong in the minute")
    await page.get_by_label("Interval pattern").fill("30 2 * * *")
    await page.get_by_label("Time zone").fill("Europe/Berlin")
    await expect(ticks.locator("time")).to_have_count(5)
    await expect(ticks.locator("time").first).to_contain_text("02:30")
    await page.get_by_label("Description").fill("Nightly <build>")
    await page.get_by_label("cloud").select_option("gcp")
    await expect(page.get_by_label("size")).to_have_value("e2")
    await page.get_by_label("Name of a further variable").fill("NIGHT")
    await page.get_by_label("Value of a further variable").first.fill("yes")
    await page.screenshot(path=tmp_path / "schedule.png", full_page=True)
    await page.get_by_role("button", name="Create schedule").click()
    card = page.get_by_role("article", name="Nightly <build>")
    await expect(card).to_contain_text("Every day at 02:30")
    await expect(card).to_contain_text("No tick yet")
    await page.get_by_role("button", name="Run now: Nightly <build>").click()
    loop = TickLoop(site.services)
    await loop.carry_out_due()
    await expect(card.get_by_role("link", name="Created")).to_be_visible()
    await page.screenshot(path=tmp_path / "schedules.png", full_page=True)
    await card.get_by_role("link", name="Created").click()
    await page.wait_for_url(re.compile(r"/-/pipelines/\d+$"))
    await site.world.settle(int(page.url.rpartition("/")[2]))
    job = await site.world.job()
    told = {item["key"]: item["value"] for item in job["variables"]}
    assert (told["NIGHT"], told["CI_PIPELINE_SOURCE"]) == ("yes", "schedule")
    assert job["steps"][0]["script"] == ["make gcp e2"]


async def test_environments_are_rolled_back_deployed_again_and_stopped_by_mouse(
    site: Site, page: Page, tmp_path: Path
) -> None:
    here = Deploying(site)
    await here.begin()
    first = await here.pipeline()
    older = (await here.deployments())[0]
    await here.commit()
    await here.pipeline()
    await visit(site, page, "environments")
    await page.screenshot(path=tmp_path / "environments.png", full_page=True)
    await page.get_by_role("link", name="review/main").click()
    await expect(page.get_by_role("row")).to_have_count(3)
    short = older["sha"][:8]
    await agree(page, f"Roll back to this: {short}", f"Roll review/main back to {short}")
    assert await here.finish(first) != older["deployable"]["id"]
    now = page.locator("#environment-now")
    await expect(now).to_contain_text(short)
    await page.screenshot(path=tmp_path / "environment.png", full_page=True)
    await agree(page, f"Deploy again: {short}", f"Deploy {short} (main) to review/main again?")
    await here.finish(first)
    await expect(page.get_by_role("row")).to_have_count(5)
    await agree(page, "Stop", "The stop job of its last deployment runs.")
    await expect(page.locator("#environment-head")).to_contain_text("Stopping")
    jobs: list[dict[str, Any]] = await here.call("GET", f"/pipelines/{first}/jobs")
    (stop,) = [job["id"] for job in jobs if job["name"] == "stop"]
    await site.world.settle(first, Command("play_job", "stop", stop))
    assert await here.finish(first) == stop
    await expect(page.locator("#environment-head")).to_contain_text("Stopped")
    await agree(page, "Delete", "Delete review/main with the list of its deployments?")
    await expect(page.get_by_text("None is stopped")).to_be_visible()
