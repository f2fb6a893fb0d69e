"""The page of a job in a browser: started with variables, asked, retried from a step; reports that try to get out.

Marked slow: a browser takes some seconds to start on a busy machine, and no other test sees what a script may do.
"""

import json
import os
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, Request, expect

from tests.api.pages.jobs.test_job import INPUTS, manual
from tests.api.v4.jobs.test_artifacts import archive
from tests.api.v4.site import Site, open_site, serving
from tests.browser.chromium import PROGRAM, browsing
from tests.browser.test_pages import job_page, signed_in
from tests.handed_in_steps import DONE, RUN, STEPS, hand_in, written

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not PROGRAM.exists() and os.environ.get("CI") != "true",
        reason=f"not run: there is no {PROGRAM}; install Debian's package chromium",
    ),
]


@pytest.fixture
async def site(tmp_path: Path, sqlite_url: str) -> AsyncIterator[Site]:
    """An installation behind a real web server."""
    async with open_site(tmp_path, sqlite_url) as opened, serving(opened):
        opened.connect_temporal()
        yield opened


def complaints(page: Page) -> list[str]:
    """What the console says is wrong, from now on."""
    found: list[str] = []
    page.on("console", lambda message: found.append(message.text) if message.type in {"error", "warning"} else None)
    page.on("pageerror", lambda error: found.append(str(error)))
    return found


async def test_variables_and_inputs_of_a_form_reach_the_runner(site: Site, tmp_path: Path) -> None:
    job_id = await manual(site, INPUTS)
    async with browsing(tmp_path / "failed.png") as page:
        wrong = complaints(page)
        await signed_in(site, page)
        await job_page(site, page, job_id)
        await page.get_by_label("More ways to start it").click()
        await page.get_by_role("link", name="With variables and inputs").click()
        await page.get_by_label("Name of a further variable").first.fill("COLOUR")
        await page.get_by_label("Value of a further variable").first.fill("crimson")
        await page.get_by_label("level").select_option("5")
        await page.get_by_role("button", name="Play").click()
        await page.wait_for_url(re.compile(rf"/-/jobs/{job_id}$"))
        job = await site.world.job()
        await expect(page.locator("#job-head")).to_contain_text("Running")
        await expect(page).to_have_title(re.compile("Running"))
        assert wrong == []
    assert {"COLOUR": "crimson"}.items() <= {item["key"]: item["value"] for item in job["variables"]}.items()
    assert [item["value"]["content"] for item in job["inputs"]] == [5, "a"]


@pytest.mark.parametrize("scripts", [True, False])
async def test_a_question_is_asked_with_and_without_scripts(site: Site, tmp_path: Path, *, scripts: bool) -> None:
    question = "Ship it to everybody?"
    job_id = await manual(site, f'go: {{script: x, when: manual, manual_confirmation: "{question}"}}\n')
    async with browsing(tmp_path / "failed.png") as opened:
        browser = opened.context.browser
        assert browser is not None
        context = await browser.new_context(java_script_enabled=scripts)
        page = await context.new_page()
        await signed_in(site, page)
        await job_page(site, page, job_id)
        await page.get_by_role("button", name="Play").click()
        await expect(page.get_by_text(question)).to_be_visible()
        assert (await site.world.row(job_id)).status == "manual"
        if scripts:
            await page.get_by_role("dialog").get_by_role("button", name="Play").click()
        else:
            await page.get_by_label("Yes").check()
            await page.get_by_role("button", name="Play").click()
        await expect(page.locator("#job-head")).to_contain_text("Pending")
    assert (await site.world.row(job_id)).status == "pending"


async def test_a_retry_from_a_step_begins_there(site: Site, tmp_path: Path) -> None:
    pipeline = await site.world.pipeline(RUN)
    job = await site.world.job()
    await hand_in(site.services.database, site.services.store, job["id"], written(*STEPS))
    await site.world.put(job, "failed", failure_reason="script_failure")
    await site.world.settle(pipeline)
    async with browsing(tmp_path / "failed.png") as page:
        await signed_in(site, page)
        await job_page(site, page, job["id"])
        await page.get_by_label("More ways to retry").click()
        await page.get_by_role("link", name="From a step").click()
        await page.get_by_label("step 3, whisper").check()
        await page.get_by_role("button", name="Retry").click()
        await expect(page.locator("#job-head")).to_contain_text("attempt 2")
        await site.world.settle(pipeline)
        assert (await site.world.job())["steps_resume"] == {"from": "whisper", "done": DONE}
        await page.get_by_role("link", name="Compare attempts").click()
        await expect(page.get_by_role("columnheader", name="Attempt 2")).to_be_visible()


TRY_EVERYTHING = """
const said = {};
const tried = async (name, what) => { try { said[name] = await what(); } catch (error) { said[name] = error.name; } };
(async () => {
  await tried("origin", () => self.origin);
  await tried("cookie", () => document.cookie);
  await tried("storage", () => localStorage.length);
  await tried("parent", () => parent === self ? "none" : parent.document.title);
  if (parent !== self) await tried("top", () => { top.location = "/-/profile/password"; });
  await tried("opener", () => String(self.opener));
  await tried("api", async () => (await fetch("/api/v4/projects")).status);
  const blind = async (address, method) => (await fetch(address, { method, mode: "no-cors" })).type;
  await tried("write", () => blind("/api/v4/projects/1/pipeline?ref=main", "POST"));
  await tried("elsewhere", () => blind("http://127.0.0.1:9/", "GET"));
  await tried("own", async () => (await (await fetch("data.json")).json()).answer);
  await tried("module", async () => (await import("./part.js")).value);
  await tried("popup", () => String(self.open("/")));
  const form = Object.assign(document.createElement("form"), {action: "/users/sign_out", method: "post"});
  document.body.append(form);
  await tried("form", () => { form.submit(); return "sent"; });
  const picture = new Image();
  await tried("picture", () => new Promise((done) => {
    picture.onload = () => done("loaded");
    picture.onerror = () => done("refused");
    picture.src = "/-/assets/x/favicon-brand.svg";
  }));
  document.getElementById("said").textContent = JSON.stringify(said);
})();
"""
REPORT = {
    "report/index.html": '<link rel="stylesheet" href="style.css"><h1>Coverage</h1><img src="dot.svg" alt="dot">'
    '<a href="sub/next.html">next</a><p id="said"></p><script type="module" src="try.js"></script>',
    "report/try.js": TRY_EVERYTHING,
    "report/style.css": "h1 { color: rgb(1, 2, 3); }",
    "report/data.json": '{"answer": 42}',
    "report/part.js": "export const value = 7;",
    "report/dot.svg": '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>',
    "report/sub/next.html": '<h1>Next</h1><a href="../index.html">back</a>',
    "evil.svg": '<svg xmlns="http://www.w3.org/2000/svg"><script>document.title = "ran"; fetch("/ran")</script>'
    '<rect width="9" height="9" onload="fetch(\'/ran\')"/></svg>',
}


async def with_report(site: Site) -> int:
    """A job that has handed in a report whose script tries everything."""
    pipeline = await site.world.pipeline("build: {script: x}\n")
    job = await site.world.job()
    assert (await site.world.upload(job, archive(REPORT))).status_code == 201
    await site.world.put(job, "success")
    await site.world.settle(pipeline)
    return int(job["id"])


def cookies_sent(page: Page, path: str) -> list[str]:
    """The cookies that go with requests below a path, from now on."""
    found: list[str] = []

    async def note(request: Request) -> None:
        if path in request.url:
            found.append((await request.all_headers()).get("cookie", ""))

    page.on("requestfinished", note)
    return found


@pytest.mark.parametrize("framed", [True, False])
async def test_a_report_works_and_gets_out_nowhere(site: Site, tmp_path: Path, *, framed: bool) -> None:
    job_id = await with_report(site)
    base = f"{site.services.settings.url}/{await site.path()}/-/jobs/{job_id}/artifacts"
    async with browsing(tmp_path / "failed.png") as page:
        await signed_in(site, page)
        await page.goto(f"{base}/browse")
        await page.get_by_role("link", name="report").click()
        if framed:
            await page.get_by_role("link", name="index.html", exact=True).click()
            shown: Any = page.frame_locator("iframe.report")
        else:
            await page.get_by_role("link", name="Open index.html").click()
            shown = page
        sent = cookies_sent(page, "/style.css")
        await expect(shown.locator("#said")).not_to_be_empty()
        said = json.loads(await shown.locator("#said").text_content() or "")
        colour = await shown.locator("h1").evaluate("heading => getComputedStyle(heading).color")
        assert colour == "rgb(1, 2, 3)", "its own style sheet is there"
        assert await shown.locator("img").evaluate("image => image.complete && image.naturalWidth > 0")
        address = page.url
        await shown.get_by_role("link", name="next").click()
        await expect(shown.get_by_role("heading", name="Next")).to_be_visible()
        if framed:
            assert page.url == address, "it has not led the page elsewhere"
        await page.screenshot(path=tmp_path / f"report-{framed}.png")
    assert said["origin"] == "null"
    assert (said["cookie"], said["storage"]) == ("SecurityError", "SecurityError")
    assert said["parent"] == ("SecurityError" if framed else "none")
    assert said.get("top") == ("SecurityError" if framed else None)
    assert said["api"] == said["write"] == said["elsewhere"] == "TypeError", "nothing is fetched but its own files"
    assert (said["own"], said["module"]) == (42, 7)
    assert said["popup"] in {"null", "undefined"}
    assert said["picture"] == "refused"
    assert all(not cookie for cookie in sent)
    async with site.client(site.root) as client:
        pipelines = (await client.get(f"/api/v4/projects/{site.world.project_id}/pipelines")).json()
    assert len(pipelines) == 1, "it has started none"


async def test_a_picture_of_a_stranger_runs_nothing(site: Site, tmp_path: Path) -> None:
    job_id = await with_report(site)
    base = f"{site.services.settings.url}/{await site.path()}/-/jobs/{job_id}/artifacts"
    async with browsing(tmp_path / "failed.png") as page:
        await signed_in(site, page)
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        for view in ("file", "raw"):
            await page.goto(f"{base}/{view}/evil.svg")
            await page.wait_for_load_state("networkidle")
            assert await page.title() != "ran"
        assert not [address for address in asked if address.endswith("/ran")]
