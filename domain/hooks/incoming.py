"""What a forge's webhook says: whether it is genuine, which call it is, and what it wants.

Rules of GitHub ("Validating webhook deliveries"), of Gitea and Forgejo (webhook signatures), of GitLab (secret token,
or a signing token by the Standard Webhooks specification).
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from domain.variables.predefined import ExternalPullRequestFacts

TOLERANCE: Final = timedelta(minutes=5)
"""How old, or how early, a signed call with a time may be."""
SIGNING: Final = "whsec_"
"""How a secret of Standard Webhooks begins; the key is what follows, in base64."""
MAX_ID: Final = 200
MAX_SIGNATURES: Final = 10
"""Of one call: while a secret is exchanged there are two."""

Headers = Mapping[str, str]
"""By name in lower case."""


class Forge(StrEnum):
    """Who calls. Forgejo is a Gitea that signs under its own name too."""

    GITHUB = "github"
    GITEA = "gitea"
    FORGEJO = "forgejo"
    GITLAB = "gitlab"


class Wish(StrEnum):
    """What a call wants."""

    NOTHING = "nothing"
    PULL = "pull"
    PIPELINE = "pipeline"


@dataclass(frozen=True, slots=True)
class Event:
    """A call as far as it concerns us. `request` is there for a pull request that wants a pipeline."""

    name: str
    wish: Wish
    request: ExternalPullRequestFacts | None = None

    def document(self) -> dict[str, Any]:
        """The pull request as it is kept."""
        return {} if self.request is None else asdict(self.request)


def is_genuine(forge: Forge, secret: str, headers: Headers, body: bytes, now: datetime) -> bool:
    """Whether whoever calls has the secret, by the raw body; compared in constant time."""
    return _GENUINE[forge](secret, headers, body, now)


def _by_github(secret: str, headers: Headers, body: bytes, _now: datetime) -> bool:
    return _same(f"sha256={_signature(secret, body)}", headers.get("x-hub-signature-256", ""))


def _by_gitea(secret: str, headers: Headers, body: bytes, _now: datetime) -> bool:
    given = headers.get("x-forgejo-signature") or headers.get("x-gitea-signature", "")
    return _same(_signature(secret, body), given)


def _by_gitlab(secret: str, headers: Headers, body: bytes, now: datetime) -> bool:
    if "webhook-signature" not in headers:
        return _same(secret, headers.get("x-gitlab-token", ""))
    identity, moment = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    is_number = moment.isascii() and moment.isdecimal() and len(moment) <= 12
    if not is_number or abs(now.timestamp() - int(moment)) > TOLERANCE.total_seconds():
        return False
    try:
        key = base64.b64decode(secret.removeprefix(SIGNING), validate=True)
    except binascii.Error:
        return False
    signed = f"{identity}.{moment}.".encode() + body
    right = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return any(_same(right, given) for given in headers["webhook-signature"].split(" ")[:MAX_SIGNATURES])


def _signature(secret: str, body: bytes) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def _same(right: str, given: str) -> bool:
    return hmac.compare_digest(right.encode(), given.encode("utf-8", "surrogateescape"))


_GENUINE: Final[Mapping[Forge, Callable[[str, Headers, bytes, datetime], bool]]] = {
    Forge.GITHUB: _by_github,
    Forge.GITEA: _by_gitea,
    Forge.FORGEJO: _by_gitea,
    Forge.GITLAB: _by_gitlab,
}
_DELIVERY: Final[Mapping[Forge, tuple[str, ...]]] = {
    Forge.GITHUB: ("x-github-delivery",),
    Forge.GITEA: ("x-gitea-delivery",),
    Forge.FORGEJO: ("x-forgejo-delivery", "x-gitea-delivery"),
    Forge.GITLAB: ("webhook-id", "idempotency-key", "x-gitlab-webhook-uuid", "x-gitlab-event-uuid"),
}
_EVENT: Final[Mapping[Forge, tuple[str, ...]]] = {
    Forge.GITHUB: ("x-github-event",),
    Forge.GITEA: ("x-gitea-event",),
    Forge.FORGEJO: ("x-forgejo-event", "x-gitea-event"),
    Forge.GITLAB: ("x-gitlab-event",),
}
_WISHES: Final[Mapping[Forge, Mapping[str, Wish]]] = {
    forge: dict.fromkeys(("push", "create", "delete"), Wish.PULL) | {"pull_request": Wish.PIPELINE}
    for forge in (Forge.GITHUB, Forge.GITEA, Forge.FORGEJO)
} | {
    Forge.GITLAB: {
        "Push Hook": Wish.PULL,
        "Tag Push Hook": Wish.PULL,
        "Merge Request Hook": Wish.PIPELINE,
    }
}
_ACTIONS: Final = frozenset({"opened", "reopened", "synchronize", "synchronized", "open", "reopen", "update"})
"""After these a pull request has a commit that wants a pipeline."""


def delivery_of(forge: Forge, headers: Headers, body: bytes) -> str:
    """Which call it is: the same for one that is sent again. Without a name of its own it is known by its body."""
    given = next((headers[name] for name in _DELIVERY[forge] if headers.get(name)), "")
    return given if 0 < len(given) <= MAX_ID else hashlib.sha256(body).hexdigest()


def event_of(forge: Forge, headers: Headers, document: Mapping[str, Any]) -> Event:
    """What a call wants; what is unknown, or has not the usual form, wants nothing.

    A pull request from a fork wants nothing either: its commits come from people who may do nothing here.
    """
    name = next((headers[header] for header in _EVENT[forge] if headers.get(header)), "")
    wish = _WISHES[forge].get(name, Wish.NOTHING)
    if wish is not Wish.PIPELINE:
        return Event(name, wish)
    try:
        request = _merge_request(document) if forge is Forge.GITLAB else _pull_request(document)
    except (KeyError, TypeError, ValueError):
        request = None
    return Event(name, Wish.NOTHING if request is None else wish, request)


def _pull_request(document: Mapping[str, Any]) -> ExternalPullRequestFacts | None:
    request = document["pull_request"]
    head, base = request["head"], request["base"]
    if document["action"] not in _ACTIONS or head["repo"]["full_name"] != base["repo"]["full_name"]:
        return None
    return ExternalPullRequestFacts(
        iid=int(document["number"]),
        source_repository=_text(head["repo"]["full_name"]),
        source_branch=_text(head["ref"]),
        source_sha=_sha(head["sha"]),
        target_repository=_text(base["repo"]["full_name"]),
        target_branch=_text(base["ref"]),
        target_sha=_sha(base["sha"]),
    )


def _merge_request(document: Mapping[str, Any]) -> ExternalPullRequestFacts | None:
    """An update without `oldrev` changed words only. GitLab does not say where the target branch is."""
    found = document["object_attributes"]
    is_words = found["action"] == "update" and not found.get("oldrev")
    if found["action"] not in _ACTIONS or is_words or found["source_project_id"] != found["target_project_id"]:
        return None
    return ExternalPullRequestFacts(
        iid=int(found["iid"]),
        source_repository=_text(found["source"]["path_with_namespace"]),
        source_branch=_text(found["source_branch"]),
        source_sha=_sha(found["last_commit"]["id"]),
        target_repository=_text(found["target"]["path_with_namespace"]),
        target_branch=_text(found["target_branch"]),
        target_sha="",
    )


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value or len(value) > 1024 or not value.isprintable():
        raise ValueError("no name")
    return value


def _sha(value: Any) -> str:
    text = _text(value)
    if len(text) not in {40, 64} or text.strip("0123456789abcdef"):
        raise ValueError("no commit")
    return text
