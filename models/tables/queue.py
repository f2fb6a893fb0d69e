"""The queue of jobs by what they demand of a runner, and the leases of those that run."""

from sqlalchemy import Index, UniqueConstraint, text
from sqlmodel import Field, SQLModel

from models.columns import BIG, COUNTING, key, number, number_or_none, reference


class QueueDemand(SQLModel, table=True):
    """What jobs that wait have in common (`domain.runners.matching.Demand`). `tag_key` is its sorted tags as JSON.

    Rows stay: there are as many as a project has different lists of tags.
    """

    __tablename__ = "queue_demand"
    __table_args__ = (UniqueConstraint("project_id", "tag_key", "ref_protected"), COUNTING)

    id: int | None = key()
    project_id: int = reference("project.id")
    organisation_id: int = number()
    tag_key: str
    tagged: bool
    ref_protected: bool


class QueueDemandTag(SQLModel, table=True):
    """A tag of a demand."""

    __tablename__ = "queue_demand_tag"

    demand_id: int = reference("queue_demand.id", primary_key=True)
    tag: str = Field(primary_key=True)


class QueueEntry(SQLModel, table=True):
    """A pending job, as the claim sees it; written and removed together with the job's status.

    `since` is when it came into the queue: seconds since 1970 by the database's clock.
    """

    __tablename__ = "queue_entry"
    __table_args__ = (Index("queue_order", "demand_id", "job_id"),)

    job_id: int = reference("job.id", primary_key=True)
    demand_id: int = number()
    since: float = 0.0


class Lease(SQLModel, table=True):
    """Who holds a running job. `contact` is the tick from which its silence counts, `since` that from which it runs.

    Both are ahead of what happened while it has a bonus after an outage; then `called` is the tick of the last call,
    `claimed` that of the claim. None: the same as `contact` and `since`.

    `request_id` names the request that claimed it. `load_of` is the job's project when an instance runner holds it.
    """

    __table_args__ = (
        Index(
            "lease_by_load",
            "load_of",
            sqlite_where=text("load_of IS NOT NULL"),
            postgresql_where=text("load_of IS NOT NULL"),
        ),
    )

    job_id: int = reference("job.id", primary_key=True)
    load_of: int | None = Field(default=None, nullable=True, sa_type=BIG)
    hand_out: int
    taken_up: bool = False
    contact: int = number()
    since: int = number()
    called: int | None = number_or_none()
    claimed: int | None = number_or_none()
    request_id: str = Field(default="", index=True)


class LeaseClock(SQLModel, table=True):
    """One row: ticks in which this installation really served.

    Until tick `calm_until` nothing is ended that only waited too long by the clock: an outage has just passed.
    """

    __tablename__ = "lease_clock"

    id: int = Field(default=1, primary_key=True)
    ticks: int = number()
    ticked_at: float = 0.0
    calm_until: int = number()
