"""Rows of the tables of `models.tables.uploads`."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class ProjectUploadRow:
    """A row of `models.tables.uploads.ProjectUpload`, which says what its columns mean."""

    id: int
    project_id: int
    user_id: int
    secret: str
    filename: str
    size: int
    sha256: str
    object_key: str
    created_at: datetime
