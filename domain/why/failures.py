"""What each failure reason means for people, and what they can do.

Source: docs/reference/runner-protocol.md, "Failure reasons"; GitLab's own sentences for these reasons.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from domain.pipelines.bridges import DOWNSTREAM_FAILED, TEXT_OF
from domain.pipelines.failure_reasons import NO_RUNNER, NO_UPDATES, RUNNERS_BUSY, SERVER_TIMEOUT
from domain.pipelines.verdict import (
    RUNNER_LOST,
    SCRIPT_FAILURE,
    UNKNOWN_FAILURE,
    further_attempts,
    public_reason,
    reason_words,
)
from domain.why.explanation import Explanation, Reason, about, exactly
from domain.why.known import KnownJob

STUCK: Final = frozenset({"stuck_or_timeout_failure", NO_RUNNER, RUNNERS_BUSY, NO_UPDATES})


@dataclass(frozen=True, slots=True)
class _Meaning:
    """A sentence, and a next step."""

    text: str
    next_step: str


_RETRY: Final = "Retry the job."
_OF_TRIGGER: Final = "Correct `trigger`, or let in whoever runs it; then retry."
_LOG: Final = "Read the end of its log, mend what failed and push, or retry the job."
_OF_RUNNER: Final = "Retry the job; if it fails again, look at the runner: its log and the job's say more."

_MEANINGS: Final[Mapping[str, _Meaning]] = {
    "api_failure": _Meaning("The runner could not talk to the server", _RETRY),
    "runner_system_failure": _Meaning("The runner could not prepare or keep up what the job runs in", _OF_RUNNER),
    "runner_unsupported": _Meaning(
        "The runner cannot do what the job asks for", "Update the runner, or give the job to another one by `tags`."
    ),
    "stale_schedule": _Meaning("The job was due too long ago to be started", _RETRY),
    "job_execution_timeout": _Meaning(
        "It ran longer than its timeout of {timeout}",
        "Make it faster or split it, or raise its `timeout`; a runner's own limit may be lower.",
    ),
    SERVER_TIMEOUT: _Meaning(
        "It ran longer than its timeout of {timeout}, and its runner did not end it",
        "Make it faster or split it, or raise its `timeout`; see whether the runner still runs.",
    ),
    "job_token_expired": _Meaning("Its token was no longer good when the runner used it", _RETRY),
    "archived_failure": _Meaning("Its pipeline is too old for its jobs to run", "Run a new pipeline."),
    "unmet_prerequisites": _Meaning("What has to be there before it could not be made ready", _RETRY),
    "scheduler_failure": _Meaning("The server could not hand it out", _RETRY),
    "data_integrity_failure": _Meaning(
        "What is stored of it does not fit together", "Run a new pipeline, and tell an administrator of this job."
    ),
    "missing_dependency_failure": _Meaning(
        "Artifacts that it needs are gone, erased or were never made; its log names them",
        "Run again the jobs that make them, then this one; keep artifacts longer with `artifacts:expire_in`.",
    ),
    "image_pull_failure": _Meaning(
        "The image of the job or of a service could not be pulled",
        "Check the name in `image` and `services`, and that the runner may read that registry; then retry the job.",
    ),
    "runner_configuration_error": _Meaning(
        "The runner cannot run the job as it is configured: a tag of an image that does not exist, a pull policy that "
        "the runner does not allow, or a wrong setting of its own; the end of the log says which",
        "Correct `image` and `pull_policy` of the job and its services, or the runner's config.toml; then retry.",
    ),
    "runner_external_dependency_failure": _Meaning("Something that the runner depends on failed", _OF_RUNNER),
    "runner_interrupted": _Meaning("Its runner was told to stop while it ran", _RETRY),
    "job_canceled": _Meaning("It was canceled while it ran", _RETRY),
    "trace_size_exceeded": _Meaning(
        "Its log grew beyond the limit", "Let it write less, or write into a file that is kept as an artifact."
    ),
    RUNNER_LOST: _Meaning(
        "{runner} fell silent while it ran the job, and was given up after {lost}",
        "Retry the job (`retry: {{max: 1, when: no_updates_running}}` does by itself); see whether the runner "
        "still runs.",
    ),
    UNKNOWN_FAILURE: _Meaning("It failed, and the runner did not say why", _LOG),
    DOWNSTREAM_FAILED: _Meaning(
        "The downstream pipeline failed, and this job takes over how it ends",
        "Open the downstream pipeline and mend or retry what failed there.",
    ),
    **{
        reason: _Meaning(text, "Correct `trigger`, or let in whoever runs it; then retry.")
        for reason, text in TEXT_OF.items()
    },
}
"""By failure reason; what is between braces is put in. `script_failure` and a few more depend on more than that."""


def failed(job: KnownJob) -> Explanation:
    """Why a job failed."""
    meaning = _MEANING_BY.get(job.failure_reason, _by_table)(job)
    further = further_attempts(job.retry, job.failure_reason, job.exit_code)
    allowed = " It is allowed to fail, so the pipeline goes on." if job.allow_failure else ""
    text = f"{meaning.text}{_tries(job, further)}.{allowed}"
    facts = {
        "failure_reason": public_reason(job.failure_reason),
        "exit_code": job.exit_code,
        "allow_failure": job.allow_failure,
        "attempt": job.attempt,
        "attempts": 1 + further,
        "runner": None if job.held_by is None else job.held_by.name,
        "pipeline_id": job.pipeline_id,
    }
    return Explanation(Reason.FAILED, text, facts, meaning.next_step)


def _tries(job: KnownJob, further: int) -> str:
    """What became of its `retry`, for one that was not tried again."""
    if job.retried or not job.retry.max:
        return ""
    if not further:
        return "; its `retry` is for other failures"
    return f"; it was attempt {job.attempt}, the last that its `retry` allows" if job.attempt > further else ""


def _by_table(job: KnownJob) -> _Meaning:
    if words := reason_words(job.failure_reason):
        text, _, rest = words.partition(". ")
        return _Meaning(text.removesuffix("."), rest or _RETRY)
    found = _MEANINGS.get(job.failure_reason, _MEANINGS[UNKNOWN_FAILURE])
    runner = job.held_by.name if job.held_by is not None else "its runner"
    values = {
        "timeout": exactly(job.timeout),
        "lost": exactly(job.times.lost),
        "runner": runner[0].upper() + runner[1:],
    }
    return _Meaning(found.text.format(**values), found.next_step.format(**values))


def _script(job: KnownJob) -> _Meaning:
    code = "" if job.exit_code is None else f" with exit code {job.exit_code}"
    return _Meaning(f"Its script failed{code}", _LOG)


def _stuck(job: KnownJob) -> _Meaning:
    """Given up in the queue, or later: GitLab has one reason for both."""
    if job.has_run:
        return _Meaning("It was given up: its runner did not say in time what became of it", _OF_RUNNER)
    return _Meaning(
        f"No runner took it in the {about(job.waited)} that it waited",
        "See that a runner that fits is there and has time (`perdure runner queue`), then retry the job.",
    )


_MEANING_BY: Final[Mapping[str, Callable[[KnownJob], _Meaning]]] = {
    SCRIPT_FAILURE: _script,
    **dict.fromkeys(STUCK, _stuck),
}
