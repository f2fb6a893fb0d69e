"""Rows of the tables of `models.tables.accounts`."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime


@dataclass(frozen=True, slots=True)
class UserRow:
    """A row of `models.tables.accounts.User`, which says what its columns mean."""

    id: int
    username: str
    name: str
    email: str
    is_admin: bool
    state: str
    bot: bool
    external: bool
    can_create_group: bool
    projects_limit: int
    password_hash: str
    session_epoch: int
    created_at: datetime
    current_sign_in_at: datetime | None
    last_sign_in_at: datetime | None
    last_activity_on: date | None
    home_pod: int | None
    home_id: int | None


@dataclass(frozen=True, slots=True)
class AccessTokenRow:
    """A row of `models.tables.accounts.AccessToken`, which says what its columns mean."""

    id: int
    user_id: int
    project_id: int | None
    namespace_id: int | None
    name: str
    description: str
    scopes: Sequence[str]
    token_hash: str
    created_by: int | None
    created_at: datetime
    last_used_at: datetime | None
    expires_on: date | None
    revoked_at: datetime | None
    impersonation: bool
    names_pod: bool
    maker_id: int | None
    rotated_to: int | None
