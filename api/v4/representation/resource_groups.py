"""Resource groups as GitLab's JSON."""

from typing import Any

from domain.moments import moment


def resource_group(row: Any) -> dict[str, Any]:
    """One resource group."""
    return {
        "id": row.id,
        "key": row.key,
        "process_mode": row.process_mode,
        "created_at": moment(row.created_at),
        "updated_at": moment(row.updated_at),
    }
