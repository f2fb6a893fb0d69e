"""Processing scenarios as `samples/processing/README.md` describes them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

CREATED = "created"
"""Name of the first step, which has no event."""


@dataclass(frozen=True)
class State:
    """What can be seen of a pipeline. In an expectation None means: not looked at."""

    pipeline: str | None = None
    stages: Mapping[str, str] | None = None
    jobs: Mapping[str, str] | None = None

    def differences(self, seen: "State") -> list[str]:
        """Where `seen` is not what this expectation says; the sets of names must be the same."""
        pairs = {
            "pipeline": (self.pipeline, seen.pipeline),
            "stages": (self.stages, seen.stages),
            "jobs": (self.jobs, seen.jobs),
        }
        return [
            fault
            for part, (wanted, found) in pairs.items()
            if wanted is not None
            for fault in _compare(part, wanted, found)
        ]


def _compare(part: str, wanted: Any, found: Any) -> list[str]:
    if not isinstance(wanted, Mapping):
        return [] if wanted == found else [f"{part} is {found}, not {wanted}"]
    names = sorted({*wanted, *found})
    return [
        f"{part}: {name} is {found.get(name, 'not there')}, not {wanted.get(name, 'expected at all')}"
        for name in names
        if wanted.get(name) != found.get(name)
    ]


@dataclass(frozen=True)
class Step:
    """An event on some jobs (or on the pipeline), and what must be seen when all is at rest again."""

    event: str
    jobs: tuple[str, ...]
    arguments: Mapping[str, Any]
    expected: State

    def __str__(self) -> str:
        """The event with its jobs, as reports name it."""
        return f"{self.event} {', '.join(self.jobs)}".strip()


@dataclass(frozen=True)
class Scenario:
    """One file; `config` is the text of its configuration. Its runners stop gracefully if it is `graceful`."""

    name: str
    config: str
    steps: tuple[Step, ...]


def read(path: Path) -> Scenario:
    """Read one scenario file."""
    document = yaml.safe_load(path.read_text())
    first = Step(CREATED, (), {}, State(**document["init"]["expect"]))
    given = {"graceful": True} if document.get("graceful") else {}
    later = [
        Step(item["event"], tuple(item.get("jobs", ())), given | (item.get("args") or {}), State(**item["expect"]))
        for item in document.get("transitions", ())
    ]
    return Scenario(document["name"], yaml.safe_dump(document["config"], sort_keys=False), (first, *later))
