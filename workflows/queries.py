"""Queries of workflow `Pipeline`, for those who look from Temporal: how the pipeline stands, and why it waits.

For looking only. `status` shows what the workflow knows; `why` asks the database through the worker, as pages and API
do, and says what the workflow knows where that does not answer. Arguments may be left out, so that the Temporal Web UI
can ask without any. Answers stay small however large the pipeline is.
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

EXPLAIN: Final = "explain_jobs"
"""The function of the worker that reads why jobs are as they are; only queries may call it."""

_NOT_LOADED: Final = "The pipeline is being read from the database; ask again in a moment."
_HOW: Final = (
    'Write the name or the id of a job: "build" or 42; without one, every job that has not passed is explained.'
)
_UNREAD: Final = "The database did not answer: this is what the workflow knows, and it knows nothing of runners."


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

    @workflow.query(description=f"Why jobs wait, failed or were skipped. {_HOW}")
    def why(self, *given: Any) -> dict[str, Any]:
        """Why one job, or every job that has not passed, is as it is, and what to do next."""
        if self._pipeline is None:
            return {"note": _NOT_LOADED}
        wanted = _wanted(given)
        jobs = unsettled(self._pipeline) if wanted is None else (find_job(self._pipeline, wanted),)
        found = explain(self._pipeline, jobs[:MAX_JOBS], workflow.now())
        read = _read(self._pipeline.id, [one.id for one in found if one.id is not None])
        shown = (
            {"id": one.id, "name": one.name, "status": one.status, "why": one.text, **read.get(one.id, {})}
            for one in found
        )
        note = {} if read or not found else {"note": _UNREAD}
        return {"pipeline": self._pipeline.id} | note | _listed("jobs", shown, len(jobs), ANSWER)


def _read(pipeline_id: int, job_ids: list[int]) -> Mapping[int | None, dict[str, str]]:
    """What the database says of these jobs, by id; nothing where the worker has nobody to ask."""
    ask = workflow.extern_functions().get(EXPLAIN)
    return {} if ask is None else ask(pipeline_id, job_ids)


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
