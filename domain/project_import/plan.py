"""What an import is to do, and what it says of itself.

A plan is made from what the source has and what is here already. So an import that was cut off, or is run again, finds
what it did before, and does only the rest. It removes nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, TypeAlias

Document: TypeAlias = Mapping[str, Any]
"""A JSON object of GitLab's API."""

MADE: Final = "{id}"
"""In the route of a call: the id that the first call of its item answered."""


class Outcome(StrEnum):
    """What becomes of something that is carried."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"  # it was here already, as it should be


@dataclass(frozen=True, slots=True)
class Call:
    """A call of our API; `route` is below that of the project. Its body may be secret."""

    method: str
    route: str
    body: Document = field(default_factory=dict, repr=False)

    def of(self, made: object) -> "Call":
        """The same call on what the first call has made."""
        return Call(self.method, self.route.replace(MADE, str(made)), self.body)


@dataclass(frozen=True, slots=True)
class Item:
    """Something that is carried, by calls in their order; by none if it is here as it should be.

    `if_refused` is what to do when the server refuses one of the calls, `then` is told when it has taken them all.
    """

    kind: str
    name: str
    outcome: Outcome
    calls: tuple[Call, ...] = ()
    detail: str = ""
    if_refused: str = ""
    then: "tuple[NotCarried, ...]" = ()


@dataclass(frozen=True, slots=True)
class NotCarried:
    """Something, or `count` of a kind, that stays behind: why, and what people can do about it.

    `failed` says that it could be carried, but was not.
    """

    kind: str
    name: str
    reason: str
    advice: str = ""
    count: int = 1
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done for one part of a project, in this order, and what cannot be."""

    items: tuple[Item, ...] = ()
    not_carried: tuple[NotCarried, ...] = ()


def unchanged(kind: str, name: str, detail: str = "") -> Item:
    """Something that is here as it should be."""
    return Item(kind, name, Outcome.UNCHANGED, detail=detail)


def together(plans: Iterable[Plan]) -> Plan:
    """Several plans as one."""
    found = list(plans)
    return Plan(
        tuple(item for plan in found for item in plan.items),
        tuple(one for plan in found for one in plan.not_carried),
    )


def differing(wanted: Document, present: Document) -> dict[str, Any]:
    """The fields whose values here are others; a text that is missing is an empty one."""
    return {name: value for name, value in wanted.items() if value != _alike(present.get(name), value)}


def _alike(value: Any, wanted: Any) -> Any:
    return "" if value is None and isinstance(wanted, str) else value
