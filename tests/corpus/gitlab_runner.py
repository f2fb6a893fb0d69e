"""The configuration of GitLab Runner 17.8 for four events.

`python -m tests.corpus.gitlab_runner` writes the plans anew. Look through what changed by hand before you commit it.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from domain.config.compile import compile_config
from domain.config.plan import Plan
from domain.config.rounds import in_rounds
from domain.config.sources import (
    Absent,
    Answer,
    ChangedPaths,
    ComponentFile,
    Fetched,
    LocalFile,
    Origin,
    Paths,
    Request,
    TemplateFile,
    Tree,
)
from includes import templates
from includes.components import ComponentAddress, read_address
from tests.compiling import context_of

HERE: Final = Path(__file__).parent
GOLDEN: Final = HERE / "golden"
PROJECTS: Final = HERE / "projects"
"""Other projects that it includes from."""
PROJECT: Final = "gitlab-org/gitlab-runner"

EVENTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "push-to-main": {"source": "push", "ref": "main"},
    "merge-request": {"source": "merge_request_event", "ref": "mend-docs"},
    "tag": {"source": "push", "ref": "v17.8.1", "kind": "tag"},
    "schedule": {"source": "schedule", "ref": "main"},
}

CHANGED: Final[Mapping[str, tuple[str, ...]]] = {
    "push-to-main": ("commands/run.go", "docs/index.md"),
    "merge-request": ("docs/index.md", "commands/run.go"),
}
"""Paths that an event changed; of the others no change is known."""


def corpus() -> Path | None:
    """The folder of the configuration, None if there is no corpus."""
    folder = Path(os.environ.get("PERDURE_CORPUS", "")) / "gitlab-runner"
    return folder if os.environ.get("PERDURE_CORPUS") and folder.is_dir() else None


def plan_for(event: str, folder: Path) -> Plan:
    """The plan of the configuration for an event."""
    context = context_of(**EVENTS[event], project=PROJECT, server="https://gitlab.com")
    text = (folder / ".gitlab-ci.yml").read_text()
    return in_rounds(
        lambda known: compile_config(text, context, known), lambda request: _answer(request, folder, CHANGED.get(event))
    )


def _answer(request: Request, folder: Path, changed: tuple[str, ...] | None) -> Answer:
    match request:
        case LocalFile(path=path) if (folder / path).is_file():
            return Fetched((folder / path).read_text())
        case Tree(project=""):
            return Paths(tuple(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()))
        case ChangedPaths():
            return Paths(changed or (), known=changed is not None)
        case TemplateFile(name=name) if (text := templates.load(name)) is not None:
            return Fetched(text, Origin(detached=True))
        case ComponentFile(address=text):
            address = read_address(text)
            found = next(PROJECTS / address.project / path for path in address.paths if _is_there(address, path))
            return Fetched(found.read_text(), Origin(address.project, "0" * 40), name=address.name)
        case _:
            return Absent()


def _is_there(address: ComponentAddress, path: str) -> bool:
    return (PROJECTS / address.project / path).is_file()


def summary(plan: Plan) -> dict[str, Any]:
    """What a golden plan holds."""
    return {
        "stages": list(plan.stages),
        "jobs": [
            {
                "name": job.name,
                "stage": job.stage,
                "when": str(job.when),
                "needs": None if job.needs is None else [need.job for need in job.needs],
                "why": job.why.clause,
            }
            for job in plan.jobs
        ],
        "absent": {job.name: job.why.clause for job in plan.absent},
    }


def golden(event: str) -> Path:
    """The file of an event's plan."""
    return GOLDEN / f"gitlab-runner-{event}.json"


if __name__ == "__main__":
    there = corpus()
    if there is None:
        raise SystemExit("Set PERDURE_CORPUS to the folder that holds gitlab-runner/.")
    for name in EVENTS:
        golden(name).write_text(json.dumps(summary(plan_for(name, there)), indent=1) + "\n")
