"""The story of a newcomer on the real stack, by mouse and by keyboard alone.

They sign in, make a project, push, watch it run, open the failing job at its failure, read why, retry it and see it
pass, start what waits for a person, run a pipeline by the form, open a merge request and merge it by its widget.

Marked slow: real jobs run while somebody looks.
"""

import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.hands import Hands, Keyboard, Mouse
from tests.browser.live_stack import LiveStack, Person
from tests.browser.visits import Visitor, visitor

pytestmark = pytest.mark.slow

RUN_WITHIN: Final = 60_000
"""Milliseconds in which a job of the stack's runner ends, on a busy machine too."""
CONFIG: Final = """\
stages: [build, test, deploy]
variables:
  GREETING: {value: hello, description: What is said first}
workflow:
  rules:
    - if: $CI_PIPELINE_SOURCE == "merge_request_event"
    - if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH
build: {stage: build, script: ["echo $GREETING"]}
test:
  stage: test
  script:
    - for n in $(seq 1 80); do echo "check $n"; done
    - test -e MENDED || { echo "ERROR the thing is broken"; exit 3; }
deploy: {stage: deploy, when: manual, script: ["echo shipped"], manual_confirmation: "Ship it?"}
"""


@pytest.mark.parametrize("kind", [Mouse, Keyboard], ids=["mouse", "keyboard"])
async def test_from_signing_in_to_a_merged_request(
    stack: LiveStack, chromium: Browser, tmp_path: Path, kind: Callable[[Page], Hands]
) -> None:
    name = f"newcomer-{kind.__name__.lower()}"
    person = await stack.person(name, "New Comer")
    mended = stack.folder.parent / f"{name}-mended"
    async with visitor(chromium, stack) as tab:
        story = Story(stack, tab, kind(tab.page), person, mended)
        chapters: list[Callable[[], Awaitable[None]]] = [
            story.signs_in,
            story.makes_a_project,
            story.pushes_and_watches,
            story.opens_the_failure,
            story.retries_until_it_passes,
            story.ships,
            story.runs_by_form,
            story.opens_a_merge_request,
            story.merges,
        ]
        for chapter in chapters:
            try:
                await chapter()
            except BaseException:
                await tab.page.screenshot(path=tmp_path / f"{chapter.__name__}.png", full_page=True)
                raise
        assert tab.faults.all() == []


class Story:
    """One newcomer."""

    def __init__(self, stack: LiveStack, tab: Visitor, hands: Hands, person: Person, mended: Path) -> None:
        self.stack, self.page, self.hands, self.person = stack, tab.page, hands, person
        self.mended = mended
        self.path = f"{person.username}/tour"

    async def press(self, role: str, name: str | re.Pattern[str]) -> None:
        """Press the first link or button of a name."""
        await self.hands.press(self.page.get_by_role(role, name=name).first)  # type: ignore[arg-type]

    async def titled(self, text: str) -> None:
        """The title of the tab says so, by itself."""
        await expect(self.page).to_have_title(re.compile(text), timeout=RUN_WITHIN)

    async def signs_in(self) -> None:
        """From the first page, by name and password."""
        await self.page.goto(self.stack.url)
        await self.press("link", "Sign in")
        await self.hands.write(self.page.locator("input[name=username]"), self.person.username)
        await self.hands.write(self.page.locator("input[name=password]"), self.person.password)
        await self.press("button", re.compile("^Sign in"))
        await expect(self.page.get_by_text(self.person.username).first).to_be_visible()

    async def makes_a_project(self) -> None:
        """By the form, below their own name."""
        await self.press("link", "New project")
        await self.hands.write(self.page.get_by_label("Name"), "Tour")
        await self.press("button", "Create project")
        await expect(self.page).to_have_url(f"{self.stack.url}/{self.path}")
        await expect(self.page.locator("main")).to_contain_text("git ")
        (project,) = await self.person.rest.get("/projects", search="Tour", owned="true")
        await self.stack.root.rest.put(f"/projects/{project['id']}", may_run_as_server=True)

    async def pushes_and_watches(self) -> None:
        """The pipeline appears on the page that is open, and on its own page it runs and fails before their eyes."""
        config = CONFIG.replace("MENDED", str(self.mended))
        await self.stack.push(self.person, self.path, {".gitlab-ci.yml": config}, "Begin the tour")
        found = self.page.locator(f"main a[href^='/{self.path}/-/pipelines/']").filter(has_text=re.compile(r"\d"))
        await self.hands.press(found.first)
        await expect(self.page.locator("h1")).to_contain_text("Begin the tour")
        await self.titled("Failed")

    async def opens_the_failure(self) -> None:
        """The job opens at the line that says what is wrong, and says why it failed."""
        await self.press("link", re.compile("^test: .*failed", re.IGNORECASE))
        await self.titled("Failed · test")
        await expect(self.page.get_by_text("ERROR the thing is broken").last).to_be_in_viewport()
        await expect(self.page.locator("[data-why]")).to_contain_text("exit code 3")

    async def retries_until_it_passes(self) -> None:
        """What was wrong is mended elsewhere; the new attempt passes while they look."""
        self.mended.touch()
        await self.press("button", re.compile("^Retry$"))
        await self.titled("Passed · test")
        await expect(self.page.locator("main")).to_contain_text("attempt 2")

    async def ships(self) -> None:
        """What waits for a person is started from the pipeline, once the question is answered."""
        await self.press("link", re.compile(r"^pipeline \d+"))
        await self.press("link", re.compile("^deploy: ", re.IGNORECASE))
        await self.press("button", "Play")
        question = self.page.get_by_role("dialog", name="Please confirm")
        await expect(question).to_contain_text("Ship it?")
        await self.hands.press(question.locator("[data-yes]"))
        await self.titled("Passed · deploy")

    async def runs_by_form(self) -> None:
        """A variable of the form reaches the job."""
        await self.press("link", "Pipelines")
        await self.press("link", "Run pipeline")
        await self.hands.write(self.page.get_by_label("GREETING"), "good evening")
        await self.press("button", "Run pipeline")
        await expect(self.page).to_have_url(re.compile(r"/-/pipelines/\d+"))
        await self.press("link", re.compile("^build: ", re.IGNORECASE))
        await self.titled("Passed · build")
        await expect(self.page.get_by_text("good evening").first).to_be_visible()

    async def opens_a_merge_request(self) -> None:
        """For a branch that they push meanwhile."""
        await self.stack.push(self.person, self.path, {"README.md": "# Tour\n"}, "Explain the tour", branch="explain")
        await self.press("link", "Merge requests")
        await self.press("link", "New merge request")
        await self.hands.choose(self.page.get_by_label("Source branch"), "explain")
        await self.press("button", "Compare")
        await self.hands.write(self.page.get_by_label("Title"), "Explain everything")
        await self.press("button", "Create merge request")
        await expect(self.page.locator("h1")).to_contain_text("Explain everything")

    async def merges(self) -> None:
        """When its pipeline has passed, by the widget."""
        await expect(self.page.locator("#mr-pipeline")).to_contain_text("Passed", timeout=RUN_WITHIN)
        await self.press("button", "Merge")
        await expect(self.page.locator("main")).to_contain_text(re.compile("Merged by"), timeout=RUN_WITHIN)
