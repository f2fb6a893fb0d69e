"""Job tokens: JWTs that open exactly one hand-out of one job (reference: reliability, 1.2 and T1 to T4).

One algorithm, one key of our own, no header but `typ` is looked at. A valid token is not yet a permission: whether its
hand-out still holds the job is asked of the database at every call.
"""

import secrets
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Final

import jwt

from auth.keys import SigningKey
from domain.errors import Forbidden

PREFIX: Final = "glcbt-"
"""Runners mask words that begin so in every log."""

_ALGORITHM: Final = "EdDSA"
_TYPE: Final = "perdure-job+jwt"
_AUDIENCE: Final = "perdure:job"
_CLAIMS: Final = ["exp", "iat", "aud", "iss", "sub", "jti"]
_GRACE: Final = timedelta(hours=1)
"""The last call may come late: after an outage of ours a runner still has a result to hand in."""


_REMEMBERED: Final = 10_000
"""Tokens whose signature was checked lately."""


class Scope(StrEnum):
    """What a job token is for."""

    UPDATE = "update"
    TRACE = "trace"
    ARTIFACTS_UPLOAD = "artifacts:upload"
    ARTIFACTS_DOWNLOAD = "artifacts:download"
    GIT_READ = "git:read"
    RELEASES = "releases"


ALL_SCOPES: Final = tuple(Scope)

MAKES_RELEASE: Final = "release"
"""A further scope of the tokens of jobs with the keyword `release`: their success makes one."""


def archive_scope(job_id: int) -> str:
    """The scope that reads the archive of exactly one job, of whatever pipeline or project."""
    return f"{Scope.ARTIFACTS_DOWNLOAD}:{job_id}"


@dataclass(frozen=True, slots=True)
class JobClaims:
    """What a job token says."""

    pod: str
    job_id: int
    attempt: int
    hand_out: int
    project_id: int
    scopes: Collection[str] = ALL_SCOPES

    def require(self, scope: str) -> None:
        """Raise `Forbidden` unless the token is for `scope`."""
        if scope not in self.scopes:
            raise Forbidden(f"403 Forbidden: this job token is not for {scope}.")


class JobTokens:
    """Issues and reads the job tokens of one pod."""

    def __init__(self, key: SigningKey, pod: str) -> None:
        """Sign with `key` in the name of `pod`."""
        self._key = key
        self._pod = pod
        self._read: OrderedDict[str, tuple[JobClaims, datetime]] = OrderedDict()

    def issue(self, claims: JobClaims, timeout: int, now: datetime) -> str:
        """A token that is good for `timeout` seconds and the grace."""
        document: dict[str, Any] = {
            "iss": f"perdure:{self._pod}",
            "aud": _AUDIENCE,
            "sub": str(claims.job_id),
            "jti": secrets.token_hex(8),
            "iat": now,
            "exp": now + timedelta(seconds=timeout) + _GRACE,
            "pod": claims.pod,
            "attempt": claims.attempt,
            "hand_out": claims.hand_out,
            "project": claims.project_id,
            "scopes": [str(scope) for scope in claims.scopes],
        }
        token = PREFIX + jwt.encode(document, self._key.private, algorithm=_ALGORITHM, headers={"typ": _TYPE})
        self._remember(token, (claims, document["exp"]))
        return token

    def read(self, token: str) -> JobClaims:
        """What a token of this pod says. Raises `Forbidden` for anything else, without saying why to the outside.

        A runner shows the same token many times, so a signature that was right is not checked again before it expires.
        """
        known = self._read.get(token)
        if known is None or known[1] <= datetime.now(UTC):
            known = self._verified(token)
            self._remember(token, known)
        return known[0]

    def _remember(self, token: str, known: tuple[JobClaims, datetime]) -> None:
        self._read[token] = known
        if len(self._read) > _REMEMBERED:
            self._read.popitem(last=False)

    def _verified(self, token: str) -> tuple[JobClaims, datetime]:
        try:
            decoded = jwt.decode_complete(
                token.removeprefix(PREFIX),
                self._key.public,
                algorithms=[_ALGORITHM],
                audience=_AUDIENCE,
                issuer=f"perdure:{self._pod}",
                leeway=30,
                options={"require": _CLAIMS},
            )
            if decoded["header"].get("typ") != _TYPE:
                raise Forbidden("403 Forbidden")
            document = decoded["payload"]
            claims = JobClaims(
                pod=document["pod"],
                job_id=int(document["sub"]),
                attempt=document["attempt"],
                hand_out=document["hand_out"],
                project_id=document["project"],
                scopes=tuple(document["scopes"]),
            )
            return claims, datetime.fromtimestamp(document["exp"], UTC)
        except (jwt.PyJWTError, KeyError, ValueError) as error:
            raise Forbidden("403 Forbidden") from error
