"""What a caller is told who asks for a resource of GitLab's that is not part of Perdure.

Only the path is looked at, by the table of resources and after no route was found: nobody learns from the answer what
projects there are, and no route is hidden by it.
"""

from typing import Final

from api.v4.rest_resources import State, resource_of

NO_ROUTE: Final = 404
"""The status that Starlette itself gives when no route has a path."""

PAGE: Final = "docs/rest.md#not-part-of-perdure"
"""The place of the documentation that lists those resources."""

_PREFIX: Final = "/api/v4/"


def why_not_served(path: str) -> dict[str, str]:
    """What the answer says besides `message`, for the path of a call that has no route; nothing for an unknown one."""
    if not path.startswith(_PREFIX):
        return {}
    resource = resource_of(path.removeprefix(_PREFIX))
    if resource is None or resource.state is not State.NOT:
        return {}
    return {"error": f"{resource.name}: not part of Perdure; {resource.words}.", "documentation": PAGE}
