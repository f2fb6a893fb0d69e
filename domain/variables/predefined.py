"""The variables of a project and a pipeline that exist before any job does: what rules can see, online and offline.

Source: docs/reference/ci-yaml.md, "Predefined variables". What only a job has (`CI_JOB_*`, `CI_PIPELINE_ID`, the
runner) is in `domain.variables.job_variables`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from domain.projects.config_place import config_ref_uri
from domain.variables.predefined_server import fqdn, pages_variables, server_variables

SLUG_LENGTH: Final = 63
"""Longest label of a host name."""
SHORT_SHA: Final = 8
LONG_TITLE: Final = 100
"""A title of so many characters is repeated in the description."""
MERGE_REQUEST_SOURCE: Final = "merge_request_event"
MAX_OPEN_MERGE_REQUESTS: Final = 4
"""How many of them `CI_OPEN_MERGE_REQUESTS` names."""
MAX_DESCRIPTION: Final = 2_700
"""Characters of a merge request's description that are told."""

NOT_IN_INCLUDES: Final = frozenset(
    "CI_PIPELINE_IID CI_PIPELINE_CREATED_AT CI_PIPELINE_TRIGGERED CI_TRIGGER_SHORT_TOKEN CI_CONFIG_REF_URI"
    " GITLAB_USER_EMAIL GITLAB_USER_ID GITLAB_USER_LOGIN GITLAB_USER_NAME".split()
)
"""Variables that `rules` know, and `include` does not: GitLab reads the configuration before it has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRequestFacts:
    """The merge request of a pipeline. `event_type` is `detached`, `merged_result` or `merge_train`.

    `description` is whole or cut, as `description_truncated` says; `diff_id` is 0 where nobody counted.
    `source_project_path` is empty if the source branch is in the target's project, `target_project_id` None if the
    pipeline runs there. `source_sha` and `target_sha` are empty for a detached pipeline. `labels` and `assignees` are
    names.
    """

    iid: int
    id: int
    source_branch: str
    target_branch: str
    title: str = ""
    description: str = ""
    description_truncated: bool = False
    diff_id: int = 0
    event_type: str = "detached"
    diff_base_sha: str = ""
    source_project_id: int | None = None
    source_project_path: str = ""
    source_project_url: str = ""
    target_project_id: int | None = None
    target_project_path: str = ""
    target_project_url: str = ""
    source_sha: str = ""
    target_sha: str = ""
    source_protected: bool = False
    target_protected: bool = True
    labels: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()
    milestone: str = ""
    draft: bool = False
    approved: bool = False
    squash: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalPullRequestFacts:
    """The pull request of another forge that a pipeline is for. Repositories are full names, as `owner/name`."""

    iid: int
    source_repository: str
    source_branch: str
    source_sha: str
    target_repository: str
    target_branch: str
    target_sha: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFacts:
    """What there is to know about the event that makes a pipeline.

    `server_url` has no trailing slash; `project_path` is the full one, with namespace. `ref` is a short name (a
    merge request's source branch), `sha` and `before_sha` are full. Times are aware. `merge_request` is there if
    the source is `merge_request_event`, and in child pipelines of such a one. What is empty or None at its default
    is not known, and not defined. `user_id` is None where nobody is known to have caused the event; the other
    fields of the user do not count then. `trigger_token` holds only the first characters of the token.
    """

    server_url: str
    project_id: int
    project_name: str
    project_path: str
    project_url: str
    default_branch: str
    pipeline_iid: int
    pipeline_source: str
    pipeline_created_at: datetime
    ref: str
    is_tag: bool
    ref_protected: bool
    sha: str
    before_sha: str
    commit_message: str
    commit_author: str
    commit_timestamp: datetime
    user_id: int | None = None
    user_login: str = ""
    user_name: str = ""
    user_email: str = ""
    config_path: str = ".gitlab-ci.yml"
    config_ref: str = ""
    """As `.gitlab-ci.yml@refs/heads/main`; empty for a configuration that is no file of the pipeline's commit."""
    project_visibility: str = ""
    project_description: str = ""
    project_namespace_id: int | None = None
    project_languages: tuple[str, ...] = ()
    registry: str = ""
    """`HOST[:PORT]` of the container registry."""
    pipeline_name: str = ""
    tag_message: str = ""
    schedule_description: str = ""
    trigger_token: str = ""
    upstream_project_id: int | None = None
    upstream_pipeline_id: int | None = None
    upstream_job_id: int | None = None
    commit_user_login: str = ""
    open_merge_requests: tuple[str, ...] = ()
    """As `group/project!7`."""
    merge_request: MergeRequestFacts | None = None
    external_pull_request: ExternalPullRequestFacts | None = None


def pipeline_variables(facts: EventFacts) -> dict[str, str]:
    """Every variable that is defined before there is a job; a name that is not in it is not defined."""
    return {
        "CI": "true",
        "GITLAB_CI": "true",
        **server_variables(facts.server_url),
        **pages_variables(facts.server_url, facts.project_path),
        **_project(facts),
        **_pipeline(facts),
        **_commit(facts),
        **_user(facts),
        **(_merge_request(facts, facts.merge_request) if facts.merge_request else {}),
        **(_external_pull_request(facts.external_pull_request) if facts.external_pull_request else {}),
    }


def include_variables(known: Mapping[str, str]) -> dict[str, str]:
    """Those of rules that `include` and its rules know."""
    return {key: value for key, value in known.items() if key not in NOT_IN_INCLUDES}


def slug(text: str) -> str:
    """Lower case, at most 63 characters of a to z, 0 to 9 and inner `-`: fit for host names and paths."""
    return re.sub(r"[^a-z0-9]", "-", text.lower())[:SLUG_LENGTH].strip("-")


def _project(facts: EventFacts) -> dict[str, str]:
    namespace, _, name = facts.project_path.rpartition("/")
    return {
        "CI_PROJECT_ID": str(facts.project_id),
        "CI_PROJECT_NAME": name,
        "CI_PROJECT_TITLE": facts.project_name,
        "CI_PROJECT_DESCRIPTION": facts.project_description,
        "CI_PROJECT_PATH": facts.project_path,
        "CI_PROJECT_PATH_SLUG": slug(facts.project_path),
        "CI_PROJECT_NAMESPACE": namespace,
        **_known("CI_PROJECT_NAMESPACE_ID", facts.project_namespace_id),
        "CI_PROJECT_NAMESPACE_SLUG": slug(namespace),
        "CI_PROJECT_ROOT_NAMESPACE": namespace.partition("/")[0],
        "CI_PROJECT_URL": facts.project_url,
        **_known("CI_PROJECT_VISIBILITY", facts.project_visibility),
        "CI_PROJECT_REPOSITORY_LANGUAGES": ",".join(facts.project_languages),
        "CI_PROJECT_CLASSIFICATION_LABEL": "",
        **_known("CI_REGISTRY", facts.registry),
        **_known("CI_REGISTRY_IMAGE", facts.registry and f"{facts.registry}/{facts.project_path.lower()}"),
        "CI_DEFAULT_BRANCH": facts.default_branch,
        "CI_CONFIG_PATH": facts.config_path,
    }


def _pipeline(facts: EventFacts) -> dict[str, str]:
    return {
        "CI_PIPELINE_IID": str(facts.pipeline_iid),
        "CI_PIPELINE_SOURCE": facts.pipeline_source,
        "CI_PIPELINE_CREATED_AT": iso(facts.pipeline_created_at),
        **_known("CI_CONFIG_REF_URI", _config_ref_uri(facts)),
        **_known("CI_PIPELINE_NAME", facts.pipeline_name),
        **_known("CI_PIPELINE_SCHEDULE_DESCRIPTION", facts.schedule_description),
        **_known("CI_OPEN_MERGE_REQUESTS", ",".join(facts.open_merge_requests[:MAX_OPEN_MERGE_REQUESTS])),
        **_known("CI_PIPELINE_TRIGGERED", word(True) if facts.pipeline_source == "trigger" else ""),
        **_known("CI_TRIGGER_SHORT_TOKEN", facts.trigger_token),
        **_known("CI_UPSTREAM_PROJECT_ID", facts.upstream_project_id),
        **_known("CI_UPSTREAM_PIPELINE_ID", facts.upstream_pipeline_id),
        **_known("CI_UPSTREAM_JOB_ID", facts.upstream_job_id),
    }


def _config_ref_uri(facts: EventFacts) -> str:
    """Empty for a configuration that is no file of the commit."""
    return facts.config_ref and config_ref_uri(fqdn(facts.server_url), facts.project_path, facts.config_ref)


def _commit(facts: EventFacts) -> dict[str, str]:
    """A tag has no branch, and nor has a merge request's pipeline."""
    title, _, rest = facts.commit_message.partition("\n")
    kind: dict[str, str] = {}
    if facts.is_tag:
        kind = {"CI_COMMIT_TAG": facts.ref, "CI_COMMIT_TAG_MESSAGE": facts.tag_message}
    elif facts.merge_request is None and facts.pipeline_source != MERGE_REQUEST_SOURCE:
        kind = {"CI_COMMIT_BRANCH": facts.ref}
    return {
        "CI_COMMIT_SHA": facts.sha,
        "CI_COMMIT_SHORT_SHA": facts.sha[:SHORT_SHA],
        "CI_COMMIT_BEFORE_SHA": facts.before_sha,
        "CI_COMMIT_REF_NAME": facts.ref,
        "CI_COMMIT_REF_SLUG": slug(facts.ref),
        "CI_COMMIT_REF_PROTECTED": word(facts.ref_protected),
        **kind,
        "CI_COMMIT_MESSAGE": facts.commit_message,
        "CI_COMMIT_TITLE": title,
        "CI_COMMIT_DESCRIPTION": rest.strip("\n") if len(title) < LONG_TITLE else facts.commit_message,
        "CI_COMMIT_AUTHOR": facts.commit_author,
        "CI_COMMIT_TIMESTAMP": iso(facts.commit_timestamp),
        "CI_COMMIT_USER_LOGIN": facts.commit_user_login,
    }


def _user(facts: EventFacts) -> dict[str, str]:
    """Who caused the event."""
    if facts.user_id is None:
        return {}
    return {
        "GITLAB_USER_ID": str(facts.user_id),
        "GITLAB_USER_LOGIN": facts.user_login,
        "GITLAB_USER_NAME": facts.user_name,
        "GITLAB_USER_EMAIL": facts.user_email,
    }


def _merge_request(facts: EventFacts, request: MergeRequestFacts) -> dict[str, str]:
    prefix = "CI_MERGE_REQUEST"
    optional = {
        "ASSIGNEES": ", ".join(request.assignees),
        "LABELS": ",".join(request.labels),
        "MILESTONE": request.milestone,
        "DESCRIPTION": request.description,
        "DIFF_BASE_SHA": request.diff_base_sha,
        "DIFF_ID": str(request.diff_id or ""),
    }
    return {
        f"{prefix}_ID": str(request.id),
        f"{prefix}_IID": str(request.iid),
        f"{prefix}_TITLE": request.title,
        f"{prefix}_DESCRIPTION_IS_TRUNCATED": word(request.description_truncated),
        f"{prefix}_EVENT_TYPE": request.event_type,
        f"{prefix}_REF_PATH": f"refs/merge-requests/{request.iid}/{_head(request)}",
        f"{prefix}_PROJECT_ID": str(request.target_project_id or facts.project_id),
        f"{prefix}_PROJECT_PATH": request.target_project_path or facts.project_path,
        f"{prefix}_PROJECT_URL": request.target_project_url or facts.project_url,
        f"{prefix}_SOURCE_BRANCH_NAME": request.source_branch,
        f"{prefix}_SOURCE_BRANCH_SHA": request.source_sha,
        f"{prefix}_SOURCE_BRANCH_PROTECTED": word(request.source_protected),
        f"{prefix}_SOURCE_PROJECT_ID": str(request.source_project_id or facts.project_id),
        f"{prefix}_SOURCE_PROJECT_PATH": request.source_project_path or facts.project_path,
        f"{prefix}_SOURCE_PROJECT_URL": request.source_project_url or facts.project_url,
        f"{prefix}_TARGET_BRANCH_NAME": request.target_branch,
        f"{prefix}_TARGET_BRANCH_SHA": request.target_sha,
        f"{prefix}_TARGET_BRANCH_PROTECTED": word(request.target_protected),
        f"{prefix}_DRAFT": word(request.draft),
        f"{prefix}_APPROVED": word(request.approved),
        f"{prefix}_SQUASH_ON_MERGE": word(request.squash),
        **{f"{prefix}_{name}": value for name, value in optional.items() if value},
    }


def _external_pull_request(request: ExternalPullRequestFacts) -> dict[str, str]:
    prefix = "CI_EXTERNAL_PULL_REQUEST"
    return {
        f"{prefix}_IID": str(request.iid),
        f"{prefix}_SOURCE_REPOSITORY": request.source_repository,
        f"{prefix}_TARGET_REPOSITORY": request.target_repository,
        f"{prefix}_SOURCE_BRANCH_NAME": request.source_branch,
        f"{prefix}_SOURCE_BRANCH_SHA": request.source_sha,
        f"{prefix}_TARGET_BRANCH_NAME": request.target_branch,
        f"{prefix}_TARGET_BRANCH_SHA": request.target_sha,
    }


def _head(request: MergeRequestFacts) -> str:
    """The last part of the ref that the pipeline runs on: the branch itself, or its trial merge."""
    return {"detached": "head", "merge_train": "train"}.get(request.event_type, "merge")


def _known(name: str, value: str | int | None) -> dict[str, str]:
    """The variable, unless its value is not known."""
    return {name: str(value)} if value else {}


def iso(moment: datetime) -> str:
    """A time as in `CI_PIPELINE_CREATED_AT`: seconds, UTC, with a `Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def word(flag: bool) -> str:
    """`true` or `false`."""
    return "true" if flag else "false"
