"""Protected environments: who may run jobs of one, stop it, or report deployments to it.

A rule protects one environment of a project by its name, or in all projects of a group those of a deployment tier. Of
several rules that fit, each must let somebody in. It holds for every job with `environment`, whatever its `action`.
Source: GitLab: "Protected environments", "Protected environments API"; its `ProtectedEnvironments::Authorizable`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from domain.errors import Invalid

DEVELOPERS, MAINTAINERS, ADMINISTRATORS = 30, 40, 60

LEVEL_WORDS: Final[Mapping[int, str]] = {
    DEVELOPERS: "Developers + Maintainers",
    MAINTAINERS: "Maintainers",
    ADMINISTRATORS: "Administrators",
}
"""The access levels that a rule may name, in GitLab's words."""

_WHO: Final[Mapping[int, str]] = {
    DEVELOPERS: "developers and maintainers",
    MAINTAINERS: "maintainers",
    ADMINISTRATORS: "administrators",
}


@dataclass(frozen=True, slots=True)
class DeployLevel:
    """One entry of a rule: an access level, a person or a group. One that names nothing any more lets nobody in.

    `inherited`: members of the groups above the named one count as its members, too.
    """

    access_level: int | None = None
    user_id: int | None = None
    group_id: int | None = None
    inherited: bool = False


@dataclass(frozen=True, slots=True)
class EnvironmentRule:
    """A protected environment. `holder` is the group whose rule it is, 0 for the project's own."""

    levels: tuple[DeployLevel, ...]
    holder: int = 0


@dataclass(frozen=True, slots=True)
class Deployer:
    """Somebody who asks. `levels` are their access levels where rules are held: in groups by id, in the project as 0.

    `groups` are those of the named groups that they are a member of themselves, `groups_above` those by a group above
    them.
    """

    user_id: int
    is_admin: bool = False
    levels: Mapping[int, int] = field(default_factory=dict)
    groups: frozenset[int] = frozenset()
    groups_above: frozenset[int] = frozenset()


def refusal(environment: str, rules: Iterable[EnvironmentRule], who: Deployer) -> str:
    """Why somebody may not deploy to an environment that these rules protect; empty if they may."""
    for rule in rules:
        if not _lets_in(rule, who):
            place = "a rule of its group" if rule.holder else "a rule of the project"
            return f"environment {environment} is protected: by {place}, only {_named(rule)} may deploy to it."
    return ""


def _lets_in(rule: EnvironmentRule, who: Deployer) -> bool:
    return who.is_admin or any(_fits(level, rule, who) for level in rule.levels)


def _fits(level: DeployLevel, rule: EnvironmentRule, who: Deployer) -> bool:
    if level.user_id is not None:
        return level.user_id == who.user_id
    if level.group_id is not None:
        return level.group_id in who.groups or (level.inherited and level.group_id in who.groups_above)
    return level.access_level is not None and who.levels.get(rule.holder, 0) >= level.access_level


def _named(rule: EnvironmentRule) -> str:
    """Whom a rule names, without saying which people and groups: not everybody may know of them."""
    lowest = min((level.access_level for level in rule.levels if level.access_level is not None), default=None)
    words = [] if lowest is None else [_WHO[lowest]]
    if any(level.user_id is not None or level.group_id is not None for level in rule.levels):
        words.append("the people and groups that it names")
    return " and ".join(words) or _WHO[ADMINISTRATORS]


def checked_level(access_level: int | None, user_id: int | None, group_id: int | None) -> None:
    """Raise `Invalid` unless an entry names exactly one: an access level that there is, a person or a group."""
    if sum(value is not None for value in (access_level, user_id, group_id)) != 1:
        raise Invalid("deploy_access_levels is invalid: each entry names one of access_level, user_id and group_id.")
    if access_level is not None and access_level not in LEVEL_WORDS:
        raise Invalid(
            "deploy_access_levels is invalid: access_level is 30 (developers and maintainers), 40 (maintainers) "
            "or 60 (administrators)."
        )
