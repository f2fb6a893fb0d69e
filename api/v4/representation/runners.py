"""Runners as GitLab's JSON."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from api.v4.representation.moments import moment

ONLINE: Final = timedelta(minutes=5)
"""A runner that called within this time is online; contacts are written every half minute, idle runners call often."""
STALE: Final = timedelta(days=7)


def connection_status(row: Any, now: datetime) -> str:
    """`online`, `offline`, `stale` or `never_contacted`."""
    if row.contacted_at is None:
        return "stale" if now - row.created_at > STALE else "never_contacted"
    silent = now - row.contacted_at
    if silent <= ONLINE:
        return "online"
    return "offline" if silent <= STALE else "stale"


def runner(row: Any, now: datetime) -> dict[str, Any]:
    """A runner as an item of a list and inside a job."""
    status = connection_status(row, now)
    return {
        "id": row.id,
        "description": row.description,
        "ip_address": None,
        "active": not row.paused,
        "paused": row.paused,
        "is_shared": row.runner_type == "instance_type",
        "runner_type": row.runner_type,
        "name": None,
        "online": status == "online",
        "created_at": moment(row.created_at),
        "status": status,
    }


def runner_details(row: Any, newest: Any | None, projects: Sequence[dict[str, Any]], now: datetime) -> dict[str, Any]:
    """A runner in full; `newest` is the manager (process) that called last."""
    info = newest.info if newest is not None else {}
    return {
        **runner(row, now),
        "name": info.get("name"),
        "ip_address": newest.ip_address if newest is not None else None,
        "version": info.get("version"),
        "revision": info.get("revision"),
        "platform": info.get("platform"),
        "architecture": info.get("architecture"),
        "contacted_at": moment(row.contacted_at),
        "tag_list": list(row.tags),
        "run_untagged": row.run_untagged,
        "locked": row.locked,
        "maximum_timeout": row.maximum_timeout,
        "access_level": "ref_protected" if row.ref_protected else "not_protected",
        "maintenance_note": row.maintenance_note,
        "projects": list(projects),
        "groups": [],
    }
