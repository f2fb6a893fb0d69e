"""Projects as GitLab's JSON."""

from typing import NotRequired

from typing_extensions import TypedDict

from api.v4.representation.groups import NamespaceResponse, namespace
from api.v4.representation.people import PersonResponse, person
from auth.permissions import MAINTAINER
from domain.moments import moment
from domain.projects.ssh_address import ssh_address
from models.repositories.projects.project_facts import ProjectFacts
from models.rows.projects import ProjectRow
from models.rows.sharing import ProjectShareRow


class PendingRemovalResponse(TypedDict):
    """That a project or group will be removed."""

    message: str


class SharedWithResponse(TypedDict):
    """A group that a project is shared with."""

    group_id: int
    group_name: str
    group_full_path: str
    group_access_level: int
    expires_at: str | None


class ShareResponse(TypedDict):
    """That a project is shared with a group."""

    id: int
    project_id: int
    group_id: int
    group_access: int
    expires_at: str | None


class OriginResponse(TypedDict):
    """What a project has been forked from."""

    id: int
    description: str | None
    name: str
    path: str
    path_with_namespace: str
    created_at: str
    default_branch: str
    http_url_to_repo: str
    web_url: str
    visibility: str


class StatisticsResponse(TypedDict):
    """What a project takes, in bytes but for its commits."""

    commit_count: int
    storage_size: int
    repository_size: int
    wiki_size: int
    lfs_objects_size: int
    job_artifacts_size: int
    pipeline_artifacts_size: int
    packages_size: int
    snippets_size: int
    uploads_size: int
    container_registry_size: int


class ProjectAccessResponse(TypedDict):
    """What the caller is in a project."""

    access_level: int
    notification_level: int


class PermissionsResponse(TypedDict):
    """What the caller is in a project, where that is known, and in its group."""

    project_access: ProjectAccessResponse | None
    group_access: None


class ProjectLinksResponse(TypedDict):
    """Where more of a project is."""

    self: str
    members: str


class _BasicsPart(TypedDict):
    """What it is called, where it is, and whose."""

    id: int
    description: str | None
    name: str
    name_with_namespace: str
    path: str
    path_with_namespace: str
    created_at: str
    default_branch: str
    tag_list: list[str]
    topics: list[str]
    ssh_url_to_repo: str
    http_url_to_repo: str
    web_url: str
    readme_url: None
    avatar_url: None
    forks_count: int
    star_count: int
    last_activity_at: str
    namespace: NamespaceResponse
    visibility: str
    archived: bool
    creator_id: int


class _OwnerPart(TypedDict, total=False):
    """Whose it is, if it is in a person's own namespace."""

    owner: PersonResponse


class _JobsPart(TypedDict):
    """Who is let in by a share, and how its jobs run."""

    shared_with_groups: list[SharedWithResponse]
    jobs_enabled: bool
    builds_access_level: str
    shared_runners_enabled: bool
    group_runners_enabled: bool
    build_timeout: int
    ci_config_path: str
    auto_devops_enabled: bool | None


class _MergingPart(TypedDict):
    """How merge requests are tested and merged."""

    issues_enabled: bool
    merge_requests_enabled: bool
    merge_requests_access_level: str
    merge_method: str
    squash_option: str
    only_allow_merge_if_pipeline_succeeds: bool
    allow_merge_on_skipped_pipeline: bool
    only_allow_merge_if_all_discussions_are_resolved: bool
    remove_source_branch_after_merge: bool
    merge_pipelines_enabled: bool
    merge_trains_enabled: bool
    approvals_before_merge: int


class _OriginPart(TypedDict, total=False):
    """What it has been forked from, if the caller may know of that."""

    forked_from_project: OriginResponse


class _SettingsPart(TypedDict, total=False):
    """What only those see who may change it."""

    ci_forward_deployment_enabled: bool
    auto_cancel_pending_pipelines: str
    keep_latest_artifact: bool
    max_artifacts_size: int | None
    ci_delete_pipelines_in_seconds: int | None
    ci_default_git_depth: int | None
    may_run_as_server: bool
    build_git_strategy: str
    runners_token: None


class _StatisticsPart(TypedDict, total=False):
    """What it takes, if that was asked for."""

    statistics: StatisticsResponse


class ProjectResponse(_BasicsPart, _OwnerPart, _JobsPart, _MergingPart, _OriginPart, _SettingsPart):
    """A project, in parts in the order in which they are shown.

    `owner` is there in a person's own namespace, `forked_from_project` where the caller may know of it, the settings
    for whoever may change them, `statistics` where they are asked for by somebody who may measure the project.
    """

    permissions: PermissionsResponse
    _links: ProjectLinksResponse
    empty_repo: bool
    statistics: NotRequired[StatisticsResponse]


def project(
    row: ProjectRow,
    facts: ProjectFacts,
    url: str,
    level: int | None = None,
    *,
    is_empty: bool,
    statistics: StatisticsResponse | None = None,
) -> ProjectResponse:
    """A project; `level` is the caller's where it is known, `is_empty` is whether its repository is."""
    measured: _StatisticsPart = {} if statistics is None else {"statistics": statistics}
    return {
        **_basics(row, facts, url),
        **_owner(facts, url),
        **_jobs(row, facts),
        **_merging(row),
        **_forked_from(facts, url),
        **_settings(row, level),
        "permissions": {
            "project_access": None if not level else {"access_level": level, "notification_level": 3},
            "group_access": None,
        },
        "_links": {
            "self": f"{url}/api/v4/projects/{row.id}",
            "members": f"{url}/api/v4/projects/{row.id}/members",
        },
        "empty_repo": is_empty,
        **measured,
    }


def _basics(row: ProjectRow, facts: ProjectFacts, url: str) -> _BasicsPart:
    """What it is called and where it is."""
    address = f"{url}/{row.full_path}"
    return {
        "id": row.id,
        "description": row.description or None,
        "name": row.name,
        "name_with_namespace": f"{facts.namespace.full_path.replace('/', ' / ')} / {row.name}",
        "path": row.path,
        "path_with_namespace": row.full_path,
        "created_at": moment(row.created_at),
        "default_branch": row.default_branch,
        "tag_list": [],
        "topics": [],
        "ssh_url_to_repo": ssh_address(url, row.full_path),
        "http_url_to_repo": f"{address}.git",
        "web_url": address,
        "readme_url": None,
        "avatar_url": None,
        "forks_count": facts.forks,
        "star_count": facts.stars,
        "last_activity_at": moment(row.created_at),
        "namespace": namespace(facts.namespace, url),
        "visibility": row.visibility,
        "archived": row.archived,
        "creator_id": row.creator_id,
    }


def _owner(facts: ProjectFacts, url: str) -> _OwnerPart:
    """Whose it is, if it is in a person's own namespace."""
    return {} if facts.owner is None else {"owner": person(facts.owner, url)}


def _jobs(row: ProjectRow, facts: ProjectFacts) -> _JobsPart:
    """Who is let in by a share, and how its jobs run."""
    return {
        "shared_with_groups": [
            {
                "group_id": group.id,
                "group_name": group.name,
                "group_full_path": group.full_path,
                "group_access_level": group.access_level,
                "expires_at": None if group.expires_on is None else group.expires_on.isoformat(),
            }
            for group in facts.shared
        ],
        "jobs_enabled": True,
        "builds_access_level": "enabled",
        "shared_runners_enabled": row.shared_runners_enabled,
        "group_runners_enabled": row.group_runners_enabled,
        "build_timeout": row.timeout,
        "ci_config_path": row.config_path,
        "auto_devops_enabled": row.auto_devops_enabled,
    }


def _merging(row: ProjectRow) -> _MergingPart:
    """How merge requests are tested and merged."""
    return {
        "issues_enabled": False,
        "merge_requests_enabled": True,
        "merge_requests_access_level": "enabled",
        "merge_method": row.merge_method,
        "squash_option": row.squash_option,
        "only_allow_merge_if_pipeline_succeeds": row.only_merge_if_pipeline_succeeds,
        "allow_merge_on_skipped_pipeline": row.allow_merge_on_skipped_pipeline,
        "only_allow_merge_if_all_discussions_are_resolved": row.only_merge_if_resolved,
        "remove_source_branch_after_merge": row.remove_source_branch_after_merge,
        "merge_pipelines_enabled": row.merge_pipelines_enabled,
        "merge_trains_enabled": row.merge_trains_enabled,
        "approvals_before_merge": row.approvals_required,
    }


def _forked_from(facts: ProjectFacts, url: str) -> _OriginPart:
    """What it has been forked from, if the caller may know of that."""
    return {} if facts.origin is None else {"forked_from_project": _origin(facts.origin, url)}


def _origin(row: ProjectRow, url: str) -> OriginResponse:
    address = f"{url}/{row.full_path}"
    return {
        "id": row.id,
        "description": row.description or None,
        "name": row.name,
        "path": row.path,
        "path_with_namespace": row.full_path,
        "created_at": moment(row.created_at),
        "default_branch": row.default_branch,
        "http_url_to_repo": f"{address}.git",
        "web_url": address,
        "visibility": row.visibility,
    }


def share(row: ProjectShareRow) -> ShareResponse:
    """That a project is shared with a group."""
    return {
        "id": row.id,
        "project_id": row.project_id,
        "group_id": row.namespace_id,
        "group_access": row.access_level,
        "expires_at": None if row.expires_on is None else row.expires_on.isoformat(),
    }


def statistics(commits: int, repository: int, artifacts: int) -> StatisticsResponse:
    """What a project takes, in bytes; what there is none of here takes nothing."""
    return {
        "commit_count": commits,
        "storage_size": repository + artifacts,
        "repository_size": repository,
        "wiki_size": 0,
        "lfs_objects_size": 0,
        "job_artifacts_size": artifacts,
        "pipeline_artifacts_size": 0,
        "packages_size": 0,
        "snippets_size": 0,
        "uploads_size": 0,
        "container_registry_size": 0,
    }


def _settings(row: ProjectRow, level: int | None) -> _SettingsPart:
    """What only those see who may change it."""
    if level is None or level < MAINTAINER:
        return {}
    return {
        "ci_forward_deployment_enabled": row.forward_deployment,
        "auto_cancel_pending_pipelines": "enabled" if row.auto_cancel_redundant else "disabled",
        "keep_latest_artifact": row.keep_latest_artifacts,
        "max_artifacts_size": row.max_artifacts_size,
        "ci_delete_pipelines_in_seconds": row.ci_delete_pipelines_in_seconds or None,
        "ci_default_git_depth": row.git_depth,
        "may_run_as_server": row.may_run_as_server,
        "build_git_strategy": "fetch" if row.git_fetch else "clone",
        "runners_token": None,  # what is kept of it is its hash; as in GitLab where no runner may register by it
    }
