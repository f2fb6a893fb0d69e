"""Rows of the tables of `models.tables.badges`."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class BadgeRow:
    """A row of `models.tables.badges.Badge`, which says what its columns mean."""

    id: int
    project_id: int | None
    namespace_id: int | None
    name: str
    link_url: str
    image_url: str
    created_at: datetime
