"""Rows of the tables of `models.tables.artifacts`."""

from dataclasses import dataclass
from datetime import datetime


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
