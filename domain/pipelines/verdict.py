"""How an attempt of a job ended, and what follows from that for the job itself.

Source: docs/reference/pipelines.md, "Automatic retry"; docs/reference/runner-protocol.md, "Failure reasons".
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from domain.config.plan import RetryPolicy
from domain.pipelines.bridges import DOWNSTREAM_FAILED, REFUSALS
from domain.pipelines.failure_reasons import NO_RUNNER, NO_UPDATES, RUNNERS_BUSY, SERVER_TIMEOUT, meant_by
from domain.pipelines.pipeline import Job
from domain.pipelines.status import Status

SCRIPT_FAILURE: Final = "script_failure"
RUNNER_LOST: Final = "runner_lost"
UNKNOWN_FAILURE: Final = "unknown_failure"
OUTDATED: Final = "failed_outdated_deployment_job"
NO_ENVIRONMENT: Final = "environment_creation_failure"
PROTECTED_ENVIRONMENT: Final = "protected_environment_failure"

KNOWN_REASONS: Final = frozenset(
    [
        "script_failure",
        "api_failure",
        "stuck_or_timeout_failure",
        "runner_system_failure",
        "runner_unsupported",
        "stale_schedule",
        "job_execution_timeout",
        "archived_failure",
        "unmet_prerequisites",
        "scheduler_failure",
        "data_integrity_failure",
        "missing_dependency_failure",
        "image_pull_failure",
        "runner_configuration_error",
        "runner_external_dependency_failure",
        "runner_interrupted",
        "job_canceled",
        "job_token_expired",
        "trace_size_exceeded",
        "runner_lost",
        "unknown_failure",
        NO_RUNNER,
        RUNNERS_BUSY,
        NO_UPDATES,
        SERVER_TIMEOUT,
        DOWNSTREAM_FAILED,
        *REFUSALS,
    ]
)

PUBLIC_REASON: Final[Mapping[str, str]] = {
    RUNNER_LOST: NO_UPDATES,
    DOWNSTREAM_FAILED: UNKNOWN_FAILURE,
}
"""What GitLab's API and `retry:when` see instead of a reason of our own."""

_WORDS: Final[Mapping[str, str]] = {
    PROTECTED_ENVIRONMENT: (
        "Its environment is protected, and the job's user may not deploy to it. Somebody who may can run the job "
        "again; whoever administers the project or its group can let more people in."
    ),
    OUTDATED: "A newer deployment of its environment has succeeded. Retry the job to go back on purpose.",
    NO_ENVIRONMENT: "Its environment has no valid name after the variables were put in; change environment:name.",
}

_NEVER_RETRIED: Final = frozenset(
    {"missing_dependency_failure", "no_matching_runner", OUTDATED, NO_ENVIRONMENT, PROTECTED_ENVIRONMENT, *REFUSALS}
)
_RETRIED_TWICE: Final = frozenset({"scheduler_failure"})


@dataclass(frozen=True, slots=True)
class Verdict:
    """The end of one attempt. `allow_failure` is the row's after its exit code was looked at.

    `ran` is false for one that ended while it waited for a runner. `of_row` is true for one that is in SQL already;
    somebody who completes an activity by hand gives one that is not.
    """

    job_id: int
    status: Status
    hand_out: int = 0
    reason: str = ""
    exit_code: int | None = None
    allow_failure: bool = False
    auto_retry: bool = True
    of_row: bool = False
    ran: bool = True


_KINDS: Final[Mapping[str, type]] = {
    **{field.name: type(field.default) for field in fields(Verdict) if field.name not in {"job_id", "status"}},
    "exit_code": int,
}
"""What may come with a status, and of which type it has to be."""
_BY_HAND: Final = (Status.SUCCESS, Status.FAILED, Status.CANCELED)


def read_verdict(job_id: int, given: Any) -> Verdict:
    """A verdict as it comes from Temporal: an object, or just a status, perhaps written by hand.

    What says neither `success` nor `canceled` is a failure: nothing is taken for a success that does not say so.
    """
    told = given if isinstance(given, Mapping) else {"status": given}
    if told.get("status") not in _BY_HAND:
        return Verdict(job_id, Status.FAILED, reason=UNKNOWN_FAILURE)
    values = {name: told[name] for name, kind in _KINDS.items() if type(told.get(name)) is kind}
    return Verdict(job_id, Status(told["status"]), **values)


def known_reason(reason: str) -> str:
    """A failure reason as we store it: whatever a runner invents becomes `unknown_failure`."""
    if not reason:
        return SCRIPT_FAILURE
    return reason if reason in KNOWN_REASONS else UNKNOWN_FAILURE


def public_reason(reason: str) -> str:
    """A failure reason as GitLab's API names it."""
    return PUBLIC_REASON.get(reason, reason)


def reason_words(reason: str) -> str:
    """Why a job failed before it ran, and what to do about it; empty where the reason says all there is to say."""
    return _WORDS.get(reason, "")


def allows_failure(static: bool, exit_codes: tuple[int, ...], exit_code: int | None) -> bool:
    """Whether a failed job counts as a warning: always, or by its exit code."""
    return static or (exit_code is not None and exit_code in exit_codes)


def retries_itself(job: Job, verdict: Verdict) -> bool:
    """Whether a failed attempt is followed by another one without anybody asking."""
    if verdict.status is not Status.FAILED or not (verdict.auto_retry and job.auto_retry):
        return False
    return job.attempt <= further_attempts(job.retry, verdict.reason, verdict.exit_code)


def further_attempts(policy: RetryPolicy, failure_reason: str, exit_code: int | None) -> int:
    """How many more attempts a job gets that fails like this again and again."""
    reason = public_reason(failure_reason)
    if reason in _NEVER_RETRIED:
        return 0
    unconditional = not policy.when and not policy.exit_codes
    wanted = meant_by(policy.when)
    by_reason = "always" in wanted or reason in wanted or failure_reason in wanted
    by_code = exit_code is not None and exit_code in policy.exit_codes
    if policy.max and (unconditional or by_reason or by_code):
        return policy.max
    return 2 if reason in _RETRIED_TWICE else 0
