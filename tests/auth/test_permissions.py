"""Who may do what."""

import pytest

from auth.permissions import (
    DEVELOPER,
    GUEST,
    LEVEL_FOR,
    MAINTAINER,
    NOBODY,
    OWNER,
    REPORTER,
    Action,
    Caller,
    RunnerAction,
    level_of,
    require,
    require_admin,
    require_runner,
)
from domain.errors import Forbidden, NotFound, PerdureError, Unauthenticated
from domain.runners.matching import RunnerType

ADA = Caller(1, "ada")
ROOT = Caller(2, "root", is_admin=True)
LEVELS = (0, GUEST, REPORTER, DEVELOPER, MAINTAINER, OWNER)


@pytest.mark.parametrize("action", list(Action))
@pytest.mark.parametrize("level", LEVELS)
def test_a_member_may_do_what_the_level_allows(action: Action, level: int) -> None:
    if level >= LEVEL_FOR[action]:
        require(ADA, action, level, "private")
        return
    with pytest.raises(Forbidden if level >= GUEST else NotFound):
        require(ADA, action, level, "private")


@pytest.mark.parametrize("action", list(Action))
def test_an_administrator_may_do_everything(action: Action) -> None:
    require(ROOT, action, 0, "private")
    assert level_of(ROOT, 0, "private") == OWNER


@pytest.mark.parametrize(
    ("caller", "visibility", "action", "error"),
    [
        (NOBODY, "public", Action.PUSH, Unauthenticated),
        (NOBODY, "private", Action.READ, NotFound),
        (NOBODY, "private", Action.PUSH, NotFound),
        (ADA, "public", Action.RUN, Forbidden),
        (ADA, "private", Action.ADMINISTER, NotFound),
    ],
)
def test_whoever_may_not_read_learns_nothing(
    caller: Caller, visibility: str, action: Action, error: type[PerdureError]
) -> None:
    with pytest.raises(error) as raised:
        require(caller, action, 0, visibility)
    assert type(raised.value) is error


def test_everybody_may_read_what_is_public() -> None:
    require(NOBODY, Action.READ, 0, "public")
    require(ADA, Action.READ, 0, "public")


def test_the_installation_is_for_administrators() -> None:
    require_admin(ROOT)
    with pytest.raises(Forbidden, match="only an administrator"):
        require_admin(ADA)
    with pytest.raises(Unauthenticated):
        require_admin(NOBODY)


@pytest.mark.parametrize("runner_type", list(RunnerType))
@pytest.mark.parametrize("action", list(RunnerAction))
def test_what_one_may_do_with_a_runner_follows_from_its_projects(runner_type: RunnerType, action: RunnerAction) -> None:
    def may(caller: Caller, lowest: int = 0, highest: int = 0) -> bool:
        try:
            require_runner(caller, action, runner_type, lowest, highest)
        except PerdureError:
            return False
        return True

    reads = action is RunnerAction.READ
    instance, linked = runner_type is RunnerType.INSTANCE, runner_type is RunnerType.PROJECT
    assert may(ROOT)
    assert not may(NOBODY)
    assert may(ADA) == (reads and instance)
    assert may(ADA, 0, MAINTAINER) == reads
    assert may(ADA, MAINTAINER, MAINTAINER) == (reads or linked)
    assert may(ADA, DEVELOPER, DEVELOPER) == (reads and instance)


def test_a_runner_that_one_may_not_read_does_not_exist() -> None:
    with pytest.raises(NotFound):
        require_runner(ADA, RunnerAction.CHANGE, RunnerType.PROJECT, 0, DEVELOPER)
    with pytest.raises(Forbidden):
        require_runner(ADA, RunnerAction.CHANGE, RunnerType.PROJECT, 0, MAINTAINER)
