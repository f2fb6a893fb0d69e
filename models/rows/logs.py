"""Rows of the tables of `models.tables.logs`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TraceRow:
    """A row of `models.tables.logs.Trace`, which says what its columns mean."""

    job_id: int
    generation: int
    size: int
    crc: int
    earlier_size: int
    earlier_crc: int
    frozen: bool
    resent: bool
    copied: bool
    stored: bool
    watched: int | None
