"""People and members as GitLab's JSON."""

from collections.abc import Iterable
from typing import Any, Protocol

from typing_extensions import TypedDict

from domain.moments import moment


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


def account(row: Any, url: str, identities: Iterable[Any] = (), namespace_id: int | None = None) -> dict[str, Any]:
    """A person as they themselves and administrators see them; `namespace_id` is that of their own namespace."""
    seen_on = row.last_activity_on
    return {
        **person(row, url),
        "created_at": moment(row.created_at),
        "email": row.email,
        "is_admin": row.is_admin,
        "can_create_project": True,
        "can_create_group": True,
        "external": row.external,
        "bot": row.bot,
        "two_factor_enabled": False,
        "namespace_id": namespace_id,
        "last_sign_in_at": moment(row.last_sign_in_at),
        "current_sign_in_at": moment(row.current_sign_in_at),
        "last_activity_on": None if seen_on is None else seen_on.isoformat(),
        "identities": [{"provider": "openid_connect", "extern_uid": known.subject} for known in identities],
    }


def member(row: Any, url: str) -> dict[str, Any]:
    """A person of a project or group; `row` is the account with `access_level`, `expires_on` and `since`."""
    return {
        **person(row, url),
        "access_level": row.access_level,
        "created_at": moment(row.since),
        "expires_at": None if row.expires_on is None else row.expires_on.isoformat(),
        "membership_state": "active",
    }
