"""Lets events happen to the pure core of the product behind rows as SQL would hold them (`tests.stored`)."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from domain.pipelines.status import COMPLETE, Status
from tests.cases.engine import COMMANDS
from tests.compiling import plan_of
from tests.oracle.events import Event
from tests.oracle.seen import Seen, SeenJob, SeenRun
from tests.oracle.world import ROOT
from tests.stored.pipeline import StoredPipeline
from tests.stored.project import StoredProject
from tests.stored.rows import Row


class DomainProject:
    """One project with all its pipelines."""

    def __init__(self, config: Mapping[str, Any], files: Mapping[str, Any], modes: Mapping[str, str]) -> None:
        """Create the first pipeline; `files` are the configurations of the others, `modes` those of the groups."""
        texts = {name: json.dumps(text) for name, text in files.items()}
        self._plans = {name: plan_of(text, files=texts, ref="master") for name, text in texts.items()}
        self._project = StoredProject(self._plans, modes)
        self._pipelines = self._project.pipelines
        self._project.create(ROOT, plan_of(json.dumps(config), files=texts, ref="master"))

    async def begin(self) -> None:
        """Come to rest for the first time."""
        self._rest()

    async def happen(self, events: Sequence[Event]) -> tuple[bool, ...]:
        """Let events of one moment happen, then come to rest; whether each was accepted."""
        accepted: dict[int, bool] = {}
        asked: dict[int, str] = {}
        targets = [self._target(event) for event in events]
        for number, (event, row) in enumerate(zip(events, targets, strict=True)):
            if event.kind == "newer_commit":
                self._project.create_newer(event.run, self._plans[event.run])
                accepted[number] = True
            elif event.kind not in COMMANDS:
                accepted[number] = row is not None and self._fact(self._pipelines[event.run], row, event)
            elif event.run in self._pipelines:
                job_id = None if row is None else row.job.id
                asked[number] = self._project.tables.ask(event.run, COMMANDS[event.kind], job_id)
            else:
                accepted[number] = False
        self._rest()
        for number, key in asked.items():
            event = events[number]
            accepted[number] = event.job == "" or not self._pipelines[event.run].answers[key].refused
        return tuple(accepted[number] for number in range(len(events)))

    async def seen(self) -> Seen:
        """All pipelines, as SQL has them."""
        return {
            key: SeenRun(
                str(stored.status),
                {name: str(status) for name, status in stored.stages.items()},
                {
                    row.job.name: SeenJob(str(row.job.status), row.job.attempt, row.job.allow_failure)
                    for row in stored.current()
                },
            )
            for key, stored in self._pipelines.items()
        }

    async def loose_ends(self) -> list[str]:
        """What may not be left at rest, a sentence each."""
        found = [f"{key}: a bridge has to follow it again and cannot" for key in self._project.tables.follow]
        for key, workflow in self._project.workflows.items():
            stored = self._pipelines[key]
            unfolded = sorted(row.job.name for row in stored.unfolded())
            if workflow.memory is None:
                found += [f"{key}: its workflow is closed, the verdict of {name} is not folded" for name in unfolded]
            elif stored.status in COMPLETE and not any(row.is_open() for row in stored.rows.values()):
                found.append(f"{key}: its workflow is open although it is over")
        return found

    def _target(self, event: Event) -> Row | None:
        stored = self._pipelines.get(event.run)
        if stored is None or not event.job:
            return None
        if event.attempt:
            rows = [
                row for row in stored.rows.values() if (row.job.name, row.job.attempt) == (event.job, event.attempt)
            ]
            return rows[0] if rows else None
        return stored.latest(event.job)

    def _fact(self, stored: StoredPipeline, row: Row, event: Event) -> bool:
        if event.kind == "run":
            return stored.claim(row, graceful=event.graceful)
        if event.kind == "due":
            if row.job.status is Status.SCHEDULED:
                self._project.become_due(stored.key, row)
            return True
        if event.kind == "success":
            return stored.end(row, Status.SUCCESS)
        return stored.end(row, Status.FAILED, event.reason, event.code)

    def _rest(self) -> None:
        self._project.rest()
        self._project.close()
