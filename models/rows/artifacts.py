"""Rows of the tables of `models.tables.artifacts`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class ArtifactRow:
    """A row of `models.tables.artifacts.Artifact`, which says what its columns mean."""

    id: int
    job_id: int
    project_id: int
    file_type: str
    file_format: str
    filename: str
    size: int
    sha256: str
    object_key: str
    access: str
    parsed: bool
    expire_at: datetime | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ObjectToDeleteRow:
    """A row of `models.tables.artifacts.ObjectToDelete`, which says what its columns mean."""

    object_key: str
    doomed: bool
    created_at: datetime


@dataclass(frozen=True, slots=True)
class TestReportRow:
    """A row of `models.tables.artifacts.TestReport`, which says what its columns mean."""

    job_id: int
    pipeline_id: int
    total: int
    failed: int
    errored: int
    skipped: int
    seconds: float
    cases: Sequence[Mapping[str, Any]]
    error: str
