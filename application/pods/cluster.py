"""The cluster as one of its pods sees it: the directory, which may be away, and the copy that the pod has of it."""

import asyncio
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from auth.key_ring import KeyRing
from auth.signed_token import TokenKind, sign
from domain.pods.directory import Directory, PodState
from domain.pods.directory_access import AUDIENCE, TOKEN_TYPE
from pods.directory_client import DirectoryClient
from pods.directory_follower import CACHE, DirectoryFollower
from pods.pod_client import PodClient
from settings import Settings

_KIND: Final = TokenKind(TOKEN_TYPE, AUDIENCE)
_LIFETIME: Final = 60
"""Seconds for which a signature that shows the pod to the directory is good."""
_ID_BYTES: Final = 12


@dataclass(frozen=True, slots=True)
class Cluster:
    """The pod's way to the directory and to other pods; the first of the `rings` has the keys by which it shows itself.

    `directory` has the directory as it was last heard of, None if it never was.
    """

    pod_number: int
    rings: Sequence[KeyRing]
    client: DirectoryClient
    follower: DirectoryFollower
    pods: PodClient = field(default_factory=PodClient)

    @property
    def directory(self) -> Directory | None:
        """The directory as it was last heard of; None if it never was."""
        return self.follower.current() if self.follower.is_there else None

    @property
    def signing_keys(self) -> KeyRing:
        """The keys by which this pod shows itself to others."""
        return self.rings[0]

    def name_of(self, pod_number: int) -> str:
        """What a pod is called; its number where the directory does not say."""
        known = self.directory
        pod = known.by_number.get(pod_number) if known else None
        return str(pod_number) if pod is None else pod.name

    @property
    def is_draining(self) -> bool:
        """Whether this pod is to hand out no more jobs."""
        known = self.directory
        mine = known.by_number.get(self.pod_number) if known else None
        return mine is not None and mine.state is PodState.DRAINING

    async def tell_keys(self) -> None:
        """Tell the directory of the pod's keys, if it knows others. Raises `Unavailable`."""
        known = self.directory
        mine = known.by_number.get(self.pod_number) if known else None
        keys = await asyncio.to_thread(public_keys, self.rings)  # the first use makes a key, which takes a while
        if mine is not None and list(mine.public_keys) != keys["keys"]:
            await self.client.put_pod(self.pod_number, public_keys=keys)

    async def close(self) -> None:
        """Ask the directory and other pods no more."""
        await self.pods.close()
        await self.follower.__aexit__(None, None, None)
        await self.client.__aexit__(None, None, None)


def public_keys(rings: Sequence[KeyRing]) -> dict[str, Any]:
    """The keys of a pod as others are to know them: those that sign for itself, and those of its jobs' identities."""
    return {"keys": [key for ring in rings for key in ring.public_documents()["keys"]]}


async def join(settings: Settings, ring: KeyRing, identity_keys: KeyRing) -> Cluster | None:
    """The cluster that the settings name; None where they name none. Its directory may be away.

    `ring` has the keys by which the pod shows itself there.
    """
    if not settings.directory.url:
        return None
    client = DirectoryClient(settings.directory_url, signature(ring))
    follower = DirectoryFollower(client, settings.home / CACHE)
    await follower.__aenter__()
    return Cluster(settings.pod_number, (ring, identity_keys), client, follower)


def signature(ring: KeyRing) -> Callable[[], str]:
    """Makes what a pod shows to the directory: a token that it signs for each call."""

    def signed() -> str:
        now = int(time.time())
        claims = {"sub": ring.issuer, "iat": now, "exp": now + _LIFETIME, "jti": secrets.token_urlsafe(_ID_BYTES)}
        return sign(ring, _KIND, claims)

    return signed
