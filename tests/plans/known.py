"""What may read much of a table that grows all the same, and indices without which no statement of the test does."""

from collections.abc import Mapping
from typing import Final, TypeAlias

Asked: TypeAlias = tuple[str, str]
"""The function that asks, and the table of which it reads much."""

_PAGE: Final = "a page in the order of an index, and at most 10,000 counted"
_PERSON: Final = "a page of what one person made, of which PostgreSQL's planner does not know that it is little"
_ONCE: Final = "once for a project, whose rows PostgreSQL rather finds by a scan beside everybody else"
_OF_ALL: Final = "an administrator asks for figures of the whole installation"
_RETENTION: Final = "a round each ten minutes, beside the loop on SQLite"

ALLOWED: Final[Mapping[Asked, str]] = {
    ("api.v4.accounts.events._page", "contribution"): _PERSON,
    ("api.v4.installation.audit_events._page", "audit_event"): _PAGE,
    ("api.v4.merge_requests.merge_requests.request_page", "merge_request"): _PERSON,
    ("api.v4.runners.jobs.list_runner_jobs", "job"): _PAGE,
    ("artifacts.artifacts.expire", "job"): "PostgreSQL takes what expires for a third of all files",
    ("artifacts.artifacts.expire", "pipeline"): "PostgreSQL takes what expires for a third of all files",
    ("environments.environment_lifecycle.stop_of_branch", "deployment"): "a project's, when a branch is deleted",
    ("environments.reported_deployments.change", "deployment"): "by its id; the planner takes either index",
    ("environments.reported_deployments.remove", "deployment"): "by its id; the planner takes either index",
    **{
        ("installation.dead_rows.remove", table): _RETENTION
        for table in (
            "audit_event contribution incoming_delivery job operation_key pipeline push schedule_tick subscribed_run "
            "unit_test_run"
        ).split()
    },
    ("installation.measurements.look", "job"): "only states that few jobs are in, and so many rows at most",
    ("merge_requests.merge_requests.open_of_branch", "merge_request"): "PostgreSQL's planner takes few for many",
    ("notifications.notices.forget", "message"): _RETENTION,
    ("notifications.notices.forget", "notice"): _RETENTION,
    ("pipelines.bridges.out_of_step", "pipeline"): "PostgreSQL scans few pipelines; of a hundred thousand it does not",
    ("pipelines.job_rows.stuck_canceling", "job"): "few jobs are being canceled",
    ("projects.counts.of_everything", "merge_request"): _OF_ALL,
    ("projects.labels._rename", "merge_request"): "a label is renamed: labels of merge requests are in no index",
    ("projects.labels.open_requests", "merge_request"): "a page of labels: those of merge requests are in no index",
    ("projects.project_facts.artifact_sizes", "artifact"): "sizes of projects are sums, and asked for by name",
    ("projects.project_facts.artifact_sizes", "trace"): "sizes of projects are sums, and asked for by name",
    **{
        ("projects.project_removal.remove", table): _ONCE
        for table in (
            "incoming_delivery merge_request_approval merge_request_note merge_request_version message "
            "rendered_release rendered_request rendered_note subscribed_run"
        ).split()
    },
    ("queue.recent_waits._read", "job"): "what was taken within the hour, and so many rows at most",
    ("queue.tag_sets.pipelines_since", "pipeline"): "what was made in the days that are asked for",
    ("runners.runners.remove", "job"): "a runner is removed: each job that it ran forgets it",
}
_ALIKE: Final = "another index begins alike, and finds as few; this one gives the order too, or holds all that is asked"
_OTHERS: Final = "asked for by what the test does not play: other pods, tries that failed, moves, what is too old"

UNUSED: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        (
            "audit_event_of_entity contribution_of_author merge_request_by_author merge_request_by_target "
            "merge_request_by_source pipeline_of_project pipeline_of_project_by_time pipeline_of_ref train_of_branch "
            "train_car_of_project job_of_pipeline job_of_pipeline_by_status job_of_project_by_end job_by_status "
            "job_with_coverage deployment_of_project ix_artifact_job_id ix_job_stage_id merge_request_note_of_request "
            "merge_request_note_of_discussion merge_request_note_to_resolve unit_test_failure"
        ).split(),
        _ALIKE,
    ),
    **dict.fromkeys(
        (
            "commit_report_due commit_status_latest contribution_by_age hook_event_by_age ix_message_account_id "
            "ix_cross_pod_upstream_told_status ix_schedule_tick_pipeline_id job_open_bridge merge_request_locked "
            "merge_request_that_waits message_due notice_by_age notice_due hook_delivery_due open_tick "
            "incoming_delivery_open subscribed_run_open artifact_by_expiry"
        ).split(),
        _OTHERS,
    ),
    "ix_pipeline_status": "no statement is known that needs it",
}
