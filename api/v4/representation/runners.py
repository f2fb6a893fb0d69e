"""Runners and their managers (processes) as GitLab's JSON."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from domain.moments import moment
from domain.runners.matching import RunnerType
from domain.runners.status import Connection, Execution, connection_of


def runner(row: Any, now: datetime, *, busy: bool) -> dict[str, Any]:
    """A runner as an item of a list and inside a job; `busy` while it holds a job."""
    document = {
        "id": row.id,
        "description": row.description,
        "ip_address": None,
        "active": not row.paused,
        "paused": row.paused,
        "is_shared": row.runner_type == RunnerType.INSTANCE,
        "runner_type": row.runner_type,
        "name": None,
        "created_at": moment(row.created_at),
        **_standing(row, now, busy=busy),
    }
    return {**document, "online": document["status"] == Connection.ONLINE}


def _standing(row: Any, now: datetime, *, busy: bool) -> dict[str, Any]:
    return {
        "contacted_at": moment(row.contacted_at),
        "status": connection_of(row.contacted_at, row.created_at, now, busy=busy),
        "job_execution_status": Execution.RUNNING if busy else Execution.IDLE,
    }


def runner_details(
    row: Any,
    newest: Any | None,
    projects: Sequence[Mapping[str, Any]],
    groups: Sequence[Mapping[str, Any]],
    now: datetime,
    *,
    busy: bool,
) -> dict[str, Any]:
    """A runner in full; `newest` is the manager (process) that called last."""
    return {
        **runner(row, now, busy=busy),
        "name": newest.info.get("name") if newest is not None else None,
        **_facts(newest),
        "tag_list": list(row.tags),
        "run_untagged": row.run_untagged,
        "locked": row.locked,
        "maximum_timeout": row.maximum_timeout,
        "access_level": "ref_protected" if row.ref_protected else "not_protected",
        "maintenance_note": row.maintenance_note,
        "token_expires_at": moment(row.token_expires_at),
        "projects": list(projects),
        "groups": list(groups),
    }


def runner_manager(row: Any, now: datetime, *, busy: bool) -> dict[str, Any]:
    """A process of a runner."""
    return {
        "id": row.id,
        "system_id": row.system_id,
        **_facts(row),
        "created_at": moment(row.created_at),
        **_standing(row, now, busy=busy),
    }


def _facts(manager: Any | None) -> dict[str, Any]:
    """What a process said of itself; nothing when none ever called."""
    info = manager.info if manager is not None else {}
    return {
        **{name: info.get(name) for name in ("version", "revision", "platform", "architecture")},
        "ip_address": manager.ip_address if manager is not None else None,
    }
