"""Protected environments: whom their rules let deploy, and what the others are told."""

from collections.abc import Mapping
from typing import Any

import pytest

from domain.environments.protected_environments import Deployer, DeployLevel, EnvironmentRule, checked_level, refusal
from domain.errors import Invalid

DEVELOPERS, MAINTAINERS, ADMINISTRATORS = (DeployLevel(access_level=level) for level in (30, 40, 60))
ADA, GROUP = DeployLevel(user_id=7), DeployLevel(group_id=5)
GROUP_AND_ABOVE = DeployLevel(group_id=5, inherited=True)


def of(level: int = 0, **more: Any) -> Deployer:
    """Somebody (7) with a level in the project."""
    values: dict[str, Any] = {"user_id": 7, "levels": {0: level}, **more}
    return Deployer(**values)


@pytest.mark.parametrize(
    ("levels", "who", "may"),
    [
        ((DEVELOPERS,), of(20), False),
        ((DEVELOPERS,), of(30), True),
        ((MAINTAINERS,), of(30), False),
        ((MAINTAINERS,), of(50), True),
        ((ADMINISTRATORS,), of(50), False),
        ((ADMINISTRATORS,), of(0, is_admin=True), True),
        ((ADA,), of(20), True),
        ((ADA,), of(50, user_id=8), False),
        ((ADA, MAINTAINERS), of(50, user_id=8), True),
        ((GROUP,), of(20, groups=frozenset({5})), True),
        ((GROUP,), of(50, groups=frozenset({6})), False),
        ((GROUP,), of(50, groups_above=frozenset({5})), False),
        ((GROUP_AND_ABOVE,), of(20, groups_above=frozenset({5})), True),
        ((DeployLevel(),), of(50), False),
        ((), of(50), False),
        ((), of(0, is_admin=True), True),
    ],
)
def test_a_rule_lets_in_whom_one_of_its_entries_fits(levels: tuple[DeployLevel, ...], who: Deployer, may: bool) -> None:
    assert (refusal("live", [EnvironmentRule(levels)], who) == "") is may


@pytest.mark.parametrize(
    ("levels", "may"),
    [({0: 40, 3: 50}, True), ({0: 40, 3: 30}, False), ({0: 30, 3: 50}, False), ({3: 50}, False)],
)
def test_every_rule_that_fits_must_let_somebody_in(levels: Mapping[int, int], may: bool) -> None:
    rules = [EnvironmentRule((MAINTAINERS,)), EnvironmentRule((MAINTAINERS,), holder=3)]
    assert (refusal("live", rules, Deployer(7, levels=levels)) == "") is may


def test_what_no_rule_protects_is_open_to_everybody() -> None:
    assert refusal("live", [], of(0)) == ""


def test_a_refusal_says_whose_rule_it_is_and_whom_it_names_but_nobody_by_name() -> None:
    own = refusal("live", [EnvironmentRule((DeployLevel(user_id=9), MAINTAINERS, DEVELOPERS))], of(20))
    assert own == (
        "environment live is protected: by a rule of the project, only developers and maintainers and the people and "
        "groups that it names may deploy to it."
    )
    assert "by a rule of its group, only maintainers may" in refusal("live", [EnvironmentRule((MAINTAINERS,), 3)], of())
    assert "only administrators may" in refusal("live", [EnvironmentRule(())], of(50))


@pytest.mark.parametrize("named", [(None, None, None), (40, 7, None), (None, 7, 5), (20, None, None), (50, None, None)])
def test_an_entry_names_exactly_one_that_there_is(named: tuple[int | None, int | None, int | None]) -> None:
    with pytest.raises(Invalid, match="deploy_access_levels is invalid"):
        checked_level(*named)
