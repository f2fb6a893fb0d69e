"""Deployments that no job made: which status may follow which.

Source of the rules: GitLab: "Deployments API", and the state machine of its `Deployment`.
"""

from collections.abc import Mapping
from typing import Final

from domain.errors import FieldsInvalid
from domain.pipelines.status import Status

_ENDS: Final = frozenset({Status.SUCCESS, Status.FAILED, Status.CANCELED})

FOLLOWING: Final[Mapping[Status, frozenset[Status]]] = {
    Status.RUNNING: _ENDS,
    **{end: _ENDS - {end} for end in _ENDS},
}
"""How a deployment ended may be corrected; it never runs again."""

_EVENTS: Final[Mapping[Status, str]] = {
    Status.RUNNING: "run",
    Status.SUCCESS: "succeed",
    Status.FAILED: "drop",
    Status.CANCELED: "cancel",
}
"""What GitLab calls the way to a status."""


def sources_of(to: Status) -> frozenset[Status]:
    """Every status that `to` may follow."""
    return frozenset(status for status, following in FOLLOWING.items() if to in following)


def forbidden(to: Status) -> FieldsInvalid:
    """The error for a status that may not follow the one there is, in GitLab's words."""
    return FieldsInvalid(status=f'cannot transition via "{_EVENTS[to]}"')
