"""Who may do what: a table of actions on projects and one on runners, with a function each that answers.

Access levels are GitLab's: guest 10, reporter 20, developer 30, maintainer 40, owner 50.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from domain.errors import Forbidden, NotFound, Unauthenticated
from domain.matching import RunnerType

GUEST, REPORTER, DEVELOPER, MAINTAINER, OWNER = 10, 20, 30, 40, 50

LEVEL_NAMES: Final = {
    GUEST: "guest",
    REPORTER: "reporter",
    DEVELOPER: "developer",
    MAINTAINER: "maintainer",
    OWNER: "owner",
}


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


class RunnerAction(StrEnum):
    """What a caller wants to do with a runner; to link, pause or remove it is to change it."""

    READ = "read"
    CHANGE = "change"


class Basis(StrEnum):
    """Who may, besides administrators: everybody known, maintainers of one or of all projects it works for, nobody."""

    KNOWN = "known"
    ONE_PROJECT = "one project"
    ALL_PROJECTS = "all projects"
    NOBODY = "nobody"


RUNNER_BASIS: Final[Mapping[tuple[RunnerType, RunnerAction], Basis]] = {
    (RunnerType.INSTANCE, RunnerAction.READ): Basis.KNOWN,
    (RunnerType.INSTANCE, RunnerAction.CHANGE): Basis.NOBODY,
    (RunnerType.GROUP, RunnerAction.READ): Basis.ONE_PROJECT,
    (RunnerType.GROUP, RunnerAction.CHANGE): Basis.NOBODY,
    (RunnerType.PROJECT, RunnerAction.READ): Basis.ONE_PROJECT,
    (RunnerType.PROJECT, RunnerAction.CHANGE): Basis.ALL_PROJECTS,
}
"""A group runner works for all projects of its organisation, which only administrators administer."""


_WHO_MAY_CHANGE: Final[Mapping[RunnerType, str]] = {
    RunnerType.INSTANCE: "only an administrator may change an instance runner.",
    RunnerType.GROUP: "only an administrator may change a group runner.",
    RunnerType.PROJECT: "only who maintains all of its projects may change a project runner.",
}


def require_runner(caller: Caller, action: RunnerAction, runner_type: RunnerType, lowest: int, highest: int) -> None:
    """Raise unless the caller may do it. Whoever may not even read learns nothing: `NotFound`.

    `lowest` and `highest` are the caller's access levels in the projects that the runner works for.
    """
    if _may(caller, RUNNER_BASIS[runner_type, action], lowest, highest):
        return
    if not _may(caller, RUNNER_BASIS[runner_type, RunnerAction.READ], lowest, highest):
        raise NotFound("404 Runner Not Found")
    raise Forbidden(f"403 Forbidden: {_WHO_MAY_CHANGE[runner_type]}")


def _may(caller: Caller, basis: Basis, lowest: int, highest: int) -> bool:
    answers = {
        Basis.KNOWN: caller.is_known,
        Basis.ONE_PROJECT: highest >= MAINTAINER,
        Basis.ALL_PROJECTS: lowest >= MAINTAINER,
        Basis.NOBODY: False,
    }
    return caller.is_admin or answers[basis]
