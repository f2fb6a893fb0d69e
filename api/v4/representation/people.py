"""People and members as GitLab's JSON."""

from collections.abc import Iterable
from typing import Protocol

from typing_extensions import TypedDict

from domain.moments import moment
from models.repositories.accounts.members import ListedMember
from models.rows.accounts import UserRow
from models.rows.identities import IdentityRow


class Person(Protocol):
    """What everybody sees of an account, of whatever row."""

    @property
    def id(self) -> int:
        """Of the account."""

    @property
    def username(self) -> str:
        """What they sign in with."""

    @property
    def name(self) -> str:
        """What they are called."""

    @property
    def state(self) -> str:
        """`active` or `blocked`."""


class PersonResponse(TypedDict):
    """A person as everybody sees them."""

    id: int
    username: str
    name: str
    state: str
    locked: bool
    avatar_url: str | None
    web_url: str


class IdentityResponse(TypedDict):
    """Who a person is at a provider of identities."""

    provider: str
    extern_uid: str


class AccountResponse(PersonResponse):
    """A person as they themselves and administrators see them."""

    created_at: str
    email: str
    is_admin: bool
    can_create_project: bool
    can_create_group: bool
    projects_limit: int
    external: bool
    bot: bool
    two_factor_enabled: bool
    namespace_id: int | None
    last_sign_in_at: str | None
    current_sign_in_at: str | None
    last_activity_on: str | None
    identities: list[IdentityResponse]


class MemberResponse(PersonResponse):
    """A person of a project or group."""

    access_level: int
    created_at: str | None
    expires_at: str | None
    membership_state: str


def person(row: Person, url: str) -> PersonResponse:
    """A person as everybody sees them."""
    return {
        "id": row.id,
        "username": row.username,
        "name": row.name,
        "state": row.state,
        "locked": False,
        "avatar_url": None,
        "web_url": f"{url}/{row.username}",
    }


def account(
    row: UserRow, url: str, identities: Iterable[IdentityRow] = (), namespace_id: int | None = None
) -> AccountResponse:
    """A person as they themselves and administrators see them; `namespace_id` is that of their own namespace."""
    seen_on = row.last_activity_on
    return {
        **person(row, url),
        "created_at": moment(row.created_at),
        "email": row.email,
        "is_admin": row.is_admin,
        "can_create_project": row.projects_limit > 0,
        "can_create_group": row.can_create_group or row.is_admin,
        "projects_limit": row.projects_limit,
        "external": row.external,
        "bot": row.bot,
        "two_factor_enabled": False,
        "namespace_id": namespace_id,
        "last_sign_in_at": moment(row.last_sign_in_at),
        "current_sign_in_at": moment(row.current_sign_in_at),
        "last_activity_on": None if seen_on is None else seen_on.isoformat(),
        "identities": [{"provider": "openid_connect", "extern_uid": known.subject} for known in identities],
    }


def member(row: ListedMember, url: str) -> MemberResponse:
    """A person of a project or group."""
    return {
        **person(row, url),
        "access_level": row.access_level,
        "created_at": moment(row.since),
        "expires_at": None if row.expires_on is None else row.expires_on.isoformat(),
        "membership_state": "active",
    }
