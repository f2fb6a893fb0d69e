"""Queries of workflow `Pipeline`, for those who look from Temporal: how the pipeline stands, and why it waits.

For looking only: they show what the workflow knows, while pages and API answer from SQL. Arguments may be left out, so
that the Temporal Web UI can ask without any. Answers stay small however large the pipeline is.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from domain.errors import Invalid
    from domain.pipelines.explanation import explain, find_job, overview, unsettled
    from domain.pipelines.pipeline import Pipeline

MAX_JOBS: Final = 200
"""An answer lists so many jobs and counts the rest."""
ANSWER: Final = 24 * 1024
"""Bytes of all lists in an answer; with what is around them it stays under 32 KiB."""

_NOT_LOADED: Final = "The pipeline is being read from the database; ask again in a moment."
_HOW: Final = 'Write the name or the id of a job: "build" or 42; without one, every job that waits is explained.'


class Queries:
    """What a pipeline workflow tells of itself. `_pipeline` is None until it was loaded."""

    _pipeline: Pipeline | None

    @workflow.query(
        description="How the pipeline stands: its stages, its jobs by status, the open ones. Takes nothing."
    )
    def status(self, *_given: Any) -> dict[str, Any]:
        """Status of pipeline and stages, counts by status, open jobs and waiting rooms."""
        if self._pipeline is None:
            return {"note": _NOT_LOADED}
        seen = overview(self._pipeline)
        opened = ({"id": job.id, "name": job.name, "status": job.status} for job in seen.open)
        stages = ({"name": stage.name, "status": stage.status, "jobs": stage.jobs} for stage in seen.stages)
        answer = {"pipeline": self._pipeline.id, "status": seen.status, "jobs": dict(seen.jobs)}
        answer |= _listed("stages", stages, len(seen.stages), ANSWER // 2)
        answer |= _listed("open", opened, len(seen.open), ANSWER // 2)
        if seen.rooms:
            answer["waiting_rooms"] = {room: seen.rooms[room] for room in sorted(seen.rooms)[: MAX_JOBS // 4]}
        return answer

    @workflow.query(description=f"Why jobs wait or were skipped. {_HOW}")
    def why(self, *given: Any) -> dict[str, Any]:
        """Why one job, or every job that has not ended or was skipped, does not go on."""
        if self._pipeline is None:
            return {"note": _NOT_LOADED}
        wanted = _wanted(given)
        jobs = unsettled(self._pipeline) if wanted is None else (find_job(self._pipeline, wanted),)
        found = explain(self._pipeline, jobs[:MAX_JOBS], workflow.now())
        shown = ({"id": one.id, "name": one.name, "status": one.status, "why": one.text} for one in found)
        return {"pipeline": self._pipeline.id} | _listed("jobs", shown, len(jobs), ANSWER)


def _wanted(given: tuple[Any, ...]) -> str | int | None:
    """The job that was asked for: by name, by id, or by an object as operations take it."""
    wanted = given[0] if given else None
    if isinstance(wanted, Mapping):
        wanted = wanted.get("job_id", wanted.get("name"))
    if wanted is None or wanted == "":
        return None
    if isinstance(wanted, bool) or not isinstance(wanted, str | int):
        raise Invalid(f"{str(wanted)[:80]!r} names no job. {_HOW}")
    return wanted


def _listed(name: str, items: Iterable[Mapping[str, Any]], total: int, room: int) -> dict[str, Any]:
    """A list under its name, cut to so many bytes, and how many are left out."""
    kept: list[Mapping[str, Any]] = []
    for item in items:
        room -= len(json.dumps(item)) + 1
        if room < 0 or len(kept) == MAX_JOBS:
            break
        kept.append(item)
    left = total - len(kept)
    return {name: kept, f"more_{name}": left} if left else {name: kept}
