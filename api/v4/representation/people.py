"""People and members as GitLab's JSON."""

from typing import Any

from api.v4.representation.moments import moment


def person(row: Any, url: str) -> dict[str, Any]:
    """A person as everybody sees him."""
    return {
        "id": row.id,
        "username": row.username,
        "name": row.name,
        "state": "active",
        "locked": False,
        "avatar_url": None,
        "web_url": f"{url}/{row.username}",
    }


def account(row: Any, url: str) -> dict[str, Any]:
    """A person as he himself and administrators see him."""
    return {
        **person(row, url),
        "created_at": moment(row.created_at),
        "email": row.email,
        "is_admin": row.is_admin,
        "can_create_project": True,
        "can_create_group": row.is_admin,
        "external": False,
        "bot": False,
        "two_factor_enabled": False,
        "identities": [],
    }


def member(row: Any, url: str) -> dict[str, Any]:
    """A person of a project; `row` is the account with `access_level`."""
    return {
        **person(row, url),
        "access_level": row.access_level,
        "created_at": moment(row.created_at),
        "expires_at": None,
        "membership_state": "active",
    }
