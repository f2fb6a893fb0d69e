"""Rows of the tables of `models.tables.deploy_tokens`."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class DeployTokenRow:
    """A row of `models.tables.deploy_tokens.DeployToken`, which says what its columns mean."""

    id: int
    project_id: int | None
    namespace_id: int | None
    name: str
    username: str
    scopes: Sequence[str]
    token_hash: str
    sealed: str
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime | None
    revoked_at: datetime | None
    names_pod: bool
    maker_id: int | None
