"""The service token by which one pod calls another: a JWT of its own key, for one pod, one call and one minute.

A call that a job makes by its pod has a token of another kind, which is for that alone.

It names the pod that it is for, and has a digest of method, path and body: whoever reads it on its way can only repeat
that very call, and calls between pods may be repeated (docs/pods.md, "Calls between pods"). What a pod's keys are, the
directory says.
"""

import hashlib
import secrets
import time
from dataclasses import dataclass
from typing import Final

from auth.key_ring import KeyRing
from auth.pod_keys import read_of_pod
from auth.signed_token import TokenKind, sign
from domain.errors import Unauthenticated
from domain.pods.credentials import ISSUER
from domain.pods.directory import Directory, Pod, PodState

TOKEN_TYPE: Final = "perdure-pod+jwt"  # noqa: S105  # what kind a token is, not one
JOB_TOKEN_TYPE: Final = "perdure-pod-job+jwt"  # noqa: S105  # likewise
LIFETIME: Final = 60
"""Seconds for which a token is good."""
REFUSED: Final = "Unauthorized"
"""Always the same words: nobody learns which pods there are, or what is wrong with a guess."""
_ID_BYTES: Final = 12


@dataclass(frozen=True, slots=True)
class PodCall:
    """What is asked of a pod; `path` as it is sent. `job` tells of the job that asks, in one line, if one does."""

    method: str
    path: str
    body: bytes = b""
    job: bytes = b""

    @property
    def digest(self) -> str:
        """What a token has of the call."""
        job = self.job + b"\n" if self.job else b""
        return hashlib.sha256(f"{self.method}\n{self.path}\n".encode() + job + self.body).hexdigest()


def service_token(ring: KeyRing, to: str, call: PodCall) -> str:
    """A token that lets the pod called `to` carry this call out for the pod of the ring."""
    now = int(time.time())
    claims = {"sub": ring.issuer, "iat": now, "exp": now + LIFETIME, "jti": secrets.token_urlsafe(_ID_BYTES)}
    return sign(ring, _kind(to, by_job=bool(call.job)), {**claims, "call": call.digest})


@dataclass(frozen=True, slots=True)
class SignedCall:
    """A good token: the pod that has signed it, and the digest of the one call that it is for."""

    pod: Pod
    digest: str

    def require(self, call: PodCall) -> Pod:
        """The pod, which sends this call. Raises `Unauthenticated` for any other call."""
        if self.digest != call.digest:
            raise Unauthenticated(REFUSED)
        return self.pod


def signed_call(directory: Directory | None, own_name: str, authorization: str, *, by_job: bool) -> SignedCall:
    """What a header shows, before the body of the call is read. Raises `Unauthenticated`, always in the same words."""
    scheme, _, token = authorization.partition(" ")
    if directory is None or scheme.lower() != "bearer":
        raise Unauthenticated(REFUSED)
    signed = read_of_pod(directory, _kind(own_name, by_job=by_job), token.strip())
    if signed is None or signed.pod.state is PodState.REMOVED or signed.pod.name == own_name:
        raise Unauthenticated(REFUSED)
    claims = signed.claims
    if claims["exp"] - claims["iat"] > LIFETIME:
        raise Unauthenticated(REFUSED)
    return SignedCall(signed.pod, str(claims.get("call")))


def calling_pod(directory: Directory | None, own_name: str, authorization: str, call: PodCall) -> Pod:
    """The pod that sends a call with this header. Raises `Unauthenticated`, always in the same words."""
    return signed_call(directory, own_name, authorization, by_job=bool(call.job)).require(call)


def _kind(to: str, *, by_job: bool) -> TokenKind:
    return TokenKind(JOB_TOKEN_TYPE if by_job else TOKEN_TYPE, f"{ISSUER}{to}")
