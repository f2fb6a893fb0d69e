"""People by the names that commands are given."""

from typing import Any

from cli.remote.invocation import Invocation
from domain.errors import NotFound


def user_named(call: Invocation, username: str) -> dict[str, Any]:
    """The server's object of a person. Raises `NotFound`."""
    found = call.api.get("/users", username=username)
    if not found:
        raise NotFound(
            f"There is no user {username} on {call.server.url}. Next: `perdure user list`; "
            f"administrators make one by `perdure user create {username} --email ADDRESS`."
        )
    user: dict[str, Any] = found[0]
    return user
