"""An operator with nothing but a mouse and Temporal's own pages retries a failed pipeline, in the window and after it.

Marked slow: a browser takes half a minute for it on a busy machine. The pages are Temporal's and change with it; what
is clicked here is what `docs/operations.md` says.
"""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from domain.pipelines.status import Status
from tests.browser.chromium import PROGRAM, browsing
from tests.models.world import job
from tests.temporal import TemporalServer
from tests.workflows.pod import Pod, running_pod

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not PROGRAM.exists() and os.environ.get("CI") != "true",
        reason=f"not run: there is no {PROGRAM}; install Debian's package chromium",
    ),
]


@pytest.fixture
async def temporal(tmp_path: Path) -> AsyncIterator[TemporalServer]:
    """A server with its pages."""
    server = TemporalServer(tmp_path, pages=True)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


@pytest.fixture
async def pod(temporal: TemporalServer, tmp_path: Path) -> AsyncIterator[Pod]:
    """A pod that keeps failed pipelines open for an hour."""
    async with running_pod(temporal.address, tmp_path, retry_window=3_600.0) as running:
        yield running


async def more(page: Page, action: str) -> None:
    """Choose from the menu of more actions."""
    await page.get_by_role("button", name="More Actions").click()
    await page.get_by_role("menuitem", name=action).first.click()


async def write_input(page: Page, text: str) -> None:
    """Replace what is in the editor of the input."""
    editor = page.get_by_role("textbox", name="Data", exact=True).last
    await editor.click()
    await page.keyboard.press("Control+A")
    await page.keyboard.insert_text(text)


async def test_the_list_shows_project_ref_and_status(pod: Pod, temporal: TemporalServer, tmp_path: Path) -> None:
    """The clicks of `docs/operations.md`: three columns, and a view that the browser keeps."""
    pipeline_id = await pod.create("one: {script: x}\n")
    await pod.run("one")
    assert await pod.ended(pipeline_id) == "success"
    async with browsing(tmp_path / "page.png") as page:
        await page.goto(f"{temporal.pages}/namespaces/default/workflows?query=WorkflowType%3D%22Pipeline%22")
        await page.get_by_role("button", name="Configure Columns").click()
        for column in ("CiProject", "CiRef", "CiStatus"):
            await page.get_by_role("button", name=f"Add {column} column").click()
        await page.get_by_role("button", name="Close Workflows Table configuration").click()
        row = page.get_by_role("row").filter(has=page.get_by_role("link", name=f"pipeline-{pipeline_id}", exact=True))
        for shown in ("acme/tool", "main", "success"):
            await expect(row.get_by_text(shown, exact=True).first).to_be_visible()
        await page.get_by_role("button", name="Save as New").click()
        await page.get_by_role("dialog").get_by_role("textbox").fill("Pipelines")
        await page.get_by_role("dialog").get_by_role("button", name="Save").click()
        await page.goto(f"{temporal.pages}/namespaces/default/workflows")
        await page.get_by_test_id("saved-views-button").click()
        await page.get_by_text("Pipelines", exact=True).first.click()
        await expect(page.get_by_role("button", name='WorkflowType = "Pipeline"')).to_be_visible()
        for shown in ("acme/tool", "main", "success"):
            await expect(row.get_by_text(shown, exact=True).first).to_be_visible()


async def test_a_failed_pipeline_is_retried_by_mouse(pod: Pod, temporal: TemporalServer, tmp_path: Path) -> None:
    pipeline_id = await pod.create("flaky: {script: x}\n")
    first = await pod.run("flaky", Status.FAILED)
    assert await pod.rests(pipeline_id) == "failed"
    async with browsing(tmp_path / "page.png") as page:
        await page.goto(f"{temporal.pages}/namespaces/default/workflows?query=WorkflowType%3D%22Pipeline%22")
        await page.get_by_role("link", name=f"pipeline-{pipeline_id}", exact=True).first.click()
        for name in ("read the pipeline", "record what follows", "ask until when it may be retried"):
            await expect(page.get_by_role("button", name=f"Event {name}").first).to_be_visible()
        await page.get_by_role("tab", name="User Metadata").click()
        details = page.locator("iframe").last.content_frame  # markdown of workflows is kept apart from the page
        await expect(details.get_by_text(f"Pipeline {pipeline_id} failed: test: flaky (job {first}).")).to_be_visible()

        await more(page, "Send a Signal")
        form = page.get_by_role("dialog", name="Send a Signal")
        await form.get_by_test_id("signal-select").locator("xpath=..").click()
        await form.get_by_role("option", name="retry_pipeline").click()
        await form.get_by_test_id("confirm-modal-button").click()
        await pod.run("flaky", Status.FAILED)
        assert await pod.rests(pipeline_id) == "failed"

        await page.reload()
        await page.get_by_role("button", name="Request Cancellation").click()
        await page.get_by_role("dialog").get_by_test_id("confirm-modal-button").first.click()
        assert await pod.ended(pipeline_id) == "failed"
        await page.goto(f"{temporal.pages}/namespaces/default/workflows?query=ExecutionStatus%3D%22Failed%22")
        await page.get_by_role("link", name=f"pipeline-{pipeline_id}", exact=True).first.click()

        await more(page, "Start Workflow Like This One")
        await write_input(page, f'{{"pipeline_id": {pipeline_id}, "do": {{"name": "retry_pipeline"}}}}')
        await page.get_by_role("button", name="Start Workflow").click()
        await pod.run("flaky")
        assert await pod.ended(pipeline_id) == "success"
        await page.get_by_role("link", name="Workflow started successfully").click()
        await expect(page.get_by_role("status").filter(has_text="Completed").first).to_be_visible()
    assert [row.attempt for row in await pod.world.rows(job, first_id=first)] == [1, 2, 3]
