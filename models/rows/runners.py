"""Rows of the tables of `models.tables.runners`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class RunnerRow:
    """A row of `models.tables.runners.Runner`, which says what its columns mean."""

    id: int
    token_hash: str
    previous_token_hash: str | None
    token_expires_at: datetime | None
    token_form: int
    by_registration: bool
    runner_type: str
    organisation_id: int | None
    namespace_id: int | None
    description: str
    tags: Sequence[str]
    run_untagged: bool
    locked: bool
    paused: bool
    ref_protected: bool
    as_server: bool
    maximum_timeout: int | None
    maintenance_note: str
    created_at: datetime
    contacted_at: datetime | None


@dataclass(frozen=True, slots=True)
class RunnerProjectRow:
    """A row of `models.tables.runners.RunnerProject`, which says what its columns mean."""

    runner_id: int
    project_id: int


@dataclass(frozen=True, slots=True)
class RunnerManagerRow:
    """A row of `models.tables.runners.RunnerManager`, which says what its columns mean."""

    id: int
    runner_id: int
    system_id: str
    info: Mapping[str, Any]
    ip_address: str
    created_at: datetime
    contacted_at: datetime
