"""Projects and organisations as GitLab's JSON."""

from typing import Any

from api.v4.representation.moments import moment
from auth.permissions import MAINTAINER


def namespace(row: Any, url: str) -> dict[str, Any]:
    """An organisation as GitLab's namespace of kind `group`."""
    return {
        "id": row.id,
        "name": row.name,
        "path": row.path,
        "kind": "group",
        "full_path": row.path,
        "parent_id": None,
        "avatar_url": None,
        "web_url": f"{url}/groups/{row.path}",
    }


def group(row: Any, url: str) -> dict[str, Any]:
    """An organisation as GitLab's group."""
    return {
        **namespace(row, url),
        "description": "",
        "visibility": "private",
        "full_name": row.name,
        "created_at": moment(row.created_at),
        "organization_id": row.id,
    }


def project(row: Any, owner: Any, url: str, level: int | None = None) -> dict[str, Any]:
    """A project of organisation `owner`; `level` is the caller's access level where it is known."""
    address = f"{url}/{row.full_path}"
    access = None if not level else {"access_level": level, "notification_level": 3}
    return {
        "id": row.id,
        "description": None,
        "name": row.name,
        "name_with_namespace": f"{owner.name} / {row.name}",
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
        "forks_count": 0,
        "star_count": 0,
        "last_activity_at": moment(row.created_at),
        "namespace": namespace(owner, url),
        "visibility": row.visibility,
        "archived": False,
        "creator_id": row.creator_id,
        "jobs_enabled": True,
        "builds_access_level": "enabled",
        "shared_runners_enabled": row.shared_runners_enabled,
        "group_runners_enabled": row.group_runners_enabled,
        "build_timeout": row.timeout,
        "ci_config_path": ".gitlab-ci.yml",
        **(_settings(row) if level is not None and level >= MAINTAINER else {}),
        "permissions": {"project_access": access, "group_access": None},
        "_links": {
            "self": f"{url}/api/v4/projects/{row.id}",
            "members": f"{url}/api/v4/projects/{row.id}/members",
        },
    }


def _settings(row: Any) -> dict[str, Any]:
    """What only those see who may change it."""
    return {
        "ci_forward_deployment_enabled": row.forward_deployment,
        "auto_cancel_pending_pipelines": "enabled" if row.auto_cancel_redundant else "disabled",
        "keep_latest_artifact": row.keep_latest_artifacts,
        "max_artifacts_size": row.max_artifacts_size,
    }
