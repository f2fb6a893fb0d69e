"""Rows of the tables of `models.tables.outbox`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class UnsentRow:
    """What is to be sent or carried out of a row of `models.tables.outbox.Outbox`."""

    id: int
    kind: str
    pipeline_id: int
    job_id: int | None
    payload: Mapping[str, Any]
    attempts: int
    created_at: datetime

    @property
    def named_job(self) -> int:
        """The job of an outcome or a bridge: such rows name one. Raises `ValueError` for others."""
        if self.job_id is None:
            raise ValueError(f"Row {self.id} of the outbox ({self.kind}) names no job.")
        return self.job_id


@dataclass(frozen=True, slots=True)
class PushRow:
    """A row of `models.tables.outbox.Push`, which says what its columns mean."""

    id: int
    project_id: int
    user_id: int
    updates: Sequence[Mapping[str, str]]
    options: Sequence[str]
    done_at: datetime | None
    created_at: datetime
