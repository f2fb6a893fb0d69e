"""Runners and their managers (processes) as GitLab's JSON."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from typing_extensions import TypedDict

from api.v4.representation.groups import GroupResponse
from api.v4.representation.projects import ProjectResponse
from application.runners.tokens import IssuedToken
from domain.moments import moment
from domain.runners.matching import RunnerType
from domain.runners.status import Connection, Execution, Holds, connection_of
from models.rows.runners import RunnerManagerRow, RunnerRow


class RunnerResponse(TypedDict):
    """A runner inside a job; `online` is what older clients ask for."""

    id: int
    description: str
    ip_address: str | None
    active: bool
    paused: bool
    is_shared: bool
    runner_type: str
    name: str | None
    created_at: str
    contacted_at: str | None
    status: str
    job_execution_status: str
    online: bool


class ListedRunnerResponse(RunnerResponse):
    """A runner as an item of a list, with its tags beside what GitLab shows."""

    tag_list: list[str]


class _FactsPart(TypedDict):
    """What a process said of itself; nothing when none ever called."""

    version: str | None
    revision: str | None
    platform: str | None
    architecture: str | None
    ip_address: str | None


class RunnerDetailsResponse(RunnerResponse):
    """A runner in full."""

    version: str | None
    revision: str | None
    platform: str | None
    architecture: str | None
    tag_list: list[str]
    run_untagged: bool
    locked: bool
    maximum_timeout: int | None
    access_level: str
    maintenance_note: str
    token_expires_at: str | None
    projects: list[ProjectResponse]
    groups: list[GroupResponse]


class AdministeredRunnerResponse(RunnerDetailsResponse):
    """The same for administrators: whether its jobs run as the server's own user."""

    as_server: bool


class RunnerTokenResponse(TypedDict):
    """A new token, which is shown only in this answer; no end for one that does not expire."""

    token: str
    token_expires_at: str | None


class NewRunnerResponse(TypedDict):
    """A new runner, and its token, which is shown only in this answer."""

    id: int
    token: str
    token_expires_at: str | None


class _StandingPart(TypedDict):
    """Whether somebody hears of it, and whether it works."""

    contacted_at: str | None
    status: str
    job_execution_status: str


class RunnerManagerResponse(TypedDict):
    """A process of a runner."""

    id: int
    system_id: str
    version: str | None
    revision: str | None
    platform: str | None
    architecture: str | None
    ip_address: str | None
    created_at: str
    contacted_at: str | None
    status: str
    job_execution_status: str


class _Heard(Protocol):
    """What is known of the calls of a runner, or of a process of one."""

    @property
    def created_at(self) -> datetime:
        """When it was first heard of."""

    @property
    def contacted_at(self) -> datetime | None:
        """When it last called."""


def runner(row: RunnerRow, now: datetime, holds: Holds) -> RunnerResponse:
    """A runner as an item of a list and inside a job."""
    standing = _standing(row, now, holds)
    return {
        "id": row.id,
        "description": row.description,
        "ip_address": None,
        "active": not row.paused,
        "paused": row.paused,
        "is_shared": row.runner_type == RunnerType.INSTANCE,
        "runner_type": row.runner_type,
        "name": None,
        "created_at": moment(row.created_at),
        **standing,
        "online": standing["status"] == Connection.ONLINE,
    }


def _standing(row: _Heard, now: datetime, holds: Holds) -> _StandingPart:
    return {
        "contacted_at": moment(row.contacted_at),
        "status": connection_of(row.contacted_at, row.created_at, now, holds),
        "job_execution_status": Execution.IDLE if holds is Holds.NOTHING else Execution.RUNNING,
    }


def runner_details(
    row: RunnerRow,
    newest: RunnerManagerRow | None,
    projects: Sequence[ProjectResponse],
    groups: Sequence[GroupResponse],
    now: datetime,
    holds: Holds,
) -> RunnerDetailsResponse:
    """A runner in full; `newest` is the manager (process) that called last."""
    return {
        **runner(row, now, holds),
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


def issued_token(issued: IssuedToken) -> RunnerTokenResponse:
    """A token that was made by this call."""
    return {"token": issued.token, "token_expires_at": moment(issued.expires_at)}


def runner_manager(row: RunnerManagerRow, now: datetime, holds: Holds) -> RunnerManagerResponse:
    """A process of a runner."""
    return {
        "id": row.id,
        "system_id": row.system_id,
        **_facts(row),
        "created_at": moment(row.created_at),
        **_standing(row, now, holds),
    }


def _facts(manager: RunnerManagerRow | None) -> _FactsPart:
    info = manager.info if manager is not None else {}
    return {
        "version": info.get("version"),
        "revision": info.get("revision"),
        "platform": info.get("platform"),
        "architecture": info.get("architecture"),
        "ip_address": manager.ip_address if manager is not None else None,
    }
