"""Projects and groups as GitLab's JSON."""

from typing import Any

from api.v4.representation.people import person
from auth.permissions import MAINTAINER
from domain.moments import moment


def namespace(row: Any, url: str) -> dict[str, Any]:
    """A group, or a person's own namespace."""
    folder = "" if row.kind == "user" else "groups/"
    return {
        "id": row.id,
        "name": row.name,
        "path": row.path,
        "kind": row.kind,
        "full_path": row.full_path,
        "parent_id": row.parent_id,
        "avatar_url": None,
        "web_url": f"{url}/{folder}{row.full_path}",
    }


def group(row: Any, url: str) -> dict[str, Any]:
    """A group in full."""
    return {
        **namespace(row, url),
        "description": row.description,
        "visibility": row.visibility,
        "full_name": row.full_path.replace("/", " / "),
        "created_at": moment(row.created_at),
        "organization_id": row.organisation_id,
        "project_creation_level": "developer",
        "subgroup_creation_level": "owner",
        "request_access_enabled": False,
    }


def project(row: Any, facts: Any, url: str, level: int | None = None) -> dict[str, Any]:
    """A project with its `facts` (`project_facts.ProjectFacts`); `level` is the caller's where it is known."""
    owner, origin = facts.namespace, facts.origin
    address = f"{url}/{row.full_path}"
    access = None if not level else {"access_level": level, "notification_level": 3}
    return {
        "id": row.id,
        "description": row.description or None,
        "name": row.name,
        "name_with_namespace": f"{owner.full_path.replace('/', ' / ')} / {row.name}",
        "path": row.path,
        "path_with_namespace": row.full_path,
        "created_at": moment(row.created_at),
        "default_branch": row.default_branch,
        "tag_list": [],
        "topics": [],
        "ssh_url_to_repo": None,
        "http_url_to_repo": f"{address}.git",
        "web_url": address,
        "readme_url": None,
        "avatar_url": None,
        "forks_count": facts.forks,
        "star_count": facts.stars,
        "last_activity_at": moment(row.created_at),
        "namespace": namespace(owner, url),
        "visibility": row.visibility,
        "archived": row.archived,
        "creator_id": row.creator_id,
        **({} if facts.owner is None else {"owner": person(facts.owner, url)}),
        "shared_with_groups": [_share(group) for group in facts.shared],
        "jobs_enabled": True,
        "builds_access_level": "enabled",
        "shared_runners_enabled": row.shared_runners_enabled,
        "group_runners_enabled": row.group_runners_enabled,
        "build_timeout": row.timeout,
        "ci_config_path": row.config_path,
        "auto_devops_enabled": row.auto_devops_enabled,
        **_merging(row),
        **({} if origin is None else {"forked_from_project": _origin(origin, url)}),
        **(_settings(row) if level is not None and level >= MAINTAINER else {}),
        "permissions": {"project_access": access, "group_access": None},
        "_links": {
            "self": f"{url}/api/v4/projects/{row.id}",
            "members": f"{url}/api/v4/projects/{row.id}/members",
        },
    }


def _merging(row: Any) -> dict[str, Any]:
    """How merge requests are tested and merged."""
    return {
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


def _origin(row: Any, url: str) -> dict[str, Any]:
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


def _share(row: Any) -> dict[str, Any]:
    return {
        "group_id": row.id,
        "group_name": row.name,
        "group_full_path": row.full_path,
        "group_access_level": row.access_level,
        "expires_at": None if row.expires_on is None else row.expires_on.isoformat(),
    }


def share(row: Any) -> dict[str, Any]:
    """That a project is shared with a group."""
    return {
        "id": row.id,
        "project_id": row.project_id,
        "group_id": row.namespace_id,
        "group_access": row.access_level,
        "expires_at": None if row.expires_on is None else row.expires_on.isoformat(),
    }


def public_group(row: Any, url: str) -> dict[str, Any]:
    """A group as everybody sees it who may see its project."""
    return {
        "id": row.id,
        "name": row.name,
        "avatar_url": None,
        "web_url": f"{url}/groups/{row.full_path}",
        "full_name": row.full_path.replace("/", " / "),
        "full_path": row.full_path,
    }


def statistics(commits: int, repository: int, artifacts: int) -> dict[str, int]:
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


def _settings(row: Any) -> dict[str, Any]:
    """What only those see who may change it."""
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
