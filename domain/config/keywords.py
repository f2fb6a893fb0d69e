"""Which keywords there are. Source: docs/reference/ci-yaml.md, "Global keywords", "Job keywords".

A keyword that is in no set is an unknown key; nothing is ever ignored.
"""

from typing import Final, TypeAlias

from domain.pipelines.failure_reasons import OF_GITLAB

Vocabulary: TypeAlias = frozenset[str]
"""The keys of one mapping."""


def _words(text: str) -> Vocabulary:
    return frozenset(text.split())


DEFAULT: Final = _words(
    "after_script artifacts before_script cache hooks id_tokens identity image interruptible retry services tags"
    " timeout"
)
"""Keys of `default`."""

TOP: Final = _words("after_script before_script cache default image include services spec stages variables workflow")
"""Top-level keys that are not jobs."""

OLD_DEFAULT: Final = _words("after_script before_script cache image services")
"""Keys of `default` in their deprecated form, at the top."""

COMMON: Final = _words(
    "allow_failure dast_configuration environment except extends identity inherit interruptible needs only"
    " resource_group rules secrets stage variables when"
)
"""Keys of every job."""

JOB: Final = COMMON | _words(
    "after_script artifacts before_script cache coverage dependencies hooks id_tokens image inputs manual_confirmation"
    " pages parallel publish release retry run script services start_in tags timeout"
)
"""Keys of a job that runs commands."""

BRIDGE: Final = COMMON | _words("parallel trigger")
"""Keys of a job that triggers a pipeline."""

WORKFLOW: Final = _words("auto_cancel name rules")
"""Keys of `workflow`."""

WORKFLOW_RULE: Final = _words("allow_failure auto_cancel changes exists if needs variables when")
"""Keys of an item of `workflow:rules`; there is no job to which two of them could say anything."""

AUTO_CANCEL: Final = _words("on_job_failure on_new_commit")
"""Keys of `workflow:auto_cancel`."""

RULE: Final = _words("allow_failure changes exists if interruptible needs start_in variables when")
"""Keys of an item of a job's `rules`."""

INCLUDE_RULE: Final = _words("changes exists if when")
"""Keys of an item of `include:rules`."""

RULE_CHANGES: Final = _words("compare_to paths")
"""Keys of `rules:changes`."""

RULE_EXISTS: Final = _words("paths project ref")
"""Keys of `rules:exists`."""

FILTER: Final = _words("changes kubernetes refs variables")
"""Keys of `only` and `except`."""

ARTIFACTS: Final = _words("access exclude expire_in expose_as name paths public reports untracked when")
"""Keys of `artifacts`."""

REPORTS: Final = _words(
    "accessibility annotations api_fuzzing browser_performance cluster_image_scanning codequality container_scanning"
    " coverage_fuzzing coverage_report cyclonedx dast dependency_scanning dotenv junit license_scanning"
    " load_performance lsif metrics performance repository_xray requirements requirements_v2 sarif sast"
    " secret_detection terraform"
)
"""Keys of `artifacts:reports`."""

NEED: Final = _words("artifacts job optional parallel pipeline project ref")
"""Keys of an item of `needs`."""

IMAGE: Final = _words("docker entrypoint kubernetes name pull_policy")
"""Keys of `image`."""

SERVICE: Final = IMAGE | _words("alias command variables")
"""Keys of an item of `services`."""

IMAGE_DOCKER: Final = _words("platform user")
"""Keys of `image:docker` that a runner takes; it fails a job with any other."""

IMAGE_KUBERNETES: Final = _words("user")
"""Keys of `image:kubernetes` that a runner takes."""

CACHE: Final = _words("fallback_keys key paths policy unprotect untracked when")
"""Keys of `cache`."""

CACHE_KEY: Final = _words("files files_commits prefix")
"""Keys of `cache:key`."""

ENVIRONMENT: Final = _words("action auto_stop_in deployment_tier kubernetes name on_stop url")
"""Keys of `environment`."""

RETRY: Final = _words("exit_codes max when")
"""Keys of `retry`."""

ALLOW_FAILURE: Final = _words("exit_codes")
"""Keys of `allow_failure`."""

PARALLEL: Final = _words("matrix")
"""Keys of `parallel`."""

INHERIT: Final = _words("default variables")
"""Keys of `inherit`."""

TRIGGER: Final = _words("branch forward include inputs project strategy")
"""Keys of `trigger`."""

FORWARD: Final = _words("pipeline_variables yaml_variables")
"""Keys of `trigger:forward`."""

RELEASE: Final = _words("assets description milestones name ref released_at tag_message tag_name")
"""Keys of `release`."""

PAGES: Final = _words("expire_in path_prefix publish")
"""Keys of `pages`."""

HOOKS: Final = _words("pre_get_sources_script")
"""Keys of `hooks`."""

ID_TOKEN: Final = _words("aud")
"""Keys of an item of `id_tokens`."""

RETRY_WHEN: Final = frozenset({"always", *OF_GITLAB})
"""Failure reasons that `retry:when` may name.

Source: docs/reference/pipelines.md, "Automatic retry"; GitLab accepts all it records.
"""

WHEN: Final = ("on_success", "on_failure", "always", "manual", "delayed")
"""Values of a job's `when`, in the order in which messages list them."""

ARTIFACTS_WHEN: Final = ("on_success", "on_failure", "always")
"""Values of `artifacts:when`."""

PULL_POLICIES: Final = ("always", "never", "if-not-present")
"""Values of `image:pull_policy`."""

REFUSED_JOB_NAMES: Final = _words("true false nil")
"""Names that GitLab keeps for itself."""

PAGES_JOB: Final = "pages"
"""A job of this name publishes a site unless it says `pages: false`."""
