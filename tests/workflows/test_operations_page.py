"""Every `temporal` command about pipelines in `docs/operations.md`, run in the order of the page on one pipeline."""

import re
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Final

import pytest

from domain.pipelines.status import Status
from tests.models.world import job
from tests.workflows.command import temporal
from tests.workflows.pod import Pod, running_pod

PAGE: Final = Path(__file__).parents[2] / "docs" / "operations.md"
CONFIG: Final = """
    stages: [build, ship]
    unit: {stage: build, script: a}
    gate: {stage: build, script: b, when: manual, allow_failure: false}
    later: {stage: build, script: c, when: delayed, start_in: 1 day}
    ship: {stage: ship, script: d}
"""
NUMBERS: Final = {"42": "unit", "43": "gate", "44": "later"}
"""The jobs whose ids the page makes up; 7 is the pipeline."""


class Story:
    """One pipeline, and what has to happen between two commands of the page."""

    def __init__(self, pod: Pod, pipeline_id: int) -> None:
        """Tell it of a new pipeline."""
        self._pod = pod
        self._pipeline = pipeline_id

    async def nothing(self) -> None:
        """The next command follows at once."""

    async def failed(self) -> None:
        """Job `unit` has failed, the gate waits."""
        await self._pod.run("unit", Status.FAILED)
        await self._pod.until(self._pipeline, unit="failed", gate="manual", later="scheduled")

    async def over(self) -> None:
        """The pipeline has been canceled, and its workflow waits for a retry."""
        assert await self._pod.rests(self._pipeline) == "canceled"

    async def closed(self) -> None:
        """It is canceled, and somebody has closed the window."""
        await self._pod.until(self._pipeline, unit="pending")
        await self._pod.ask(self._pipeline, "cancel_pipeline")
        await self.over()
        await self._pod.handle(self._pipeline).cancel()
        assert await self._pod.ended(self._pipeline) == "canceled"

    async def again(self) -> None:
        """It was canceled, and all of it is tried again."""
        await self.over()
        await self._pod.ask(self._pipeline, "retry_pipeline")
        await self._pod.until(self._pipeline, unit="pending", gate="manual")

    async def settled(self) -> None:
        """What was terminated has been seen."""
        assert await self._pod.reconcile(self._pipeline) == [self._pipeline]
        await self.over()

    async def opened(self) -> None:
        """Two jobs are open."""
        await self.again()
        await self._pod.ask(self._pipeline, "play_job", int(await self.number("43")))
        await self._pod.until(self._pipeline, gate="pending")

    async def by_hand(self) -> None:
        """What was said of two activities has become of their jobs; one of them is tried again."""
        await self._pod.until(self._pipeline, unit="success", gate="failed")
        await self._pod.ask(self._pipeline, "retry_job", int(await self.number("42")))
        await self._pod.until(self._pipeline, unit="pending")

    async def canceled(self) -> None:
        """It comes to its end."""
        await self._pod.ask(self._pipeline, "cancel_pipeline")
        await self._pod.rests(self._pipeline)

    async def number(self, made_up: str) -> str:
        """The real number for one of the page."""
        if made_up == "7":
            return str(self._pipeline)
        name = NUMBERS[made_up]
        return str((await self._pod.world.row(job, pipeline_id=self._pipeline, name=name, retried=False)).id)

    async def words(self, command: str) -> list[str]:
        """A command of the page, for this pipeline and its worker."""
        for made_up in ("7", *NUMBERS):
            command = re.sub(rf"\b{made_up}\b", await self.number(made_up), command)
        queue = f"--task-queue {self._pod.settings.queue}"
        return shlex.split(command.replace("--task-queue pipelines", queue))


STORY: Final[tuple[tuple[str, Callable[[Story], Awaitable[None]]], ...]] = (
    ("workflow update execute .* retry_job", Story.failed),
    ("workflow update execute .* play_job", Story.nothing),
    ("workflow update execute .* unschedule_job", Story.nothing),
    ("workflow update execute .* cancel_job", Story.nothing),
    ("workflow signal .* cancel_pipeline", Story.nothing),
    ("workflow signal .* retry_pipeline", Story.over),
    ('workflow start .* "do"', Story.closed),
    ("workflow execute-update-with-start .* retry_job", Story.closed),
    ("workflow query .* status", Story.nothing),
    ("workflow query .* why$", Story.nothing),
    ("workflow query .* why .*ship", Story.nothing),
    ("workflow list .*IS NULL'$", Story.nothing),
    ("workflow list .*IS NULL.*failed", Story.nothing),
    ("workflow list .*CiProject", Story.nothing),
    ("workflow describe", Story.nothing),
    ("workflow show", Story.nothing),
    ("workflow cancel", Story.nothing),
    ("workflow terminate", Story.again),
    ("workflow reset .*FirstWorkflowTask", Story.settled),
    ("workflow reset .*LastWorkflowTask", Story.over),
    ("activity complete .*42", Story.opened),
    ("activity fail .*43", Story.nothing),
    ("workflow pause", Story.by_hand),
    ("workflow unpause", Story.nothing),
    ("activity pause .*42", Story.nothing),
    ("activity unpause .*42", Story.nothing),
    ("workflow delete", Story.canceled),
)
"""The commands of the page in its order, each with what happens before it."""


def commands() -> list[str]:
    """The commands about pipelines, without the word `temporal`."""
    about_pipelines, _, _ = PAGE.read_text().partition("## Jobs that wait")
    text = re.sub(r"\\\n\s+", "", about_pipelines)
    return [line.removeprefix("    temporal ") for line in text.splitlines() if line.startswith("    temporal ")]


def test_the_story_has_every_command_of_the_page() -> None:
    found = commands()
    assert len(found) == len(STORY)
    for command, (pattern, _) in zip(found, STORY, strict=True):
        assert re.match(pattern, command), f"{command!r} is not {pattern!r}"


@pytest.fixture
async def patient(temporal: str, tmp_path: Path) -> AsyncIterator[Pod]:
    """A pod whose workflows wait for retries."""
    async with running_pod(temporal, tmp_path, retry_window=3_600.0) as running:
        yield running


async def test_every_command_of_the_page_works(patient: Pod) -> None:
    pod = patient
    story = Story(pod, await pod.create(CONFIG))
    for command, (_, before) in zip(commands(), STORY, strict=True):
        await before(story)
        said = await temporal(pod.settings.temporal, *await story.words(command))
        assert said.code == 0, f"temporal {command}\n{said.text}"
