"""Plays scenario files (`tests/cases`) through the simulation, so that it is judged before it judges."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.cases.scenario import CREATED, Scenario, State, read
from tests.oracle.events import Event
from tests.oracle.passes import settle
from tests.oracle.plan import plan_of
from tests.oracle.simulation import one_after_the_other
from tests.oracle.world import ROOT, Run, World


def faults_of(path: Path) -> list[str]:
    """Every step of a scenario file at which no world of the simulation is what the file expects."""
    return faults_in(read(path))


def faults_in(scenario: Scenario) -> list[str]:
    """See `faults_of`. A step that nothing fits ends the scenario."""
    world = World()
    world.add(plan_of(yaml.safe_load(scenario.config)))
    worlds = settle(world)
    for number, step in enumerate(scenario.steps):
        if step.event != CREATED:
            events = [Event(step.event, name, **_arguments(step.arguments)) for name in step.jobs or ("",)]
            ends = [end for world in worlds for end in one_after_the_other(world, events)]
            if not any(all(accepted) for _, accepted in ends):
                return [f"step {number} ({step}): refused"]
            worlds = [after for after, accepted in ends if all(accepted)]
        fitting = [one for one in worlds if not step.expected.differences(state_of(one.runs[ROOT]))]
        if not fitting:
            texts = step.expected.differences(state_of(worlds[0].runs[ROOT]))
            return [f"step {number} ({step}): {text}" for text in texts]
        worlds = fitting
    return []


def state_of(run: Run) -> State:
    """What scenario files say of a pipeline."""
    return State(run.status, run.stages, {name: attempt.status for name, attempt in run.jobs.items()})


def all_faults(paths: Sequence[Path]) -> dict[str, list[str]]:
    """The faults of each file that has any."""
    return {path.stem: faults for path in paths if (faults := faults_of(path))}


def _arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    names = {"exit_code": "code", "failure_reason": "reason"}
    return {names.get(name, name): value for name, value in arguments.items()}
