"""Groups, and people's own namespaces, as GitLab's JSON."""

from typing_extensions import TypedDict

from domain.moments import moment
from models.rows.namespaces import NamespaceRow


class NamespaceResponse(TypedDict):
    """A group, or a person's own namespace."""

    id: int
    name: str
    path: str
    kind: str
    full_path: str
    parent_id: int | None
    avatar_url: None
    web_url: str


class GroupResponse(NamespaceResponse):
    """A group in full."""

    description: str
    visibility: str
    full_name: str
    created_at: str
    organization_id: int
    project_creation_level: str
    subgroup_creation_level: str
    request_access_enabled: bool


class PublicGroupResponse(TypedDict):
    """A group as everybody sees it who may see its project."""

    id: int
    name: str
    avatar_url: None
    web_url: str
    full_name: str
    full_path: str


def namespace(row: NamespaceRow, url: str) -> NamespaceResponse:
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


def group(row: NamespaceRow, url: str) -> GroupResponse:
    """A group in full."""
    return {
        **namespace(row, url),
        "description": row.description,
        "visibility": row.visibility,
        "full_name": row.full_path.replace("/", " / "),
        "created_at": moment(row.created_at),
        "organization_id": row.organisation_id,
        "project_creation_level": row.project_creation_level,
        "subgroup_creation_level": row.subgroup_creation_level,
        "request_access_enabled": False,
    }


def public_group(row: NamespaceRow, url: str) -> PublicGroupResponse:
    """A group as everybody sees it who may see its project."""
    return {
        "id": row.id,
        "name": row.name,
        "avatar_url": None,
        "web_url": f"{url}/groups/{row.full_path}",
        "full_name": row.full_path.replace("/", " / "),
        "full_path": row.full_path,
    }
