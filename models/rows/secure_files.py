"""Rows of the tables of `models.tables.secure_files`."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class SecureFileRow:
    """A row of `models.tables.secure_files.SecureFile`, which says what its columns mean."""

    id: int
    project_id: int
    name: str
    size: int
    sha256: str
    object_key: str
    created_at: datetime
