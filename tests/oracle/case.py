"""One trial: configurations, and what happens in which moment; written as a scenario of `tests/cases` where it fits."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from tests.oracle.events import Event
from tests.oracle.plan import plan_of
from tests.oracle.world import ROOT, World


@dataclass(frozen=True)
class Case:
    """`files` are the configurations of children and of later pipelines, `modes` those of resource groups."""

    config: Mapping[str, Any]
    moments: tuple[tuple[Event, ...], ...] = ()
    files: Mapping[str, Any] = field(default_factory=dict)
    modes: Mapping[str, str] = field(default_factory=dict)
    seed: str = ""

    def world(self) -> World:
        """The world of the simulation before anything was decided."""
        world = World({name: plan_of(config) for name, config in self.files.items()}, self.modes)
        world.add(plan_of(self.config))
        return world


_NAMES: Final = re.compile(r"\b[a-h][12]?\b( \d/\d)?|\b(root|later|one|two|three|four)\b[^:,; ]*|\d+")


@dataclass(frozen=True)
class Fault:
    """Where the product was not what any world of the simulation is: after so many moments, and how."""

    case: Case
    moment: int
    texts: tuple[str, ...]
    wanted: Mapping[str, Any]

    def kind(self) -> str:
        """What is wrong without the names: faults of one kind are of one cause as a rule."""
        return _NAMES.sub("...", self.texts[0])

    def __str__(self) -> str:
        """The case up to there, as a scenario file; what the product did instead as its note."""
        told = [_told(events) for events in self.case.moments[: self.moment]]
        document: dict[str, Any] = {
            "name": f"seed-{self.case.seed}",
            "note": "; ".join(self.texts),
            "source": [f"tests.oracle, seed {self.case.seed}"],
            "config": self.case.config,
        }
        document |= {name: value for name, value in (("files", self.case.files), ("modes", self.case.modes)) if value}
        last = {"expect": self.wanted}
        document["init"] = last if not told else {"expect": {}}
        document["transitions"] = [step for steps in told for step in steps]
        if told:
            document["transitions"][-1] = {**document["transitions"][-1], **last}
        return str(yaml.dump(document, sort_keys=False, width=120, Dumper=_Plain))


class _Plain(yaml.SafeDumper):
    """Repeats what occurs twice."""

    def ignore_aliases(self, _data: Any) -> bool:
        """Whether something is written out wherever it occurs."""
        return True


def _told(events: Sequence[Event]) -> list[dict[str, Any]]:
    """The steps of a moment; all but the last of several say that the next one belongs to the same moment."""
    steps = []
    for number, event in enumerate(events):
        step: dict[str, Any] = {"event": event.kind}
        if event.job:
            step["jobs"] = [event.job]
        if event.run != ROOT:
            step["pipeline"] = event.run
        if arguments := _arguments(event):
            step["args"] = arguments
        if number < len(events) - 1:
            step["at_the_same_moment"] = True
        steps.append({**step, "expect": {}})
    return steps


def _arguments(event: Event) -> dict[str, Any]:
    given: dict[str, Any] = {}
    if event.code is not None:
        given["exit_code"] = event.code
    if event.kind == "drop" and event.reason != "script_failure":
        given["failure_reason"] = event.reason
    if event.graceful:
        given["graceful"] = True
    if event.attempt:
        given["attempt"] = event.attempt
    return given
