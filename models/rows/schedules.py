"""Rows of the tables of `models.tables.schedules`."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class PipelineScheduleRow:
    """A row of `models.tables.schedules.PipelineSchedule`, which says what its columns mean."""

    id: int
    project_id: int
    owner_id: int | None
    description: str
    ref: str
    cron: str
    cron_timezone: str
    active: bool
    inputs: Mapping[str, Any]
    overlap: str
    catch_up: str
    catch_up_window: int
    next_tick_at: datetime | None
    revision: int
    mirrored: int
    deleted_at: datetime | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class ScheduleVariableRow:
    """A row of `models.tables.schedules.ScheduleVariable`, which says what its columns mean."""

    schedule_id: int
    key: str
    value: str
    variable_type: str
    raw: bool


@dataclass(frozen=True, slots=True)
class ScheduleTickRow:
    """A row of `models.tables.schedules.ScheduleTick`, which says what its columns mean."""

    id: int
    schedule_id: int
    due_at: datetime
    outcome: str
    reason: str
    by_hand: bool
    user_id: int | None
    pipeline_id: int | None
    attempts: int
    not_before: datetime
    created_at: datetime
    updated_at: datetime
