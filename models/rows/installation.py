"""Rows of the tables of `models.tables.installation`."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

COPY: Final = (
    "This is a copy of installation {original}, restored from a backup: it tells nobody anything, nothing starts by "
    "itself, and pipelines of the backup stand still."
)
"""What people read of a copy, wherever they meet one."""


@dataclass(frozen=True, slots=True)
class InstallationRow:
    """A row of `models.tables.installation.Installation`, which says what its columns mean."""

    id: int
    installation_id: str
    pod: str
    registration_token_hash: str
    sealed_check: str
    restored_at: datetime | None
    created_at: datetime
    registration_names_pod: bool
    pod_number: int | None
    temporal_namespace: str
    task_queue: str
    mails: bool
    restored_from: str
    held_up_to: int | None
    clear_pipelines_up_to: int
    clear_jobs_up_to: int

    @property
    def is_copy(self) -> bool:
        """Whether it was restored beside the one that was backed up, and does nothing by itself."""
        return self.held_up_to is not None
