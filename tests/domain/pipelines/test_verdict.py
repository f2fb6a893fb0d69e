"""How attempts end and when another one follows by itself."""

from dataclasses import asdict, replace

import pytest

from domain.config.plan import RetryPolicy
from domain.pipelines.status import Status
from domain.pipelines.verdict import (
    UNKNOWN_FAILURE,
    Verdict,
    allows_failure,
    known_reason,
    public_reason,
    read_verdict,
    retries_itself,
)
from tests.domain.pipelines.graphs import job

TWICE = RetryPolicy(max=2)
BY_REASON = RetryPolicy(max=1, when=("runner_system_failure",))
BY_CODE = RetryPolicy(max=1, exit_codes=(137,))


def failed(reason: str = "script_failure", code: int | None = 1, **values: bool) -> Verdict:
    """A failure of job 1."""
    return Verdict(1, Status.FAILED, 1, reason, code, **values)


@pytest.mark.parametrize(
    ("policy", "attempt", "verdict", "again"),
    [
        (RetryPolicy(), 1, failed(), False),
        (TWICE, 1, failed(), True),
        (TWICE, 2, failed(), True),
        (TWICE, 3, failed(), False),
        (TWICE, 1, Verdict(1, Status.SUCCESS), False),
        (TWICE, 1, Verdict(1, Status.CANCELED), False),
        (TWICE, 1, failed(auto_retry=False), False),
        (BY_REASON, 1, failed("runner_system_failure"), True),
        (BY_REASON, 1, failed("script_failure"), False),
        (RetryPolicy(max=1, when=("always",)), 1, failed("api_failure"), True),
        (RetryPolicy(max=1, when=("stuck_or_timeout_failure",)), 1, failed("runner_lost"), True),
        (RetryPolicy(max=1, when=("no_updates_running",)), 1, failed("runner_lost"), True),
        (RetryPolicy(max=1, when=("stuck_or_timeout_failure",)), 1, failed("stuck_pending_no_matching_runners"), True),
        (RetryPolicy(max=1, when=("stuck_pending_with_matching_runners",)), 1, failed("runner_lost"), False),
        (RetryPolicy(max=1, when=("job_execution_timeout",)), 1, failed("server_timeout_running"), True),
        (RetryPolicy(max=1, when=("server_timeout_running",)), 1, failed("job_execution_timeout"), False),
        (BY_CODE, 1, failed(code=137), True),
        (BY_CODE, 1, failed(code=1), False),
        (BY_CODE, 1, failed(code=None), False),
        (RetryPolicy(max=1, when=("api_failure",), exit_codes=(3,)), 1, failed(code=3), True),
        (TWICE, 1, failed("missing_dependency_failure"), False),
        (RetryPolicy(), 2, failed("scheduler_failure"), True),
        (RetryPolicy(), 3, failed("scheduler_failure"), False),
    ],
)
def test_a_failed_attempt_is_followed_by_another_one(
    policy: RetryPolicy, attempt: int, verdict: Verdict, again: bool
) -> None:
    assert retries_itself(job("one", retry=policy, attempt=attempt), verdict) is again


@pytest.mark.parametrize("reason", ["script_failure", "scheduler_failure"])
def test_a_job_that_was_asked_to_stop_makes_no_further_attempt(reason: str) -> None:
    assert retries_itself(job("one", retry=TWICE), failed(reason))
    assert not retries_itself(job("one", retry=TWICE, auto_retry=False), failed(reason))


@pytest.mark.parametrize(
    ("static", "codes", "code", "allowed"),
    [
        (True, (), 1, True),
        (False, (42, 137), 42, True),
        (False, (42,), 1, False),
        (False, (42,), None, False),
        (False, (), 1, False),
    ],
)
def test_a_failure_is_allowed_always_or_by_its_exit_code(
    static: bool, codes: tuple[int, ...], code: int | None, allowed: bool
) -> None:
    assert allows_failure(static, codes, code) is allowed


def test_reasons_are_known_or_called_unknown() -> None:
    assert known_reason("") == "script_failure"
    assert known_reason("api_failure") == "api_failure"
    assert known_reason("bad_luck") == "unknown_failure"


def test_our_own_reason_has_a_public_name() -> None:
    assert public_reason("runner_lost") == "no_updates_running"
    assert public_reason("script_failure") == "script_failure"


@pytest.mark.parametrize("given", [None, "", "done", "running", 7, [], {}, {"status": None}, {"status": ["success"]}])
def test_what_names_no_end_is_a_failure(given: object) -> None:
    assert read_verdict(7, given) == Verdict(7, Status.FAILED, reason=UNKNOWN_FAILURE)


def test_a_verdict_written_by_hand_may_be_just_a_status() -> None:
    assert read_verdict(7, "success") == read_verdict(7, {"status": "success"}) == Verdict(7, Status.SUCCESS)


def test_a_verdict_comes_back_from_temporal_as_it_was() -> None:
    told = Verdict(7, Status.FAILED, 2, "script_failure", 3, allow_failure=True, auto_retry=False, of_row=True)
    assert read_verdict(7, asdict(told)) == told
    assert read_verdict(7, {**asdict(told), "job_id": 8, "hand_out": "x", "exit_code": None, "more": 1}) == replace(
        told, hand_out=0, exit_code=None
    )
