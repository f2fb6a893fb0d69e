"""Job tokens: JWTs that open exactly one hand-out of one job (docs/reference/reliability.md, "Tokens").

A token names whatever it opens: its job, the projects whose repository and registry it may use, the archives it may
download. A valid token is not yet a permission: whether its hand-out still holds the job is asked of the database at
every call.
"""

import secrets
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from auth import signed_token
from auth.key_ring import KeyRing
from auth.packed_ids import pack, unpack
from auth.signed_token import TokenKind
from domain.errors import Forbidden, Invalid
from domain.pods.token_prefixes import JOB

PREFIX: Final = JOB
"""Runners mask words that begin so in every log."""

_JOB: Final = TokenKind("perdure-job+jwt", "perdure:job")
_ARCHIVE: Final = TokenKind("perdure-archive+jwt", "perdure:archive")
"""What a job of another pod shows to fetch one archive of this one."""
_GRACE: Final = timedelta(hours=1)
"""The last call may come late: after an outage of ours a runner still has a result to hand in."""
_NUMBERS: Final = ("organisation", "project", "attempt", "hand_out")
_REMEMBERED: Final = 10_000
"""Tokens whose signature was checked lately."""


class Scope(StrEnum):
    """What a job token is for. Those of `NAMING` stand before the id of a project, as in `git:read:5`."""

    UPDATE = "update"
    TRACE = "trace"
    ARTIFACTS_UPLOAD = "artifacts:upload"
    ARTIFACTS_DOWNLOAD = "artifacts:download"
    GIT_READ = "git:read"
    REGISTRY_PULL = "registry:pull"
    REGISTRY_PUSH = "registry:push"
    RELEASES = "releases"
    TRIGGER = "trigger"
    """Start pipelines of other projects, with the rights of the job's user."""
    REST = "rest"
    """Calls of the REST API that GitLab permits to jobs (`auth.job_routes`), with the rights of the job's user."""


NAMING: Final = frozenset({Scope.GIT_READ, Scope.REGISTRY_PULL, Scope.REGISTRY_PUSH})

MAKES_RELEASE: Final = "release"
"""A further scope of the tokens of jobs with the keyword `release`: their success makes one."""


def scope_of(scope: Scope, project_id: int) -> str:
    """A scope that names its project."""
    return f"{scope}:{project_id}"


def own_scopes(project_id: int) -> tuple[str, ...]:
    """What every job may do: to itself, and in its own project."""
    return tuple(scope_of(scope, project_id) if scope in NAMING else str(scope) for scope in Scope)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobClaims:
    """What a job token says. `archives` are the jobs whose archive it opens, of whatever pipeline or project."""

    pod: str
    organisation_id: int
    project_id: int
    job_id: int
    attempt: int
    hand_out: int
    scopes: Collection[str]
    archives: Collection[int] = frozenset()

    def require(self, scope: str) -> None:
        """Raise `Forbidden` unless the token is for `scope`."""
        if scope not in self.scopes:
            raise Forbidden(f"Forbidden: this job token is not for {scope}.")


@dataclass(frozen=True, slots=True)
class _Known:
    """A token that was found good; `kid` is the key that signed it."""

    claims: JobClaims
    expires_at: float
    kid: str


class JobTokens:
    """Issues and reads the job tokens of one pod."""

    def __init__(self, ring: KeyRing) -> None:
        """Sign with the key of `ring` whose turn it is, believe all of them."""
        self._ring = ring
        self._read: OrderedDict[str, _Known] = OrderedDict()

    def issue(self, claims: JobClaims, timeout: int, now: datetime) -> str:
        """A token that is good for `timeout` seconds and the grace."""
        document: dict[str, Any] = {
            "sub": str(claims.job_id),
            "jti": secrets.token_hex(8),
            "iat": now,
            "exp": now + timedelta(seconds=timeout) + _GRACE,
            "pod": claims.pod,
            "organisation": claims.organisation_id,
            "project": claims.project_id,
            "attempt": claims.attempt,
            "hand_out": claims.hand_out,
            "scopes": [str(scope) for scope in claims.scopes],
        }
        if claims.archives:
            document["archives"] = pack(claims.archives)
        token = PREFIX + signed_token.sign(self._ring, _JOB, document)
        self._remember(token, claims, document["exp"].timestamp())
        return token

    def issue_for_archive(self, job_id: int, lifetime: timedelta, now: datetime) -> str:
        """A token that opens the archive of a job, and nothing else, to whoever shows it."""
        document = {"sub": str(job_id), "jti": secrets.token_hex(8), "iat": now, "exp": now + lifetime}
        return PREFIX + signed_token.sign(self._ring, _ARCHIVE, document)

    def archive_of(self, token: str) -> int | None:
        """The job whose archive such a token opens; None for any other token."""
        if not token.startswith(PREFIX):
            return None
        document = signed_token.read(self._ring, _ARCHIVE, token.removeprefix(PREFIX))
        return None if document is None else int(document["sub"])

    def read(self, token: str) -> JobClaims:
        """What a token of this pod says. Raises `Forbidden` for anything else, without saying why to the outside.

        A runner shows the same token many times, so a signature that was right is not checked again before the token
        expires or its key retires.
        """
        known = self._read.get(token)
        if known is not None and known.expires_at > datetime.now(UTC).timestamp() and self._ring.find(known.kid):
            return known.claims
        document = signed_token.read(self._ring, _JOB, token.removeprefix(PREFIX)) if token.startswith(PREFIX) else None
        if document is None:
            raise Forbidden("Forbidden")
        claims = _claims(document)
        self._remember(token, claims, document["exp"])
        return claims

    def _remember(self, token: str, claims: JobClaims, expires_at: float) -> None:
        self._read[token] = _Known(claims, expires_at, signed_token.key_of(token.removeprefix(PREFIX)))
        if len(self._read) > _REMEMBERED:
            self._read.popitem(last=False)


def _claims(document: dict[str, Any]) -> JobClaims:
    """The claims of a signed document. Raises `Forbidden` when one is missing or of another type."""
    scopes, job = document.get("scopes"), document["sub"]
    whole = all(type(document.get(name)) is int for name in _NUMBERS) and job.isascii() and job.isdecimal()
    if not whole or not isinstance(scopes, list) or not isinstance(document.get("pod"), str):
        raise Forbidden("Forbidden")
    try:
        archives = unpack(document.get("archives", ""))
    except (Invalid, TypeError) as error:
        raise Forbidden("Forbidden") from error
    return JobClaims(
        pod=document["pod"],
        organisation_id=document["organisation"],
        project_id=document["project"],
        job_id=int(job),
        attempt=document["attempt"],
        hand_out=document["hand_out"],
        scopes=frozenset(scope for scope in scopes if isinstance(scope, str)),
        archives=archives,
    )
