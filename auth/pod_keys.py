"""What another pod has signed, verified by the keys that the directory of the cluster has of it.

A pod signs in its own name (`iss` is `perdure:` and the name), so a key of one pod never speaks for another.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from auth import signed_token
from auth.keys import Algorithm, PublicKey
from auth.signed_token import TokenKind
from domain.pods.credentials import ISSUER
from domain.pods.directory import Directory, Pod

ALGORITHM: Final = Algorithm.EDDSA
"""Of what pods sign for each other; the other keys that a pod tells are those of its jobs' identities."""


@dataclass(frozen=True, slots=True)
class VerifyingKey:
    """The public half of another pod's key."""

    kid: str
    algorithm: Algorithm
    public: PublicKey


class PodKeys:
    """The keys of one other pod, as `auth.signed_token.read` asks for them."""

    def __init__(self, pod: Pod) -> None:
        """Of a pod of the directory."""
        self.issuer = f"{ISSUER}{pod.name}"
        self.algorithm = ALGORITHM
        self._documents = pod.public_keys

    def find(self, kid: str) -> VerifyingKey | None:
        """The key with this name; None for one that the directory does not have, or that signs nothing for pods."""
        found = next((key for key in self._documents if key["kid"] == kid and key["alg"] == ALGORITHM), None)
        public = None if found is None else _public(found)
        return None if public is None else VerifyingKey(kid, ALGORITHM, public)


@dataclass(frozen=True, slots=True)
class Signed:
    """What a pod has signed: `claims` are those of a good token."""

    pod: Pod
    claims: Mapping[str, Any]


def read_of_pod(directory: Directory, kind: TokenKind, token: str) -> Signed | None:
    """A good token of this kind that a pod of the directory has signed in its own name; None for anything else."""
    name = signed_token.issuer_of(token)
    pod = directory.by_name.get(name[len(ISSUER) :]) if name.startswith(ISSUER) else None
    claims = None if pod is None else signed_token.read(PodKeys(pod), kind, token)
    return None if pod is None or claims is None else Signed(pod, claims)


def _public(document: Mapping[str, Any]) -> Ed25519PublicKey | None:
    try:
        key = jwt.PyJWK.from_dict(dict(document)).key
    except (jwt.PyJWTError, ValueError, TypeError):
        return None
    return key if isinstance(key, Ed25519PublicKey) else None
