"""Resource groups as GitLab's JSON."""

from typing_extensions import TypedDict

from domain.moments import moment
from models.rows.environments import ResourceGroupRow


class ResourceGroupResponse(TypedDict):
    """A resource group."""

    id: int
    key: str
    process_mode: str
    created_at: str
    updated_at: str


def resource_group(row: ResourceGroupRow) -> ResourceGroupResponse:
    """One resource group."""
    return {
        "id": row.id,
        "key": row.key,
        "process_mode": row.process_mode,
        "created_at": moment(row.created_at),
        "updated_at": moment(row.updated_at),
    }
