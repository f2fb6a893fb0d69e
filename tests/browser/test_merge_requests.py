"""A merge request in a browser: opened by form from a pushed branch, judged live, merged by the widget, now or later.

Marked slow: a browser takes some seconds to start on a busy machine.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from auth.session_token import COOKIE, issue_session
from tests.api.v4.merge_requests.merging import Merging
from tests.api.v4.merge_requests.test_reports import CONFIG, cobertura, junit, quality, report, sast
from tests.api.v4.site import Site, open_site, serving
from tests.browser.chromium import PROGRAM, browsing

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not PROGRAM.exists() and os.environ.get("CI") != "true",
        reason=f"not run: there is no {PROGRAM}; install Debian's package chromium",
    ),
]
EVIL = "<img src=x onerror=\"document.title='cracked'\"><script>document.title='cracked'</script>"
EVIL_BRANCH = "\"><svg/onload=document.title='cracked'>"
TURNED = "\u202ecod\u2066.exe"


class Desk:
    """A browser that root has open, with the project behind it."""

    def __init__(self, merging: Merging, page: Page, path: str) -> None:
        """Note what the page complains about."""
        self.merging = merging
        self.page = page
        self.base = f"{merging.site.services.settings.url}/{path}/-"
        self.faults: list[str] = []
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("console", lambda message: self._note(message.type, message.text))
        page.on("request", lambda request: self._note_request(request.url))

    def _note(self, kind: str, text: str) -> None:
        if kind == "error":
            self.faults.append(text)

    def _note_request(self, url: str) -> None:
        if not url.startswith((self.merging.site.services.settings.url, "data:")):
            self.faults.append(f"a request to {url}")

    async def visit(self, place: str) -> None:
        """Open a page of the project."""
        await self.page.goto(f"{self.base}/{place}")

    async def press(self, name: str) -> None:
        """Press a button by its name."""
        await self.page.get_by_role("button", name=name, exact=True).click()

    async def shown(self, text: str, where: str = "main") -> None:
        """A text stands there, sooner or later."""
        await expect(self.page.locator(where)).to_contain_text(text)


@asynccontextmanager
async def opened(site: Site, folder: Path, config: str = CONFIG) -> AsyncIterator[Desk]:
    """A browser with a project whose `main` has one commit; nothing may have gone wrong in it at the end."""
    merging = Merging(site)
    await merging.begin(config)
    async with browsing(folder / "failed.png") as page:
        session = issue_session(site.services.key, site.root.id, site.services.clock())
        await page.context.add_cookies([{"name": COOKIE, "value": session, "url": site.services.settings.url}])
        desk = Desk(merging, page, await site.path())
        yield desk
        assert desk.faults == []


@pytest.fixture
async def site(tmp_path: Path, sqlite_url: str) -> AsyncIterator[Site]:
    """An installation behind a real web server."""
    async with open_site(tmp_path, sqlite_url) as opened, serving(opened):
        yield opened


async def test_opened_by_form_judged_live_and_merged_by_the_widget(site: Site, tmp_path: Path) -> None:
    async with opened(site, tmp_path) as desk:
        here, page = desk.merging, desk.page
        await here.commit("main", {"a": "1"})
        (old,) = await here.all_pipelines()
        before = {"junit": junit(a=True, b=False, c=False), "codequality": quality("one", "two"), "sast": sast("x")}
        await report(here, old["id"], **before, cobertura=cobertura(5))
        await here.commit("feature", {"f": "1\n"}, message="Bring the feature")

        await desk.visit("merge_requests")
        await desk.shown("No open merge request")
        await page.get_by_role("link", name="New merge request").click()
        await page.get_by_label("Source branch").select_option("feature")
        await desk.press("Compare")
        await desk.shown("1 file changed")
        await expect(page.get_by_label("Title")).to_have_value("Bring the feature")
        await page.get_by_label("Description").fill("It is **good**.")
        await desk.press("Create merge request")
        await desk.shown("Nothing was said yet.")
        await desk.shown("Merge when pipeline succeeds")

        await page.get_by_text("Commit message", exact=True).click()
        await page.get_by_label("Merge commit message").fill("My own words")
        after = {"junit": junit(a=False, b=True, c=False), "codequality": quality("two", "3"), "sast": sast("x", "y")}
        (made,) = await here.pipelines(1)
        await report(here, made["id"], **after, cobertura=cobertura(8))
        await desk.shown("Passed", "#mr-pipeline")
        await desk.shown("1 new failed, 1 fixed, 1 fail as before", "#mr-tests")
        await desk.shown("Coverage: 80.0 % (+30.0)", "#mr-coverage")
        await desk.shown("Security: 1 new (1 high)", "#mr-security")
        await desk.shown("1 degraded, 1 improved", "#mr-quality")
        await page.locator("#mr-tests > summary").click()
        await expect(page.locator("#mr-tests")).to_contain_text("New failures")
        await page.screenshot(path=tmp_path / "widget.png", full_page=True)

        await page.get_by_label("Comment", exact=True).fill("half a sent")
        await here.good("POST", "merge_requests/1/notes", json={"body": "Looks *fine*."})
        await desk.shown("Looks fine.", "#mr-activity")
        await expect(page.get_by_label("Comment", exact=True)).to_have_value("half a sent")
        await expect(page.locator("#mr-tests")).to_have_attribute("open", "")
        await expect(page.get_by_label("Merge commit message")).to_have_value("My own words")
        await desk.press("Merge")
        await desk.shown("Merged by root")
        assert await here.git("log", "-1", "--format=%s", "main") == "My own words"
        await page.get_by_role("link", name="Changes").click()
        await expect(page.locator(".diff .added")).to_contain_text("1")


async def test_merged_when_the_pipeline_succeeds_while_somebody_looks(site: Site, tmp_path: Path) -> None:
    async with opened(site, tmp_path) as desk:
        made = await desk.merging.feature("later")
        await desk.visit(f"merge_requests/{made['iid']}")
        await desk.press("Merge when pipeline succeeds")
        await desk.shown("merged by itself as soon as nothing is in its way", "#mr-merge")
        await desk.merging.play(made["head_pipeline"]["id"])
        await desk.merging.loop.step()
        await desk.shown("Merged by root", "#mr-merge")
        await expect(desk.page.get_by_role("button", name="Cancel auto-merge")).to_have_count(0)


async def test_a_target_that_moves_makes_it_stale_before_the_readers_eyes(site: Site, tmp_path: Path) -> None:
    async with opened(site, tmp_path) as desk:
        made = await desk.merging.feature("old")
        await desk.visit(f"merge_requests/{made['iid']}")
        await desk.shown("It can be merged.")
        await expect(desk.page.locator("#mr-stale")).to_have_count(0)
        await desk.merging.commit("main", {"news": "1\n"})
        await desk.shown("main has moved on by 1 commit", "#mr-stale")
        await desk.page.locator("#mr-stale > summary").click()
        await desk.press("Rebase")
        await expect(desk.page.locator("#mr-stale")).to_have_count(0)


async def test_the_train_moves_while_somebody_looks(site: Site, tmp_path: Path) -> None:
    await site.set_project(merge_trains_enabled=True, merge_pipelines_enabled=True)
    async with opened(site, tmp_path) as desk:
        here = desk.merging
        first, second = await here.feature("one"), await here.feature("two")
        for made in (first, second):
            await here.play(made["head_pipeline"]["id"])
            await desk.visit(f"merge_requests/{made['iid']}")
            await desk.press("Add to merge train")
            await desk.shown("Merge train of main", "#mr-train")
        await here.loop.step()
        await desk.shown("place 2 of 2, 1 before it", "#mr-train")
        await desk.shown("is tested upon what is before it", "#mr-train")
        await desk.page.screenshot(path=tmp_path / "train.png", full_page=True)
        train = [row for row in await here.all_pipelines() if "/train" in row["ref"]]
        await here.play(train[0]["id"])
        await here.loop.step()
        await desk.shown("place 1 of 1, the first", "#mr-train")


async def test_hostile_names_stay_text_on_every_page(site: Site, tmp_path: Path) -> None:
    async with opened(site, tmp_path) as desk:
        here = desk.merging
        message = f"{EVIL}{TURNED}\n\n{EVIL}"
        sha = await here.commit(EVIL_BRANCH, {f"{EVIL[:60]}": f"{EVIL}{TURNED}\n"}, message=message)
        made = await here.open(
            EVIL_BRANCH, title=f"{EVIL}{TURNED}"[:255], description=f"{EVIL} ![x](https://away.example/x)"
        )
        await here.good("POST", f"merge_requests/{made['iid']}/notes", json={"body": f"{EVIL}{TURNED}"})
        request = f"merge_requests/{made['iid']}"
        places = ["merge_requests", request, f"{request}/commits", f"{request}/pipelines", f"{request}/diffs"]
        places += [f"{request}/edit", f"commit/{sha}", f"commits/{sha}", f"tree/{sha}", f"compare/main...{sha}"]
        for place in places:
            await desk.visit(place)
            await expect(desk.page.locator("main h1")).to_be_visible()
            assert "cracked" not in (await desk.page.title()).split("'")[0], place
            assert await desk.page.locator("main img, main script, main iframe").count() == 0, place
            assert "\u202e" not in await desk.page.locator("main").inner_text(), place
