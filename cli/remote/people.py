"""People by the names that commands are given."""

from typing import Any

from cli.remote.invocation import Invocation
from domain.errors import NotFound


def user_named(call: Invocation, username: str) -> dict[str, Any]:
    """The server's object of a person. Raises `NotFound`."""
    user = find_user(call, username)
    if user is None:
        raise no_user(call, username)
    return user


def find_user(call: Invocation, username: str) -> dict[str, Any] | None:
    """The same, or None: the person may be at home in another pod, and have never been in the one that answers."""
    found: list[dict[str, Any]] = call.api.get("/users", username=username)
    return found[0] if found else None


def no_user(call: Invocation, username: str) -> NotFound:
    """What to say of a name that nobody has."""
    return NotFound(
        f"There is no user {username} on {call.server.url}. Next: `perdure user list`; "
        f"administrators make one by `perdure user create {username} --email ADDRESS`."
    )
