"""Which keywords there are: those this version reads, and those of GitLab CI that it knows but does not read yet.

Reference: CI YAML, sections 2 and 6. A keyword that is in neither set is an unknown key; nothing is ever ignored.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The keys of one mapping: `read` by this version, `later` by a later one."""

    read: frozenset[str]
    later: frozenset[str] = frozenset()


def not_yet(keyword: str) -> str:
    """The one message for a keyword of GitLab CI that waits for a later version."""
    return f"{keyword} is a keyword of GitLab CI that this version of Perdure does not support yet"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


DEFAULT: Final = Vocabulary(
    read=_words("after_script artifacts before_script image retry tags timeout"),
    later=_words("cache hooks id_tokens identity interruptible services"),
)
"""Keys of `default`."""

TOP: Final = Vocabulary(
    read=_words("after_script before_script default image stages variables"),
    later=_words("cache include services spec workflow"),
)
"""Top-level keys that are not jobs."""

JOB: Final = Vocabulary(
    read=_words(
        "after_script allow_failure artifacts before_script dependencies extends image needs parallel retry script"
        " stage start_in tags timeout variables when"
    ),
    later=_words(
        "cache coverage dast_configuration environment except hooks id_tokens identity inherit inputs interruptible"
        " manual_confirmation only pages publish release resource_group rules run secrets services trigger"
    ),
)
"""Keys of a job."""

ARTIFACTS: Final = Vocabulary(
    read=_words("exclude expire_in name paths reports untracked when"),
    later=_words("access expose_as public"),
)
"""Keys of `artifacts`."""

REPORTS: Final = Vocabulary(
    read=_words(
        "accessibility annotations api_fuzzing browser_performance cluster_image_scanning codequality"
        " container_scanning coverage_fuzzing cyclonedx dast dependency_scanning junit license_scanning"
        " load_performance lsif metrics performance repository_xray requirements requirements_v2 sarif sast"
        " secret_detection terraform"
    ),
    later=_words("coverage_report dotenv"),
)
"""Keys of `artifacts:reports`."""

NEED: Final = Vocabulary(read=_words("artifacts job optional"), later=_words("parallel pipeline project ref"))
"""Keys of an item of `needs`."""

IMAGE: Final = Vocabulary(read=_words("docker entrypoint kubernetes name pull_policy"))
"""Keys of `image`."""

IMAGE_DOCKER: Final = Vocabulary(read=_words("platform user"))
"""Keys of `image:docker` that a runner takes; it fails a job with any other."""

IMAGE_KUBERNETES: Final = Vocabulary(read=_words("user"))
"""Keys of `image:kubernetes` that a runner takes."""

RETRY: Final = Vocabulary(read=_words("exit_codes max when"))
"""Keys of `retry`."""

ALLOW_FAILURE: Final = Vocabulary(read=_words("exit_codes"))
"""Keys of `allow_failure`."""

PARALLEL: Final = Vocabulary(read=_words("matrix"))
"""Keys of `parallel`."""

RETRY_WHEN: Final = _words(
    "always unknown_failure script_failure api_failure stuck_or_timeout_failure runner_system_failure"
    " missing_dependency_failure runner_unsupported stale_schedule job_execution_timeout archived_failure"
    " unmet_prerequisites scheduler_failure data_integrity_failure forward_deployment_failure user_blocked"
    " project_deleted ci_quota_exceeded pipeline_loop_detected no_matching_runner trace_size_exceeded builds_disabled"
    " environment_creation_failure deployment_rejected failed_outdated_deployment_job job_execution_server_timeout"
    " runner_configuration_error runner_external_dependency_failure runner_interrupted protected_environment_failure"
    " insufficient_bridge_permissions downstream_bridge_project_not_found invalid_bridge_trigger"
    " upstream_bridge_project_not_found insufficient_upstream_permissions bridge_pipeline_is_child_pipeline"
    " downstream_pipeline_creation_failed secrets_provider_not_found reached_max_descendant_pipelines_depth"
    " reached_max_pipeline_hierarchy_size"
)
"""Failure reasons that `retry:when` may name (reference: CI YAML, section 11; GitLab accepts all it records)."""

WHEN: Final = ("on_success", "on_failure", "always", "manual", "delayed")
"""Values of a job's `when`, in the order in which messages list them."""

ARTIFACTS_WHEN: Final = ("on_success", "on_failure", "always")
"""Values of `artifacts:when`."""

PULL_POLICIES: Final = ("always", "never", "if-not-present")
"""Values of `image:pull_policy`."""

REFUSED_JOB_NAMES: Final = _words("true false nil pages:deploy")
"""Names that GitLab keeps for itself."""

PAGES_JOB: Final = "pages"
"""A job of this name publishes GitLab Pages, whatever its keys say."""
