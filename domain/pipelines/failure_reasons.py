"""Why jobs fail, by the names that GitLab has for it.

Source: docs/reference/runner-protocol.md, "Failure reasons"; GitLab 19.1 (`Enums::Ci::CommitStatus`).
"""

from collections.abc import Iterable, Mapping
from typing import Final

NO_RUNNER: Final = "stuck_pending_no_matching_runners"
RUNNERS_BUSY: Final = "stuck_pending_with_matching_runners"
NO_UPDATES: Final = "no_updates_running"
SERVER_TIMEOUT: Final = "server_timeout_running"

OF_GITLAB: Final = (
    "unknown_failure",
    "script_failure",
    "api_failure",
    "stuck_or_timeout_failure",
    "runner_system_failure",
    "missing_dependency_failure",
    "runner_unsupported",
    "stale_schedule",
    "job_execution_timeout",
    "archived_failure",
    "unmet_prerequisites",
    "scheduler_failure",
    "data_integrity_failure",
    "forward_deployment_failure",
    "user_blocked",
    "project_deleted",
    "ci_quota_exceeded",
    "pipeline_loop_detected",
    "no_matching_runner",
    "trace_size_exceeded",
    "builds_disabled",
    "environment_creation_failure",
    "deployment_rejected",
    "failed_outdated_deployment_job",
    "job_execution_server_timeout",
    RUNNERS_BUSY,
    NO_RUNNER,
    NO_UPDATES,
    "no_updates_canceling",
    SERVER_TIMEOUT,
    "server_timeout_canceling",
    "runner_configuration_error",
    "runner_external_dependency_failure",
    "runner_interrupted",
    "protected_environment_failure",
    "insufficient_bridge_permissions",
    "downstream_bridge_project_not_found",
    "invalid_bridge_trigger",
    "upstream_bridge_project_not_found",
    "insufficient_upstream_permissions",
    "bridge_pipeline_is_child_pipeline",
    "downstream_pipeline_creation_failed",
    "secrets_provider_not_found",
    "reached_max_descendant_pipelines_depth",
    "ip_restriction_failure",
    "reached_max_pipeline_hierarchy_size",
    "reached_downstream_pipeline_trigger_rate_limit",
    "duo_workflow_not_allowed",
    "job_router_failure",
    "job_token_expired",
    "id_token_burned_project_path",
    "downstream_project_trigger_resolved_to_empty",
)
"""Those that GitLab announces to runners, and takes in `retry:when`.

A runner sends another name for what is not announced: `runner_system_failure` for an image that cannot be pulled.
"""

_ALIASES: Final[Mapping[str, tuple[str, ...]]] = {
    "stuck_or_timeout_failure": (RUNNERS_BUSY, NO_RUNNER, NO_UPDATES, "no_updates_canceling"),
    "job_execution_timeout": (SERVER_TIMEOUT, "server_timeout_canceling"),
}
"""Old names, and what took their place: who names an old one means all of them."""


def meant_by(names: Iterable[str]) -> frozenset[str]:
    """All reasons that these names stand for."""
    return frozenset(reason for name in names for reason in (name, *_ALIASES.get(name, ())))
