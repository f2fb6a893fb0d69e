"""Why a pending job waits: for a runner that nobody has, or for its turn."""

import shlex
from collections.abc import Callable, Mapping
from typing import Any, Final

from domain.pipelines.stuck import Lack, Stuck
from domain.runners.nearest import Nearest
from domain.runners.waits import Waits
from domain.why.explanation import Explanation, Reason, about, counted, exactly, sentence
from domain.why.known import KnownJob, RunnerWait

UNKNOWN: Final = "How long it takes cannot be told: in the last hour too few such jobs waited this long."


def pending(job: KnownJob) -> Explanation:
    """Why a job in the queue has no runner yet."""
    if job.bridge:
        return Explanation(Reason.DOWNSTREAM, "It waits until its downstream pipeline is made.")
    wait = job.runner
    if wait is None:
        return Explanation(Reason.RUNNER, "It waits for a runner.")
    if wait.stuck is not None:
        return _stuck(job, wait, wait.stuck)
    place = wait.place
    position = "" if place is None else f"; it is number {place.position:,} of {place.jobs:,} in the queue"
    next_step = "It starts by itself"
    next_step += "; another runner that fits would start it sooner." if wait.busy >= wait.able else "."
    return Explanation(
        Reason.RUNNER, f"{_there(wait)}{position}. {_expectation(wait.expected)}", _facts(wait), next_step
    )


def _there(wait: RunnerWait) -> str:
    """How many runners could take it."""
    if wait.able == 1:
        return f"The one runner that fits and is there is {'busy' if wait.busy else 'free'}"
    return f"{wait.able:,} runners fit and are there, {wait.busy:,} of them busy"


def _expectation(expected: Waits | None) -> str:
    """What the waits of others let it expect."""
    if expected is None:
        return UNKNOWN
    soon, late = about(expected.p50), about(expected.p95)
    jobs = f"Of {counted(expected.jobs, 'such job')} of the last hour that had waited this long,"
    return f"{jobs} half began within {soon} more, 19 of 20 within {late}."


def _stuck(job: KnownJob, wait: RunnerWait, stuck: Stuck) -> Explanation:
    near = wait.nearest
    nearest = "" if near is None else f" Nearest is {near.runner.name}: it {near.words}."
    limit = f" It fails when no runner could take it for {exactly(job.times.pending_unmatched)}."
    facts = _facts(wait) | {"lack": str(stuck.lack), "missing_tags": list(stuck.tags)}
    facts["nearest_runner"] = None if near is None else _nearest_facts(near)
    return Explanation(Reason.STUCK, f"{stuck.text}{nearest}", facts, f"{_NEXT[stuck.lack](wait)}{limit}")


def _facts(wait: RunnerWait) -> dict[str, Any]:
    place, expected = wait.place, wait.expected
    return {
        "tags": list(wait.tags),
        "runners": {"able": wait.able, "busy": wait.busy},
        "position": None if place is None else place.position,
        "queued_jobs": None if place is None else place.jobs,
        "estimate": None
        if expected is None
        else {"p50": round(expected.p50, 1), "p95": round(expected.p95, 1), "jobs": expected.jobs},
    }


def _nearest_facts(near: Nearest) -> dict[str, Any]:
    return {
        "id": near.runner.id,
        "description": near.runner.description,
        "missing_tags": list(near.missing),
        "similar_tag": near.similar or None,
        "lacks": list(near.lacks),
    }


def _create(wait: RunnerWait, *options: str) -> str:
    tags = [word for tag in wait.tags for word in ("--tag", tag)]
    return f"`{shlex.join(['perdure', 'runner', 'create', *options, *tags])}`"


def _allow(wait: RunnerWait) -> str:
    return f"`{shlex.join(['perdure', 'runner', 'allow', wait.project_path])}`"


def _of_project(wait: RunnerWait) -> str:
    let = "" if wait.instance_runners else "Let instance runners take this project's jobs, or "
    return sentence(f"{let}register one for this project: {_create(wait)}")


def _with_tags(wait: RunnerWait) -> str:
    near = wait.nearest
    if near is not None and near.similar and len(near.missing) == 1:
        return f"Write {near.similar} in the job's `tags` if that is what is meant, or register one: {_create(wait)}."
    return f"Register a runner that has them, {_create(wait)}, or change the job's `tags`."


def _resume(wait: RunnerWait) -> str:
    near = wait.nearest
    if near is None:
        return "Resume one of them."
    start = "; then start it again on its machine" if near.is_silent else ""
    return f"Resume it: `perdure runner resume {near.runner.id}`{start}."


def _start(wait: RunnerWait) -> str:
    near = wait.nearest
    if near is None:
        return "Start one of them."
    return f"Start it again on its machine; `perdure runner show {near.runner.id}` tells when it last called."


_NEXT: Final[Mapping[Lack, Callable[[RunnerWait], str]]] = {
    Lack.RUNNERS: lambda wait: f"{_create(wait)} tells how.",
    Lack.UNARCHIVED: lambda _: "It goes on when an owner unarchives the project.",
    Lack.REACH: _of_project,
    Lack.TAGS: _with_tags,
    Lack.UNTAGGED: lambda wait: f"Give the job `tags`, or register a runner without: {_create(wait)}.",
    Lack.TRUST: lambda wait: f"Protect the ref, or register a runner for all refs: {_create(wait)}.",
    Lack.PERMISSION: lambda wait: f"An administrator allows it: {_allow(wait)}.",
    Lack.RESUMED: _resume,
    Lack.ONLINE: _start,
}
