"""Rows of the tables of `models.tables.queue`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class QueueDemandRow:
    """A row of `models.tables.queue.QueueDemand`, which says what its columns mean."""

    id: int
    project_id: int
    organisation_id: int
    tag_key: str
    tagged: bool
    ref_protected: bool


@dataclass(frozen=True, slots=True)
class QueueDemandTagRow:
    """A row of `models.tables.queue.QueueDemandTag`, which says what its columns mean."""

    demand_id: int
    tag: str


@dataclass(frozen=True, slots=True)
class QueueEntryRow:
    """A row of `models.tables.queue.QueueEntry`, which says what its columns mean."""

    job_id: int
    demand_id: int
    since: float


@dataclass(frozen=True, slots=True)
class LeaseRow:
    """A row of `models.tables.queue.Lease`, which says what its columns mean."""

    job_id: int
    load_of: int | None
    hand_out: int
    taken_up: bool
    contact: int
    since: int
    called: int | None
    claimed: int | None
    request_id: str


@dataclass(frozen=True, slots=True)
class LeaseClockRow:
    """A row of `models.tables.queue.LeaseClock`, which says what its columns mean."""

    id: int
    ticks: int
    ticked_at: float
    calm_until: int
