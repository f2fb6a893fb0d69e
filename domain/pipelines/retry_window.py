"""The retry window: what the workflow of a pipeline that did not succeed says of it, while it waits and when it closes.

Markdown, as the Temporal Web UI shows it; 20,000 bytes are its limit.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from domain.pipelines.pipeline import Job, Pipeline
from domain.pipelines.status import Status

UNSUCCESSFUL: Final = frozenset({Status.FAILED, Status.CANCELED})
"""Pipelines whose workflow stays open for the window. One that was skipped would be skipped again."""

MAX_NAMED: Final = 20
"""A text names so many jobs and counts the rest."""
_MAX_NAME: Final = 120


@dataclass(frozen=True, slots=True)
class _Hint:
    """A command that the pipeline would take now, and for which of its jobs: `whom` is None for the whole pipeline."""

    name: str
    effect: str
    whom: Callable[[Job], bool] | None = None


_HINTS: Final = (
    _Hint("retry_pipeline", "runs every failed or canceled job again"),
    _Hint("retry_job", "runs one job again", lambda job: job.status in {*UNSUCCESSFUL, Status.SUCCESS}),
    _Hint("play_job", "starts a manual job", lambda job: job.status is Status.MANUAL),
)


def what_happened(pipeline: Pipeline) -> str:
    """One sentence: which jobs kept the pipeline from succeeding."""
    named = [job for job in pipeline.jobs if job.status is pipeline.status and _counts(job)]
    return f"Pipeline {pipeline.id} {_ended(pipeline.status)}: {_listed(pipeline, named)}."


def what_may_be_done(pipeline: Pipeline, until: datetime, refused: str = "") -> str:
    """What failed, what may be sent and until when. `refused` says why the last command did nothing."""
    lines = [f"**{what_happened(pipeline)}**", ""]
    if refused:
        lines += [refused, ""]
    lines += [f"Until {until:%Y-%m-%d %H:%M:%S} UTC this workflow takes signals and updates:", ""]
    lines += [f"- `{hint.name}` {hint.effect}{_example(pipeline, hint)}" for hint in _HINTS if _fits(pipeline, hint)]
    start = f'{{"pipeline_id": {pipeline.id}, "do": {{"name": "retry_pipeline"}}}}'
    lines += ["", f"Afterwards start a workflow like this one with the input `{start}`."]
    return "\n".join(lines)


def _ended(status: Status) -> str:
    return "was canceled" if status is Status.CANCELED else "failed"


def _counts(job: Job) -> bool:
    return job.status is Status.CANCELED or not job.allow_failure


def _listed(pipeline: Pipeline, jobs: Iterable[Job]) -> str:
    every = [f"{pipeline.stages[job.stage][:_MAX_NAME]}: {job.name[:_MAX_NAME]} (job {job.id})" for job in jobs]
    more = [f"{len(every) - MAX_NAMED} more"] if len(every) > MAX_NAMED else []
    return ", ".join([*every[:MAX_NAMED], *more]) or "no job is to blame"


def _fits(pipeline: Pipeline, hint: _Hint) -> bool:
    return hint.whom is None or any(hint.whom(job) for job in pipeline.jobs)


def _example(pipeline: Pipeline, hint: _Hint) -> str:
    if hint.whom is None:
        return ", with no input"
    ordered = sorted(pipeline.jobs, key=lambda job: job.status not in UNSUCCESSFUL)
    job = next(job for job in ordered if hint.whom(job))
    return f': `{{"job_id": {job.id}}}` is {job.name[:_MAX_NAME]}'
