"""Pipeline schedules as GitLab's JSON."""

from datetime import datetime
from typing import Any

from api.v4.representation.people import person
from domain.moments import moment


def schedule(row: Any, owner: Any | None, next_run_at: datetime | None, url: str) -> dict[str, Any]:
    """A schedule as an item of a list. What begins with `overlap` and `catch_up` is our own."""
    return {
        "id": row.id,
        "description": row.description,
        "ref": row.ref,
        "cron": row.cron,
        "cron_timezone": row.cron_timezone,
        "next_run_at": moment(next_run_at),
        "active": row.active,
        "created_at": moment(row.created_at),
        "updated_at": moment(row.updated_at),
        "owner": None if owner is None else person(owner, url),
        "overlap_policy": row.overlap,
        "catch_up": row.catch_up,
        "catch_up_window": row.catch_up_window,
    }


def variable(row: Any, value: str) -> dict[str, Any]:
    """A variable of a schedule, with its opened value."""
    return {"key": row.key, "variable_type": row.variable_type, "value": value, "raw": row.raw}


def tick(row: Any) -> dict[str, Any]:
    """What became of a tick; our own."""
    return {
        "id": row.id,
        "due_at": moment(row.due_at),
        "outcome": row.outcome,
        "reason": row.reason or None,
        "by_hand": row.by_hand,
        "pipeline_id": row.pipeline_id,
        "created_at": moment(row.created_at),
        "updated_at": moment(row.updated_at),
    }
