"""Reading the results of a job's steps out of the store."""

import asyncio
from typing import Protocol

from domain.errors import Invalid, NotFound
from domain.steps.beginning import GONE, Missing, Results, unreadable
from domain.steps.kept_results import read_kept
from storage.objects import ObjectStore, verified


class Located(Protocol):
    """Where the results of an attempt lie, or why there are none."""

    @property
    def missing(self) -> Missing | None:
        """Why there are none; None where there are."""

    @property
    def object_key(self) -> str:
        """The key of their object."""

    @property
    def size(self) -> int:
        """Its bytes."""

    @property
    def sha256(self) -> str:
        """Its SHA-256, in hex."""


async def results_of(store: ObjectStore, located: Located) -> Results:
    """The results of an attempt, or why there are none. Raises `Unavailable` while the store is away."""
    if located.missing is not None:
        return located.missing
    try:
        chunks = verified(store.read(located.object_key, 0, located.size), located.sha256)
        content = b"".join([chunk async for chunk in chunks])
        return await asyncio.to_thread(read_kept, content)  # some tenths of a second for the largest
    except NotFound:
        return GONE
    except Invalid as error:
        return unreadable(str(error))
