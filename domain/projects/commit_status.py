"""The states of a result that others report for a commit, and which may follow which.

Source of the rules: GitLab's Commits API, "Set commit pipeline status".
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class State(StrEnum):
    """GitLab's words."""

    PENDING = "pending"
    RUNNING = "running"
    SUCCESS = "success"
    FAILED = "failed"
    CANCELED = "canceled"
    SKIPPED = "skipped"


ENDED: Final = frozenset({State.SUCCESS, State.FAILED, State.CANCELED, State.SKIPPED})
"""After one of these a new report of the same name is a new result."""

FOLLOWING: Final[Mapping[State, frozenset[State]]] = {
    State.PENDING: frozenset(State),
    State.RUNNING: frozenset({State.RUNNING}) | ENDED,
}
"""What may become of a result that has not ended; the same state again changes the rest of it."""

EVENTS: Final[Mapping[State, str]] = {
    State.PENDING: "enqueue",
    State.RUNNING: "run",
    State.SUCCESS: "success",
    State.FAILED: "drop",
    State.CANCELED: "cancel",
    State.SKIPPED: "skip",
}


def why_not(before: State, after: State) -> str:
    """Why a result cannot change like this, in GitLab's words; empty when it can."""
    if after in FOLLOWING.get(before, frozenset()):
        return ""
    event = EVENTS[after]
    return (
        f"Cannot transition status via :{event} from :{before.value} "
        f'(Reason(s): Status cannot transition via "{event}")'
    )
