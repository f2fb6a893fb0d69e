"""What failure reasons mean."""

import pytest

from domain.config.plan import RetryPolicy
from domain.pipelines.status import Status
from domain.pipelines.verdict import KNOWN_REASONS, NO_ENVIRONMENT, OUTDATED, PROTECTED_ENVIRONMENT, UNKNOWN_FAILURE
from domain.why.explain import explained
from domain.why.known import HeldBy
from tests.domain.why.known_jobs import known

UNKNOWN = "It failed, and the runner did not say why."


@pytest.mark.parametrize("reason", sorted(KNOWN_REASONS | {OUTDATED, NO_ENVIRONMENT, PROTECTED_ENVIRONMENT}))
def test_every_reason_has_a_meaning_and_a_next_step(reason: str) -> None:
    found = explained(known(Status.FAILED, failure_reason=reason, timeout=600, held_by=HeldBy("runner #1")))
    assert (found.text == UNKNOWN) == (reason == UNKNOWN_FAILURE)
    assert found.next_step
    assert "{lost}" not in found.text
    assert "{runner}" not in found.text


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"failure_reason": "script_failure", "exit_code": 2}, "Its script failed with exit code 2."),
        ({"failure_reason": "script_failure"}, "Its script failed."),
        ({"failure_reason": "job_execution_timeout", "timeout": 3600}, "It ran longer than its timeout of 60 min."),
        ({"failure_reason": "job_execution_timeout", "timeout": 5}, "It ran longer than its timeout of 5 s."),
        (
            {"failure_reason": "script_failure", "exit_code": 2, "retry": RetryPolicy(1), "attempt": 2},
            "Its script failed with exit code 2; it was attempt 2, the last that its `retry` allows.",
        ),
        (
            {"failure_reason": "script_failure", "retry": RetryPolicy(2, ("api_failure",))},
            "Its script failed; its `retry` is for other failures.",
        ),
        ({"failure_reason": "script_failure", "retry": RetryPolicy(2), "retried": True}, "Its script failed."),
        (
            {"failure_reason": "stuck_or_timeout_failure", "waited": 86400.0},
            "No runner took it in the 24 h that it waited.",
        ),
        (
            {"failure_reason": "stuck_or_timeout_failure", "has_run": True},
            "It was given up: its runner did not say in time what became of it.",
        ),
        (
            {"failure_reason": OUTDATED},
            "A newer deployment of its environment has succeeded.",
        ),
        ({"failure_reason": "what a runner made up"}, UNKNOWN),
    ],
)
def test_what_is_known_of_a_failure_is_in_the_sentence(values: dict[str, object], says: str) -> None:
    assert explained(known(Status.FAILED, **values)).text == says


def test_a_failure_that_is_allowed_is_said_to_be() -> None:
    found = explained(known(Status.FAILED, failure_reason="script_failure", allow_failure=True))
    assert found.text == "Its script failed. It is allowed to fail, so the pipeline goes on."
    assert found.facts["allow_failure"] is True


def test_programs_see_the_reason_as_gitlab_names_it() -> None:
    found = explained(known(Status.FAILED, failure_reason="runner_lost"))
    assert found.facts["failure_reason"] == "no_updates_running"
