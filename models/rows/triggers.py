"""Rows of the tables of `models.tables.triggers`."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class PipelineTriggerRow:
    """A row of `models.tables.triggers.PipelineTrigger`, which says what its columns mean."""

    id: int
    project_id: int
    owner_id: int
    description: str
    token_hash: str
    short_token: str
    created_at: datetime
    updated_at: datetime
    last_used_at: datetime | None
    expires_at: datetime | None
    names_pod: bool
    maker_id: int | None
