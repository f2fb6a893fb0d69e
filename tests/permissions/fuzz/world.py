"""What is there, as the model knows it: people, groups, projects and what they show. Records, without any judgement."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar


@dataclass
class Person:
    """Somebody with an account; a bot is that of a project's or group's token."""

    name: str
    key: int
    admin: bool = False
    external: bool = False
    blocked: bool = False
    makes_groups: bool = True
    bot: bool = False


@dataclass
class Group:
    """A group; `tiers` has the least level that may deploy to environments of a tier in its projects."""

    key: int
    above: "Group | None" = None
    visibility: str = "private"
    members: dict[str, int] = field(default_factory=dict)
    makes_projects: str = "developer"
    makes_groups: str = "owner"
    tiers: dict[str, int] = field(default_factory=dict)


@dataclass
class Project:
    """A project: protected branches with the least levels that push and merge, tags with the one that makes them."""

    key: int
    group: Group
    visibility: str = "private"
    archived: bool = False
    members: dict[str, int] = field(default_factory=dict)
    shares: dict[str, tuple[Group, int]] = field(default_factory=dict)
    branches: dict[str, tuple[int, int]] = field(default_factory=lambda: {"main": (40, 40)})
    tags: dict[str, int] = field(default_factory=dict)
    environments: dict[str, int] = field(default_factory=dict)


class Thing(NamedTuple):
    """Something of which it counts who made it, which level its bot has, or to which environment it deploys."""

    author: str = ""
    level: int = 0
    name: str = ""


@dataclass
class Credential:
    """What somebody shows. `scopes` None is a session: everything; `good` is over once it ended or was revoked.

    `maker` is the token that made it, with which it ends; `makes` whether it makes others.
    """

    name: str
    person: str
    secret: str = ""
    scopes: tuple[str, ...] | None = None
    good: bool = True
    key: int = 0
    kind: str = "token"
    group: str = ""
    project: str = ""
    maker: "Credential | None" = None
    makes: bool = True

    def chain(self) -> "list[Credential]":
        """It, what made it, what made that, and so on."""
        return [self, *(self.maker.chain() if self.maker is not None else ())]


class Verdict(NamedTuple):
    """What the model says of a call: whether it is allowed, None for no opinion, and by which rule."""

    allowed: bool | None
    rule: str


@dataclass
class World:
    """All that counts."""

    people: dict[str, Person] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    projects: dict[str, Project] = field(default_factory=dict)
    credentials: dict[str, Credential] = field(default_factory=dict)
    things: dict[tuple[str, int], Thing] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    """Ids of what acts have made, by the name of the act."""
    sides: dict[str, dict[str, str]] = field(default_factory=dict)
    """What parameters of paths stand for, by the side of the place."""
    made: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    """Names of the acts that have made something, by the side and the parameter that stands for it."""


Place = TypeVar("Place", Group, Project)


def named(table: Mapping[str, Place], key: Any) -> list[Place]:
    """The group or project of an id, if there is one."""
    return [each for each in table.values() if str(each.key) == str(key)]
