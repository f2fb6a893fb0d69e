"""Why a job is as it is, whatever its state: the one function that pages, REST and through it the command line show."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from domain.pipelines.status import COMPLETE, Status
from domain.why.explanation import Explanation, Reason, exactly
from domain.why.failures import failed
from domain.why.known import KnownJob
from domain.why.queued import pending
from domain.why.waiting import by_graph, for_slot


def explained(job: KnownJob) -> Explanation:
    """Why this job is as it is, and what to do next."""
    found = _BY_STATUS[job.status](job)
    if job.retried:
        return replace(found, next_step="A later attempt has taken its place.")
    if job.refused and job.status not in COMPLETE:
        return replace(found, next_step=f"You may not run this job: {job.refused}")
    return found


def _running(job: KnownJob) -> Explanation:
    if job.bridge:
        return Explanation(Reason.DOWNSTREAM, "It waits for its downstream pipeline.", next_step=_DOWNSTREAM)
    name = "a runner" if job.held_by is None else job.held_by.name
    facts = {"runner": name}
    if job.held_by is None or not job.held_by.silent:
        return Explanation(Reason.RUNNING, f"{name[0].upper()}{name[1:]} runs it.", facts)
    text = f"{name[0].upper()}{name[1:]} has been silent for more than {exactly(job.times.unresponsive)}."
    step = f"It is given up when that lasts for {exactly(job.times.lost)}, and retried if its `retry` says so."
    return Explanation(Reason.SILENT, text, facts, step)


def _canceling(_job: KnownJob) -> Explanation:
    return Explanation(Reason.CANCELED, "Its runner was asked to stop it, and has not yet.", {}, "It ends by itself.")


def _canceled(job: KnownJob) -> Explanation:
    text = "It was canceled before it ended." if job.has_run else "It was canceled before a runner took it."
    noted = job.pipeline_reason
    facts = {"pipeline_reason": noted or None}
    return Explanation(Reason.CANCELED, f"{text} {noted}".strip(), facts, "Retry it to run it again.")


def _succeeded(_job: KnownJob) -> Explanation:
    return Explanation(Reason.SUCCEEDED, "It has succeeded.")


def _preparing(_job: KnownJob) -> Explanation:
    return Explanation(Reason.PIPELINE, "It is being prepared.", {}, "It goes on by itself.")


_DOWNSTREAM: Final = "Open the downstream pipeline to see what it waits for."
_BY_STATUS: Final[Mapping[Status, Callable[[KnownJob], Explanation]]] = {
    Status.CREATED: by_graph,
    Status.WAITING_FOR_RESOURCE: for_slot,
    Status.PREPARING: _preparing,
    Status.PENDING: pending,
    Status.RUNNING: _running,
    Status.CANCELING: _canceling,
    Status.SUCCESS: _succeeded,
    Status.FAILED: failed,
    Status.CANCELED: _canceled,
    Status.SKIPPED: by_graph,
    Status.MANUAL: by_graph,
    Status.SCHEDULED: by_graph,
}
