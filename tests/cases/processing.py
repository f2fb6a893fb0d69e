"""Runs processing scenarios through an engine."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from domain.config.plan import Plan
from domain.errors import ConfigInvalid, PerdureError
from tests.cases.core_engine import CoreEngine
from tests.cases.report import Report
from tests.cases.scenario import CREATED, Scenario, State, read
from tests.compiling import plan_of


class Engine(Protocol):
    """A pipeline to which events happen."""

    def apply(self, event: str, names: tuple[str, ...], arguments: Mapping[str, Any]) -> None:
        """Let an event happen and wait until all is at rest."""

    def state(self) -> State:
        """What can be seen now."""


ENGINES: Final[Mapping[str, Callable[[Plan], Engine]]] = {"domain": CoreEngine}


def run_folder(folder: Path, engine: Callable[[Plan], Engine]) -> Report:
    """Run every scenario of a folder. Raises `FileNotFoundError` when there is none."""
    paths = sorted(folder.glob("*.yml"))
    if not paths:
        raise FileNotFoundError(f"There is no scenario (*.yml) in {folder}.")
    report = Report()
    for path in paths:
        scenario = read(path)
        try:
            plan = plan_of(scenario.config)
        except ConfigInvalid as error:
            report.note(scenario.name, [str(error)])
            continue
        report.note(scenario.name, run(scenario, plan, engine))
    return report


def run(scenario: Scenario, plan: Plan, engine: Callable[[Plan], Engine]) -> list[str]:
    """Every step that did not lead to what the scenario expects; an event that is refused ends the scenario."""
    running = engine(plan)
    faults: list[str] = []
    for number, step in enumerate(scenario.steps):
        try:
            if step.event != CREATED:
                running.apply(step.event, step.jobs, step.arguments)
        except (PerdureError, KeyError, AssertionError) as error:
            return [*faults, f"step {number} ({step}): {error!r}"]
        faults += [f"step {number} ({step}): {text}" for text in step.expected.differences(running.state())]
    return faults
