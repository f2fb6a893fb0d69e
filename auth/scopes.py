"""What an access token may be used for: GitLab's scopes, as a table of what each permits."""

from collections.abc import Collection
from enum import StrEnum
from typing import Final

from domain.errors import Forbidden, Invalid


class Scope(StrEnum):
    """The scopes of access tokens."""

    API = "api"
    READ_API = "read_api"
    READ_USER = "read_user"
    READ_REPOSITORY = "read_repository"
    WRITE_REPOSITORY = "write_repository"
    READ_REGISTRY = "read_registry"
    WRITE_REGISTRY = "write_registry"
    CREATE_RUNNER = "create_runner"
    MANAGE_RUNNER = "manage_runner"
    SELF_ROTATE = "self_rotate"


class Use(StrEnum):
    """What a token is shown for."""

    READ_API = "read the API"
    WRITE_API = "write to the API"
    READ_SELF = "read who it belongs to"
    CREATE_RUNNER = "create runners"
    MANAGE_RUNNER = "change runners"
    ROTATE_SELF = "replace itself"
    FETCH = "fetch from repositories"
    PUSH = "push to repositories"
    PULL_IMAGE = "pull images"
    PUSH_IMAGE = "push images"


PERMITS: Final[dict[Scope, frozenset[Use]]] = {
    Scope.API: frozenset(Use),
    Scope.READ_API: frozenset({Use.READ_API, Use.READ_SELF, Use.FETCH, Use.PULL_IMAGE}),
    Scope.READ_USER: frozenset({Use.READ_SELF}),
    Scope.READ_REPOSITORY: frozenset({Use.FETCH}),
    Scope.WRITE_REPOSITORY: frozenset({Use.FETCH, Use.PUSH}),
    Scope.READ_REGISTRY: frozenset({Use.PULL_IMAGE}),
    Scope.WRITE_REGISTRY: frozenset({Use.PULL_IMAGE, Use.PUSH_IMAGE}),
    Scope.CREATE_RUNNER: frozenset({Use.CREATE_RUNNER}),
    Scope.MANAGE_RUNNER: frozenset({Use.MANAGE_RUNNER}),
    Scope.SELF_ROTATE: frozenset({Use.ROTATE_SELF}),
}

OF_PROJECTS: Final = frozenset(Scope) - {Scope.READ_USER}
"""The scopes that tokens of projects and groups may have."""

OF_DEPLOYMENT: Final = frozenset({Scope.READ_REPOSITORY, Scope.READ_REGISTRY, Scope.WRITE_REGISTRY})
"""The scopes of deploy tokens; GitLab's others are for packages and proxies, which are not here."""

_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_SELF: Final = frozenset({"/api/v4/user", "/api/v4/events", "/api/v4/personal_access_tokens/self"})


def use_of(method: str, path: str) -> Use:
    """What a call of the REST API uses its token for."""
    path = path.rstrip("/")
    if method in _SAFE:
        return Use.READ_SELF if path in _SELF else Use.READ_API
    if path == "/api/v4/user/runners":
        return Use.CREATE_RUNNER
    if path == "/api/v4/personal_access_tokens/self/rotate":
        return Use.ROTATE_SELF
    return Use.MANAGE_RUNNER if path.startswith("/api/v4/runners/") else Use.WRITE_API


def permits(scopes: Collection[str], use: Use) -> bool:
    """Whether one of the scopes is enough."""
    return any(use in PERMITS[Scope(scope)] for scope in scopes)


def require_scope(scopes: Collection[str], use: Use) -> None:
    """Raise `Forbidden` unless one of the scopes is enough; the message names those that would be."""
    if permits(scopes, use):
        return
    enough = ", ".join(scope for scope, uses in PERMITS.items() if use in uses)
    raise Forbidden(
        f"insufficient_scope: this token may not {use}; it has {', '.join(scopes) or 'no scope'}, and needs one of "
        f"{enough}."
    )


def checked_scopes(scopes: Collection[str], known: Collection[Scope] = tuple(Scope)) -> list[str]:
    """The scopes of a new token, in order. Raises `Invalid` for none and for unknown ones."""
    unknown = sorted(set(scopes) - set(known))
    if not scopes or unknown:
        what = f"{', '.join(unknown)} is unknown" if unknown else "give one at least"
        raise Invalid(f"scopes does not have a valid value: {what}; there are {', '.join(sorted(known))}.")
    return [scope for scope in Scope if scope in scopes]
