"""The keys by which others verify what pods sign for them: those of all pods in one document."""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from domain.pods.directory import Directory
from pods.upstream import Upstream

FOR_OTHERS: Final = "RS256"
LIMIT: Final = 2.0
"""Seconds that a pod has to tell its keys. One that does not is believed by those that it told before."""


class JoinedKeys:
    """Asks every pod each time: a verifier comes seldom, and must see a new key at once."""

    def __init__(self, upstreams: Mapping[int, Upstream], directory: Callable[[], Directory] | None = None) -> None:
        """Nothing is known yet, but what the `directory` tells of pods that have not told their keys themselves."""
        self._upstreams = upstreams
        self._directory = directory
        self._last: dict[int, list[Any]] = {}

    async def get(self, path: str) -> dict[str, list[Any]] | None:
        """A JWK Set (RFC 7517) of all pods; None while there is a pod whose keys were never told.

        A verifier that got a part of the keys would refuse what the other pods sign, and keep that part for long.
        """
        asked = sorted(self._upstreams.items())
        await asyncio.gather(*(self._look(number, upstream, path) for number, upstream in asked))
        known = [self._last.get(number) or self._listed(number) for number, _ in asked]
        return {"keys": [key for keys in known for key in keys]} if all(known) else None

    def _listed(self, number: int) -> list[Any]:
        """What the directory has of a pod: those by which others verify, and not those of its own tokens."""
        pod = self._directory().by_number.get(number) if self._directory else None
        return [dict(key) for key in pod.public_keys if key["alg"] == FOR_OTHERS] if pod else []

    async def _look(self, number: int, upstream: Upstream, path: str) -> None:
        content = await upstream.read(path, LIMIT)
        if content is None:
            return
        try:
            self._last[number] = json.loads(content)["keys"]
        except (ValueError, LookupError, TypeError):
            return
