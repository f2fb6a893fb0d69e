"""What the path of a request says of its pod: one table of all addresses, and how each is read."""

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final
from urllib.parse import unquote

from domain.pods.directory import Directory, IdKind

_MAX_ID: Final = 2**53
_ID: Final = re.compile(r"[0-9]{1,16}")
_TRIGGER: Final = re.compile(r"/api/v4/projects/[^/]+/(ref/.+/)?trigger/pipeline")


class By(Enum):
    """What decides where a request without a credential goes."""

    ID = "the id in the path"
    NAMED = "the project or group in the path"
    POD = "the number of the pod in the path"
    ORGANISATION = "the organisation that the path begins with"
    CALLER = "who calls; without a token, the first pod"
    BODY = "the token in the body"
    TRIGGER = "the token of a job in the body or query"
    JOB = "the id of the job in the path; where something has moved, the token in the body"
    PERSON = "the user name in the body"
    ANY = "any pod: all give the same response"
    ALL = "all pods: their responses are joined"
    ROUTER = "the router itself"
    PODS = "one pod asks another directly: no router passes it on"


@dataclass(frozen=True, slots=True)
class Address:
    """Paths that begin with these segments; the one after them is what is read. No `methods`: all."""

    start: tuple[str, ...]
    by: By
    methods: frozenset[str] = frozenset()
    is_whole: bool = False
    """Only the path that ends there."""
    of: IdKind | None = None
    """What an id in the path is of, where that may have moved."""


def _address(path: str, by: By, *methods: str, whole: bool = False, of: IdKind | None = None) -> Address:
    return Address(tuple(path.split("/")[1:]) if path != "/" else (), by, frozenset(methods), whole, of)


_FOR_PODS: Final = _address("/-/pods", By.PODS)
TABLE: Final = (
    _address("/-/jwks", By.ALL),
    _address("/oauth/discovery/keys", By.ALL),
    _address("/.well-known/openid-configuration", By.ANY),
    _address("/-/front", By.ROUTER),
    _FOR_PODS,
    _address("/metrics", By.ROUTER),
    _address("/-/assets", By.ANY),
    _address("/-/api", By.ANY),
    _address("/favicon.ico", By.ANY),
    _address("/-/health", By.ANY),
    _address("/-/liveness", By.ANY),
    _address("/-/ready", By.ANY),
    _address("/-/events", By.CALLER),
    _address("/-/profile", By.CALLER),
    _address("/-/visits", By.POD),
    _address("/-/components", By.ANY),
    _address("/-/palette", By.CALLER),
    _address("/-/runners", By.CALLER),
    _address("/-/unsubscribe", By.ID, of=IdKind.PROJECT),
    _address("/-/project", By.ID, of=IdKind.PROJECT),
    _address("/projects", By.CALLER),
    _address("/jwt/auth", By.CALLER),
    _address("/users/sign_in", By.PERSON, "POST", whole=True),
    _address("/users", By.CALLER),
    _address("/api/hooks", By.ID, of=IdKind.HOOK),
    _address("/api/graphql", By.ANY),
    _address("/api/v4/version", By.ANY),
    _address("/api/v4/metadata", By.ANY),
    _address("/api/v4/templates", By.ANY),
    _address("/api/v4/features", By.ANY),
    _address("/api/v4/license", By.ANY),
    _address("/api/v4/markdown", By.CALLER),
    _address("/api/v4/projects", By.NAMED, of=IdKind.PROJECT),
    _address("/api/v4/groups", By.NAMED, of=IdKind.GROUP),
    _address("/api/v4/namespaces", By.NAMED, of=IdKind.GROUP),
    _address("/api/v4/organizations", By.NAMED, of=IdKind.GROUP),
    _address("/api/v4/users", By.ID),
    _address("/api/v4/hooks", By.ID),
    _address("/api/v4/keys", By.ID),
    _address("/api/v4/personal_access_tokens", By.ID),
    _address("/api/v4/jobs/request", By.BODY),
    _address("/api/v4/jobs", By.JOB, "PUT"),
    _address("/api/v4/jobs", By.ID),
    _address("/api/v4/runners/all", By.CALLER),
    _address("/api/v4/runners/managers", By.BODY),
    _address("/api/v4/runners/queue", By.CALLER),
    _address("/api/v4/runners/verify", By.BODY),
    _address("/api/v4/runners/router", By.CALLER),
    _address("/api/v4/runners/reset_authentication_token", By.BODY),
    _address("/api/v4/runners/reset_registration_token", By.CALLER),
    _address("/api/v4/runners", By.BODY, "POST", "DELETE", whole=True),
    _address("/api/v4/runners", By.ID),
    _address("/api/v4/pod", By.CALLER),
    _address("/api/v4", By.CALLER),
    _address("/groups", By.ORGANISATION),
    _address("/", By.CALLER, whole=True),
    _address("/", By.ORGANISATION),
)
"""The first one that fits holds. Every route of the application is in it (`tests/api/test_pod_addresses.py`)."""


def is_trigger(method: str, path: str) -> bool:
    """Whether a call starts a pipeline, and may show the token of a job as a parameter, as GitLab's examples do."""
    return method == "POST" and _TRIGGER.fullmatch(path) is not None


def address_of(method: str, path: str) -> Address:
    """The address of a request; `path` as it was sent, without its query.

    What is percent-encoded is read as the application reads it: `/%2D/pods` is `/-/pods`, and `/-%2Fpods` too.
    """
    segments = tuple(map(unquote, segments_of(path)))
    if segments_of(unquote(path))[: len(_FOR_PODS.start)] == _FOR_PODS.start:
        return _FOR_PODS
    for address in _CANDIDATES.get(_key(segments), _OTHERS):
        size = len(address.start)
        if segments[:size] != address.start or (address.is_whole and len(segments) != size):
            continue
        if not address.methods or method in address.methods:
            return address
    return TABLE[-1]


def segments_of(path: str) -> tuple[str, ...]:
    """What stands between the slashes."""
    bare = path.strip("/")
    return tuple(bare.split("/")) if bare else ()


def pod_in_path(address: Address, path: str, directory: Directory) -> int | None:
    """The number of the pod that a path names; None where it names none, or an organisation that nobody knows."""
    if address.by not in (By.ID, By.JOB, By.POD, By.NAMED, By.ORGANISATION):
        return None
    rest = segments_of(path)[len(address.start) :]
    if not rest:
        return None
    if address.by in (By.ID, By.JOB, By.NAMED) and _ID.fullmatch(rest[0]):
        row_id = int(rest[0])
        return directory.of_id(row_id, address.of) if row_id < _MAX_ID else None
    if address.by is By.POD:
        return int(rest[0]) if _ID.fullmatch(rest[0]) else None
    if address.by in (By.ID, By.JOB):
        return None
    return directory.organisations.get(unquote(rest[0]).partition("/")[0].lower())


def _key(segments: tuple[str, ...]) -> str:
    """By what addresses are looked up: the resource of the REST API, else the first segment."""
    if segments[:2] == ("api", "v4"):
        return f"v4 {segments[2]}" if len(segments) > 2 else "v4"
    return segments[0] if segments else ""


_OTHERS: Final = tuple(address for address in TABLE if address.start in ((), ("api", "v4")))
_CANDIDATES: Final = {
    key: tuple(address for address in TABLE if _key(address.start) == key or address in _OTHERS)
    for key in {_key(address.start) for address in TABLE}
}
