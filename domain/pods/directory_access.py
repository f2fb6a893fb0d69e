"""Who may do what with a directory: one table (docs/pods.md, "The directory")."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from domain.errors import Forbidden

AUDIENCE: Final = "perdure:directory"
TOKEN_TYPE: Final = "perdure-directory+jwt"  # noqa: S105  # what kind a token is, not one
"""`aud` and `typ` of the tokens by which pods show themselves; `iss` is `perdure:` and the pod's name."""
MAX_LIFETIME: Final = 600
"""Seconds for which such a token may be good at most."""


class Role(Enum):
    """By what a caller is known."""

    ADMIN = "admin token"
    READER = "read token"
    POD = "a pod's own signature"


class Action(Enum):
    """What a call does."""

    READ = "read the directory"
    MAKE_POD = "make a pod, change its name, weight or state"
    CHANGE_POD = "change addresses and public keys of a pod"
    REMOVE_POD = "remove a pod"
    CLAIM = "claim, confirm, release"
    LIST_CLAIMS = "list claims"
    MOVE = "move an organisation"


class Scope(Enum):
    """Of which pods."""

    ALL = "all pods"
    OWN = "its own"


ALLOWED: Final[Mapping[Action, Mapping[Role, Scope]]] = {
    Action.READ: {Role.ADMIN: Scope.ALL, Role.READER: Scope.ALL, Role.POD: Scope.ALL},
    Action.MAKE_POD: {Role.ADMIN: Scope.ALL},
    Action.CHANGE_POD: {Role.ADMIN: Scope.ALL, Role.POD: Scope.OWN},
    Action.REMOVE_POD: {Role.ADMIN: Scope.ALL},
    Action.CLAIM: {Role.ADMIN: Scope.ALL, Role.POD: Scope.OWN},
    Action.LIST_CLAIMS: {Role.ADMIN: Scope.ALL, Role.POD: Scope.OWN},
    Action.MOVE: {Role.ADMIN: Scope.ALL},
}


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls; `pod_number` is that of a pod, else None."""

    role: Role
    pod_number: int | None = None


def require(caller: Caller, action: Action, pod_number: int | None = None) -> None:
    """Pass who may do this with what is of a pod, None for all. Raises `Forbidden`."""
    scope = ALLOWED[action].get(caller.role)
    if scope is None:
        raise Forbidden(f"Who shows {caller.role.value} may not: {action.value}.")
    if scope is Scope.OWN and (pod_number is None or pod_number != caller.pod_number):
        raise Forbidden(f"A pod may do this for itself only: {action.value}.")
