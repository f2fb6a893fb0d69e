"""Which pod a credential names, by itself: nothing is verified, which only the pod can do."""

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from domain.basic_credentials import credentials_in
from domain.pods.directory import Directory
from domain.pods.routable_token import read_route
from domain.pods.token_prefixes import JOB, RANDOM

ISSUER: Final = "perdure:"
"""What stands before the pod's name in the issuer of what it signs."""
COOKIES: Final = "perdure_"
"""How the names of our cookies begin; what is in them is signed."""

OF_HOST: Final = "__Host-"
"""What stands before the name of a cookie of ours that browsers got by https: no other host, and no page that is read
without encryption, can have set it (RFC 6265bis, "Cookie Name Prefixes")."""
OF_SECURE: Final = "__Secure-"
"""The same for a cookie that is sent to one address only, for which browsers do not permit the first."""

VISITS_FROM: Final = "home"
"""The claim of a visitor's session that has the number of their home pod; those of a pod's own people have none."""

_TICKET: Final = re.compile(r"q1\.([0-9]{1,4})\.")
_MAX_JWT: Final = 8192

UNKNOWN_POD: Final = -1
"""Of something that names a pod which the directory does not know."""


class Unreadable(Enum):
    """Why a credential names no pod."""

    MISTYPED = "its checksum is wrong"
    FOREIGN = "it is none of ours"


@dataclass(frozen=True, slots=True)
class Shown:
    """A credential that a request shows: in which header, and the number of its pod, if it names one."""

    place: str
    pod: int | Unreadable


def pod_of_token(token: str, directory: Directory) -> int | Unreadable:
    """The number of the pod that a token of any kind is for; one that names none is of the first pod."""
    if token.startswith(JOB):
        return _pod_of_jwt(token[len(JOB) :], directory)
    if not token.startswith(RANDOM):
        return Unreadable.FOREIGN
    route = read_route(token)
    if route is None:
        # Those from before have no dot in them.
        return Unreadable.MISTYPED if "." in token else directory.first.number
    if route.organisation_id:
        return directory.moved.get(route.organisation_id, route.pod_number)
    return route.pod_number


def shown_by(headers: Mapping[str, str], directory: Directory) -> Iterator[Shown]:
    """The tokens in the headers of a request, whose names are in small letters, in the order in which they decide."""
    for place in ("runner-token", "job-token", "private-token"):
        token = headers.get(place)
        if token:
            yield Shown(place, pod_of_token(token, directory))
    authorization = headers.get("authorization", "")
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() == "bearer":
        yield Shown("authorization", pod_of_token(value.strip(), directory))
    elif scheme.lower() == "basic":
        yield Shown("authorization", _pod_of_basic(authorization, directory))


def pod_of_ticket(headers: Mapping[str, str]) -> int | None:
    """The number of the pod that the ticket of a waiting runner is of (`auth.queue_ticket`); None without one."""
    form = _TICKET.match(headers.get("x-gitlab-last-update", ""))
    return int(form[1]) if form else None


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """A session that a browser shows: in which cookie, the number of its pod, whether it is that of a visitor there."""

    cookie: str
    pod: int
    is_visit: bool


def sessions_in(headers: Mapping[str, str], directory: Directory) -> list[BrowserSession]:
    """The sessions of pods that the directory has, or sign-ins that have begun; those of people at home come first."""
    found = []
    for pair in headers.get("cookie", "").split(";"):
        name, _, value = pair.strip().partition("=")
        claims = _claims_of_jwt(value) if bare_cookie(name).startswith(COOKIES) else None
        pod = None if claims is None else _pod_of_claims(claims, directory)
        if claims is not None and pod is not None and pod in directory.by_number:
            found.append(BrowserSession(name, pod, VISITS_FROM in claims))
    return sorted(found, key=lambda session: session.is_visit)


def cookie_name(bare: str, url: str, *, everywhere: bool = True) -> str:
    """The name of a cookie where users reach us by this URL; `everywhere`: it is sent to all of our addresses."""
    if not url.startswith("https:"):
        return bare
    return (OF_HOST if everywhere else OF_SECURE) + bare


def bare_cookie(name: str) -> str:
    """The name of a cookie without what https adds to it."""
    return name.removeprefix(OF_HOST).removeprefix(OF_SECURE)


def _pod_of_basic(authorization: str, directory: Directory) -> int | Unreadable:
    """That of the password; git also takes a token as the user name."""
    username, password = credentials_in(authorization)
    pod = pod_of_token(password, directory)
    return pod_of_token(username, directory) if pod is Unreadable.FOREIGN else pod


def _pod_of_jwt(token: str, directory: Directory) -> int | Unreadable:
    claims = _claims_of_jwt(token)
    return Unreadable.FOREIGN if claims is None else _pod_of_claims(claims, directory)


def _claims_of_jwt(token: str) -> dict[str, Any] | None:
    """What a token says that is signed in a pod's name; None for any other text."""
    parts = token.split(".") if len(token) <= _MAX_JWT else []
    if len(parts) != 3:
        return None
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        return None
    issuer = claims.get("iss") if isinstance(claims, dict) else None
    return claims if isinstance(issuer, str) and issuer.startswith(ISSUER) else None


def _pod_of_claims(claims: Mapping[str, Any], directory: Directory) -> int:
    moved = claims.get("organisation")
    if isinstance(moved, int) and moved in directory.moved:
        return directory.moved[moved]
    pod = directory.by_name.get(claims["iss"][len(ISSUER) :])
    return UNKNOWN_POD if pod is None else pod.number
