"""The names of failure reasons: those of GitLab, and what took the place of old ones."""

from domain.pipelines.failure_reasons import OF_GITLAB, meant_by
from domain.pipelines.verdict import KNOWN_REASONS, public_reason


def test_runners_are_told_no_reason_of_our_own() -> None:
    assert {"image_pull_failure", "job_canceled", "runner_lost"}.isdisjoint(OF_GITLAB)
    assert len(set(OF_GITLAB)) == len(OF_GITLAB) == 52


def test_an_old_name_means_what_took_its_place() -> None:
    assert meant_by(["stuck_or_timeout_failure"]) > {"stuck_pending_no_matching_runners", "no_updates_running"}
    assert meant_by(["server_timeout_running"]) == {"server_timeout_running"}
    assert all(
        reason in OF_GITLAB
        for old in ("stuck_or_timeout_failure", "job_execution_timeout")
        for reason in meant_by([old])
    )


def test_clients_see_names_of_gitlab_or_what_a_runner_was_once_told() -> None:
    shown = {public_reason(reason) for reason in KNOWN_REASONS}
    assert shown - set(OF_GITLAB) <= {"image_pull_failure", "job_canceled"}
