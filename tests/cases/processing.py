"""Runs processing scenarios through an engine."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from domain.config.plan import Plan
from domain.errors import ConfigInvalid, PerdureError
from tests.cases.core_engine import core_engine
from tests.cases.engine import Begin, OpenEngine
from tests.cases.report import Report
from tests.cases.scenario import CREATED, Scenario, Step, read
from tests.cases.temporal_engine import temporal_engine
from tests.compiling import plan_of

ENGINES: Final[Mapping[str, OpenEngine]] = {"domain": core_engine, "temporal": temporal_engine}

MAX_CONCURRENT: Final = 12
"""So many scenarios are played side by side, where an engine waits for anything."""


def scenarios_in(folder: Path) -> list[Path]:
    """The scenario files of a folder. Raises `FileNotFoundError` when there is none."""
    paths = sorted(folder.glob("*.yml"))
    if not paths:
        raise FileNotFoundError(f"There is no scenario (*.yml) in {folder}.")
    return paths


def run_folder(folder: Path, open_engine: OpenEngine) -> Report:
    """Run every scenario of a folder, in an event loop of its own. Raises `FileNotFoundError` when there is none."""
    return asyncio.run(run_files(scenarios_in(folder), open_engine))


async def run_files(paths: Sequence[Path], open_engine: OpenEngine) -> Report:
    """Run the scenarios of these files, some of them side by side."""
    places = asyncio.Semaphore(MAX_CONCURRENT)
    async with open_engine() as begin:

        async def play(path: Path) -> tuple[str, list[str]]:
            async with places:
                return await run_file(path, begin)

        async with asyncio.TaskGroup() as plays:  # none goes on when the engine has ended
            results = [plays.create_task(play(path)) for path in paths]
    report = Report()
    for result in results:
        report.note(*result.result())
    return report


async def run_file(path: Path, begin: Begin) -> tuple[str, list[str]]:
    """The name of a file's scenario, and every step that did not lead to what it expects."""
    try:
        scenario = read(path)
    except (KeyError, TypeError, ValueError) as error:
        return path.stem, [f"{path} is not a scenario: {error!r}"]
    try:
        plan = plan_of(scenario.config, ref="master")
    except ConfigInvalid as error:
        return scenario.name, [str(error)]
    return scenario.name, await run(scenario, plan, begin)


async def run(scenario: Scenario, plan: Plan, begin: Begin) -> list[str]:
    """Every step that did not lead to what the scenario expects; an event that is refused ends the scenario."""
    faults: list[str] = []
    running: Any = None
    for number, step in enumerate(scenario.steps):
        try:
            if step.event == CREATED:
                running = await begin(plan)
            else:
                await running.apply(step.event, step.jobs, step.arguments)
        except (PerdureError, KeyError, AssertionError, TimeoutError) as error:
            return [*faults, _fault(number, step, repr(error))]
        faults += [_fault(number, step, text) for text in step.expected.differences(await running.state())]
        faults += [_fault(number, step, text) for text in await running.faults()]
    return faults


def _fault(number: int, step: Step, text: str) -> str:
    return f"step {number} ({step}): {text}"
