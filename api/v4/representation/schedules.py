"""Pipeline schedules as GitLab's JSON."""

from datetime import datetime
from typing import Any

from typing_extensions import TypedDict

from api.v4.representation.people import Person, PersonResponse, person
from api.v4.representation.pipelines import ListedPipelineResponse
from domain.moments import moment
from models.rows.schedules import PipelineScheduleRow, ScheduleTickRow, ScheduleVariableRow


class ScheduleResponse(TypedDict):
    """A schedule as an item of a list. What begins with `overlap` and `catch_up` is our own."""

    id: int
    description: str
    ref: str
    cron: str
    cron_timezone: str
    next_run_at: str | None
    active: bool
    created_at: str
    updated_at: str
    owner: PersonResponse | None
    overlap_policy: str
    catch_up: str
    catch_up_window: int


class ScheduleVariableResponse(TypedDict):
    """A variable of a schedule, with its opened value."""

    key: str
    variable_type: str
    value: str
    raw: bool


class ScheduleInputResponse(TypedDict):
    """An input of the configuration that a schedule gives."""

    name: str
    value: Any


class ScheduleDetailsResponse(ScheduleResponse):
    """A schedule in full."""

    last_pipeline: ListedPipelineResponse | None


class AdministeredScheduleResponse(ScheduleDetailsResponse):
    """The same for those who may administer it."""

    variables: list[ScheduleVariableResponse]
    inputs: list[ScheduleInputResponse]


class ScheduleTickResponse(TypedDict):
    """What became of a tick; our own."""

    id: int
    due_at: str
    outcome: str
    reason: str | None
    by_hand: bool
    pipeline_id: int | None
    created_at: str
    updated_at: str


def schedule(
    row: PipelineScheduleRow, owner: Person | None, next_run_at: datetime | None, url: str
) -> ScheduleResponse:
    """A schedule as an item of a list."""
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


def variable(row: ScheduleVariableRow, value: str) -> ScheduleVariableResponse:
    """A variable of a schedule, with its opened value."""
    return {"key": row.key, "variable_type": row.variable_type, "value": value, "raw": row.raw}


def tick(row: ScheduleTickRow) -> ScheduleTickResponse:
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
