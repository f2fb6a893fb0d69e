"""Who may do what: tables of actions on projects, groups and runners, with a function each that answers.

Access levels are GitLab's: guest 10, reporter 20, developer 30, maintainer 40, owner 50.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from domain.errors import Forbidden, NotFound, Unauthenticated
from domain.runners.matching import RunnerType

GUEST, REPORTER, DEVELOPER, MAINTAINER, OWNER = 10, 20, 30, 40, 50

LEVEL_NAMES: Final = {
    GUEST: "guest",
    REPORTER: "reporter",
    DEVELOPER: "developer",
    MAINTAINER: "maintainer",
    OWNER: "owner",
}


class Action(StrEnum):
    """What a caller wants to do with a project: to know of it, to read it, to work with it, to administer or own it.

    To inspect is to read what is for developers: secure files, protected refs, resource groups, variables of pipelines.
    """

    SEE = "see"
    READ = "read"
    PUSH = "push"
    RUN = "run"
    INSPECT = "inspect"
    ADMINISTER = "administer"
    OWN = "own"


LEVEL_FOR: Final = {
    Action.SEE: GUEST,
    Action.READ: REPORTER,
    Action.PUSH: DEVELOPER,
    Action.RUN: DEVELOPER,
    Action.INSPECT: DEVELOPER,
    Action.ADMINISTER: MAINTAINER,
    Action.OWN: OWNER,
}


class GroupAction(StrEnum):
    """What a caller wants to do with a group."""

    SEE = "see"
    ADD_PROJECT = "add project"
    ADD_GROUP = "add group"
    ADMINISTER_CI = "administer CI"
    OWN = "own"


LEVEL_FOR_GROUP: Final = {
    GroupAction.SEE: GUEST,
    GroupAction.ADD_PROJECT: DEVELOPER,
    GroupAction.ADD_GROUP: MAINTAINER,
    GroupAction.ADMINISTER_CI: MAINTAINER,
    GroupAction.OWN: OWNER,
}
"""Variables and runners by maintainers, all else by owners; of what is made in it each group says more by itself."""

CREATION_LEVELS: Final[Mapping[str, int]] = {
    "developer": DEVELOPER,
    "maintainer": MAINTAINER,
    "owner": OWNER,
    "administrator": OWNER + 1,
    "noone": OWNER + 2,
}
"""GitLab's names of who may make things in a group."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls: a user, or nobody (`user_id` 0). `scopes` are those of the token shown; None where none was.

    `token_id` is the token shown, or that with which the session shown began; 0 for a password or a provider.
    A job that calls with its token is its user; `job_id` and `job_project_id` say which one it is, and `job_groups` are
    the ids of the groups around its project if that is in another pod. `visited_pod` is the number of this pod for who
    is at home in another one of the cluster.
    """

    user_id: int = 0
    username: str = ""
    is_admin: bool = False
    external: bool = False
    token_id: int = 0
    scopes: tuple[str, ...] | None = None
    address: str = ""
    job_id: int = 0
    job_project_id: int = 0
    job_groups: tuple[int, ...] = ()
    visited_pod: int | None = None

    @property
    def is_known(self) -> bool:
        """Whether the caller has shown who they are."""
        return self.user_id != 0

    @property
    def is_visitor(self) -> bool:
        """Whether another pod is the caller's home."""
        return self.visited_pod is not None


NOBODY: Final = Caller()


def level_of(caller: Caller, member_level: int, visibility: str) -> int:
    """The access level that a caller has in a project."""
    if caller.is_admin:
        return OWNER
    return max(member_level, REPORTER if is_open(caller, visibility) else 0)


def is_open(caller: Caller, visibility: str) -> bool:
    """Whether somebody may read a project or see a group without being a member."""
    return visibility == "public" or (visibility == "internal" and caller.is_known and not caller.external)


def require(caller: Caller, action: Action, member_level: int, visibility: str) -> None:
    """Raise unless the caller may do it. Whoever may not even read learns nothing: `NotFound`."""
    level = level_of(caller, member_level, visibility)
    if level >= LEVEL_FOR[action]:
        return
    if level < LEVEL_FOR[Action.SEE]:
        raise NotFound("Project Not Found")
    if not caller.is_known:
        raise Unauthenticated("Unauthorized")
    raise Forbidden("Forbidden")


def require_in_group(caller: Caller, action: GroupAction, member_level: int, visibility: str) -> None:
    """The same for a group."""
    level = OWNER if caller.is_admin else max(member_level, GUEST if is_open(caller, visibility) else 0)
    if level >= LEVEL_FOR_GROUP[action]:
        return
    if level < LEVEL_FOR_GROUP[GroupAction.SEE]:
        raise NotFound("Group Not Found")
    if not caller.is_known:
        raise Unauthenticated("Unauthorized")
    raise Forbidden("Forbidden")


def require_creation(caller: Caller, what: str, least: str, member_level: int) -> None:
    """Raise unless a group lets the caller make `what` in it: `least` is one of `CREATION_LEVELS`."""
    level = CREATION_LEVELS["administrator"] if caller.is_admin else member_level
    if level < CREATION_LEVELS[least]:
        raise Forbidden(f"Forbidden: the group lets {least} make {what} in it.")


def require_known(caller: Caller) -> None:
    """Raise unless the caller has shown who they are."""
    if not caller.is_known:
        raise Unauthenticated("Unauthorized")


def require_admin(caller: Caller) -> None:
    """Raise unless the caller administers the installation."""
    if not caller.is_known:
        raise Unauthenticated("Unauthorized")
    if not caller.is_admin:
        raise Forbidden("Forbidden: only an administrator may do this.")


class RunnerAction(StrEnum):
    """What a caller wants to do with a runner; to link, pause or remove it is to change it."""

    READ = "read"
    CHANGE = "change"


class Basis(StrEnum):
    """Who may, besides administrators: everybody known, maintainers of one or of all projects it works for, owners."""

    KNOWN = "known"
    ONE_PROJECT = "one project"
    ALL_PROJECTS = "all projects"
    GROUP_OWNER = "group owner"
    NOBODY = "nobody"


RUNNER_BASIS: Final[Mapping[tuple[RunnerType, RunnerAction], Basis]] = {
    (RunnerType.INSTANCE, RunnerAction.READ): Basis.KNOWN,
    (RunnerType.INSTANCE, RunnerAction.CHANGE): Basis.NOBODY,
    (RunnerType.GROUP, RunnerAction.READ): Basis.ONE_PROJECT,
    (RunnerType.GROUP, RunnerAction.CHANGE): Basis.GROUP_OWNER,
    (RunnerType.PROJECT, RunnerAction.READ): Basis.ONE_PROJECT,
    (RunnerType.PROJECT, RunnerAction.CHANGE): Basis.ALL_PROJECTS,
}
"""A group runner works for all projects of its group: the maintainers of the group see it, its owners change it."""


_WHO_MAY_CHANGE: Final[Mapping[RunnerType, str]] = {
    RunnerType.INSTANCE: "only an administrator may change an instance runner.",
    RunnerType.GROUP: "only an owner of its group may change a group runner.",
    RunnerType.PROJECT: "only who maintains all of its projects may change a project runner.",
}


def require_runner(caller: Caller, action: RunnerAction, runner_type: RunnerType, lowest: int, highest: int) -> None:
    """Raise unless the caller may do it. Whoever may not even read learns nothing: `NotFound`.

    `lowest` and `highest` are the caller's access levels in the projects that the runner works for; for a group runner
    `lowest` is the level in its group.
    """
    if _may(caller, RUNNER_BASIS[runner_type, action], lowest, highest):
        return
    if not _may(caller, RUNNER_BASIS[runner_type, RunnerAction.READ], lowest, highest):
        raise NotFound("Runner Not Found")
    raise Forbidden(f"Forbidden: {_WHO_MAY_CHANGE[runner_type]}")


def _may(caller: Caller, basis: Basis, lowest: int, highest: int) -> bool:
    answers = {
        Basis.KNOWN: caller.is_known,
        Basis.ONE_PROJECT: highest >= MAINTAINER,
        Basis.ALL_PROJECTS: lowest >= MAINTAINER,
        Basis.GROUP_OWNER: lowest >= OWNER,
        Basis.NOBODY: False,
    }
    return caller.is_admin or answers[basis]


class ScheduleAction(StrEnum):
    """What a caller wants to do with a pipeline schedule. To read it is to read its project."""

    PLAY = "play"
    CHANGE = "change"
    """Write what it runs, and when."""
    ADMINISTER = "administer"
    """See its variables, take it over, delete it."""


def may_schedule(caller: Caller, action: ScheduleAction, level: int, *, is_owner: bool) -> bool:
    """Whether a caller may do it. `level` is their access level in the project; `is_owner`: the schedule is theirs.

    Only who owns a schedule changes it, as in GitLab: it runs with the rights of its owner, and another one could
    borrow them. Maintainers take it over first.
    """
    runs = level >= LEVEL_FOR[Action.RUN]
    answers = {
        ScheduleAction.PLAY: runs,
        ScheduleAction.CHANGE: caller.is_admin or (is_owner and runs),
        ScheduleAction.ADMINISTER: level >= MAINTAINER or (is_owner and runs),
    }
    return answers[action]


def require_schedule(caller: Caller, action: ScheduleAction, level: int, *, is_owner: bool) -> None:
    """Raise unless the caller, who may read the project, may do it."""
    if may_schedule(caller, action, level, is_owner=is_owner):
        return
    if not caller.is_known:
        raise Unauthenticated("Unauthorized")
    raise Forbidden("Forbidden")


class NoteAction(StrEnum):
    """What a caller wants to do with notes on a merge request that they may read; whoever writes one has to be known.

    Source of the rules: GitLab's `NotePolicy`.
    """

    INTERNAL = "internal"
    """Read, write and change those that are for members."""
    CHANGE = "change"
    """Change a note, or delete it."""
    RESOLVE = "resolve"


def may_note(caller: Caller, action: NoteAction, level: int, member_level: int, *, is_author: bool = False) -> bool:
    """Whether a caller may do it. `level` is theirs in the project, `member_level` the one that they have as a member.

    `is_author`: the note is theirs; for resolving, the merge request. Who reads a public project is no reporter of it.
    """
    answers = {
        NoteAction.INTERNAL: caller.is_admin or member_level >= REPORTER,
        NoteAction.CHANGE: is_author or level >= MAINTAINER,
        NoteAction.RESOLVE: is_author or level >= DEVELOPER,
    }
    return caller.is_known and answers[action]


def require_note(caller: Caller, action: NoteAction, level: int, member_level: int, *, is_author: bool = False) -> None:
    """Raise unless the caller, who may read the merge request, may do it."""
    if not caller.is_known:
        raise Unauthenticated("Unauthorized")
    if not may_note(caller, action, level, member_level, is_author=is_author):
        raise Forbidden("Forbidden")


def require_planning(caller: Caller, member_level: int) -> None:
    """Raise unless the caller may write labels and milestones: reporters who are members, as in GitLab."""
    if not caller.is_known:
        raise Unauthenticated("Unauthorized")
    if not may_plan(caller, member_level):
        raise Forbidden("Forbidden")


def may_plan(caller: Caller, member_level: int) -> bool:
    """Whether the caller may write labels and milestones."""
    return caller.is_admin or (caller.is_known and member_level >= REPORTER)
