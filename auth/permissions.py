"""Who may do what: one table of actions, one function that answers.

Access levels are GitLab's: guest 10, reporter 20, developer 30, maintainer 40, owner 50.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from domain.errors import Forbidden, NotFound, Unauthenticated

GUEST, REPORTER, DEVELOPER, MAINTAINER, OWNER = 10, 20, 30, 40, 50


class Action(StrEnum):
    """What a caller wants to do with a project."""

    READ = "read"
    PUSH = "push"
    RUN = "run"
    ADMINISTER = "administer"


LEVEL_FOR: Final = {
    Action.READ: REPORTER,
    Action.PUSH: DEVELOPER,
    Action.RUN: DEVELOPER,
    Action.ADMINISTER: MAINTAINER,
}


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls: a user, or nobody (`user_id` 0)."""

    user_id: int = 0
    username: str = ""
    is_admin: bool = False

    @property
    def is_known(self) -> bool:
        """Whether the caller has shown who he is."""
        return self.user_id != 0


NOBODY: Final = Caller()


def level_of(caller: Caller, member_level: int, visibility: str) -> int:
    """The access level that a caller has in a project."""
    if caller.is_admin:
        return OWNER
    return max(member_level, REPORTER if visibility == "public" else 0)


def require(caller: Caller, action: Action, member_level: int, visibility: str) -> None:
    """Raise unless the caller may do it. Whoever may not even read learns nothing: `NotFound`."""
    level = level_of(caller, member_level, visibility)
    if level >= LEVEL_FOR[action]:
        return
    if level < LEVEL_FOR[Action.READ]:
        raise NotFound("404 Project Not Found")
    if not caller.is_known:
        raise Unauthenticated("401 Unauthorized")
    raise Forbidden("403 Forbidden")


def require_admin(caller: Caller) -> None:
    """Raise unless the caller administers the installation."""
    if not caller.is_known:
        raise Unauthenticated("401 Unauthorized")
    if not caller.is_admin:
        raise Forbidden("403 Forbidden: only an administrator may do this.")
