"""Rows of the tables of `models.tables.reports`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ReportRow:
    """A row of `models.tables.reports.Report`, which says what its columns mean."""

    job_id: int
    kind: str
    pipeline_id: int
    total: int
    summary: Mapping[str, Any]
    entries: Sequence[Mapping[str, Any]]
    error: str
