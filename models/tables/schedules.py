"""Pipeline schedules, their variables, and what became of each of their ticks."""

from datetime import datetime
from typing import Any, Final

from sqlalchemy import Index, UniqueConstraint
from sqlmodel import Field, SQLModel

from domain.schedules.ticks import CATCH_UP_WINDOW, CatchUp, Outcome, Overlap
from models.columns import BIG, COUNTING, document, key, moment, number, only, reference

OPEN_TICK: Final = f"schedule_tick.outcome IN ('{Outcome.DUE}', '{Outcome.WAITING}')"
"""Of few ticks: a statement that says it in these words reads them by an index of their own."""
_TO_MIRROR: Final = "mirrored <> revision"


class PipelineSchedule(SQLModel, table=True):
    """When pipelines of a ref (`refs/heads/...` or `refs/tags/...`) are made, and for whom: its owner.

    `overlap` and `catch_up` are values of `domain.schedules.ticks`; `catch_up_window` is seconds. `inputs` by name.

    Every tick before `next_tick_at` has its row; None while the schedule is not active. Each change that Temporal has
    to know raises `revision`; `mirrored` is the one that Temporal has. A schedule that was deleted is kept, seen by
    nobody, until Temporal has forgotten it.
    """

    __tablename__ = "pipeline_schedule"
    __table_args__ = (
        Index("schedule_by_tick", "next_tick_at"),
        Index("schedule_to_mirror", "id", **only(_TO_MIRROR)),
        COUNTING,
    )

    id: int | None = key()
    project_id: int = reference("project.id", index=True)
    owner_id: int | None = reference("account.id", nullable=True)
    description: str
    ref: str
    cron: str
    cron_timezone: str = "UTC"
    active: bool = True
    inputs: dict[str, Any] = document()
    overlap: str = Overlap.ALLOW_ALL.value
    catch_up: str = CatchUp.LAST.value
    catch_up_window: int = CATCH_UP_WINDOW
    next_tick_at: datetime | None = moment()
    revision: int = number(1)
    mirrored: int = number()
    deleted_at: datetime | None = moment()
    created_at: datetime = moment(nullable=False)
    updated_at: datetime = moment(nullable=False)


class ScheduleVariable(SQLModel, table=True):
    """A variable of a schedule's pipelines: `env_var` or `file`, not expanded if it is `raw`. `value` is sealed."""

    __tablename__ = "schedule_variable"

    schedule_id: int = reference("pipeline_schedule.id", primary_key=True)
    key: str = Field(primary_key=True)
    value: str
    variable_type: str = "env_var"
    raw: bool = False


class ScheduleTick(SQLModel, table=True):
    """What became of a tick (`domain.schedules.ticks.Outcome`), and why.

    `by_hand` is one that somebody asked for; `user_id` is who, None leaves it to the owner. While it is open,
    `attempts` counts failures to make its pipeline, and nobody tries before `not_before`.
    """

    __tablename__ = "schedule_tick"
    __table_args__ = (
        UniqueConstraint("schedule_id", "due_at"),
        Index("open_tick", "not_before", **only(OPEN_TICK)),
        COUNTING,
    )

    id: int | None = key()
    schedule_id: int = reference("pipeline_schedule.id")
    due_at: datetime = moment(nullable=False)
    outcome: str
    reason: str = ""
    by_hand: bool = False
    user_id: int | None = reference("account.id", nullable=True)
    pipeline_id: int | None = Field(default=None, nullable=True, index=True, sa_type=BIG)
    attempts: int = 0
    not_before: datetime = moment(nullable=False)
    created_at: datetime = moment(nullable=False)
    updated_at: datetime = moment(nullable=False)
