"""The pages of notifications in a browser: what is chosen stays chosen, and nothing breaks a rule of the pages.

Marked slow: a browser takes some seconds to start on a busy machine.
"""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import ConsoleMessage, Page, expect

from tests.api.v4.site import Site, open_site, serving
from tests.browser.chromium import PROGRAM, browsing
from tests.browser.test_pages import signed_in

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
        yield opened


def faults_of(page: Page) -> list[str]:
    """What the browser complains of from now on."""
    found: list[str] = []

    def said(message: ConsoleMessage) -> None:
        if message.type == "error":
            found.append(message.text)

    page.on("console", said)
    page.on("pageerror", lambda error: found.append(str(error)))
    return found


async def pictures(page: Page, folder: Path, name: str) -> None:
    """What the page looks like, wide and narrow, light and dark; nothing is wider than the window."""
    for width in (1280, 390):
        await page.set_viewport_size({"width": width, "height": 900})
        for scheme in ("light", "dark"):
            await page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            await page.screenshot(path=folder / f"{name}-{width}-{scheme}.png", full_page=True)
        assert await page.evaluate("document.documentElement.scrollWidth") <= width


async def test_what_is_chosen_stays_chosen(site: Site, tmp_path: Path) -> None:
    url, path = site.services.settings.url, await site.path()
    async with browsing(tmp_path / "failed.png") as page:
        faults = faults_of(page)
        await signed_in(site, page)
        await page.goto(f"{url}/-/profile/notifications")
        everything = page.get_by_role("region", name="Everything")
        await everything.get_by_label("How much").select_option("custom")
        await everything.get_by_text("What I choose", exact=True).click()
        await everything.get_by_label("A deployment fails").check()
        await everything.get_by_role("button", name="Save").click()
        await expect(page.get_by_role("status")).to_contain_text("Saved.")
        await expect(everything.get_by_label("A deployment fails")).to_be_checked()
        more = page.get_by_role("region", name="Choose for another project or group")
        await more.get_by_label("Its path").fill(path)
        await more.get_by_label("How much").select_option("watch")
        await more.get_by_role("button", name="Add").click()
        await expect(page.get_by_role("region", name=path).get_by_label("How much")).to_have_value("watch")
        await pictures(page, tmp_path, "notifications")
    assert faults == []


async def test_an_integration_is_kept_and_removed(site: Site, tmp_path: Path) -> None:
    address = f"{site.services.settings.url}/{await site.path()}/-/settings/integrations"
    async with browsing(tmp_path / "failed.png") as page:
        faults = faults_of(page)
        await signed_in(site, page)
        await page.goto(address)
        slack = page.get_by_role("region", name="Slack notifications")
        await slack.get_by_label("Webhook").fill("https://hooks.slack.example/s3cret")
        await slack.get_by_label("Deployments").check()
        await slack.get_by_role("button", name="Add").click()
        await expect(page.get_by_role("status")).to_contain_text("Saved.")
        await expect(slack.get_by_label("Deployments")).to_be_checked()
        await expect(slack.get_by_label("Webhook")).to_have_value("")
        assert "s3cret" not in await page.content()
        await pictures(page, tmp_path, "integrations")
        await slack.get_by_role("button", name="Remove").click()
        await page.get_by_role("dialog").get_by_role("button").last.click()
        await expect(page.get_by_role("status")).to_contain_text("Removed.")
        await expect(slack.get_by_role("button", name="Add")).to_be_visible()
    assert faults == []
