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
