"""Remote files of one compilation, fetched side by side until the time for all of them is used up."""

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Final, Protocol

from application.configurations.include_limits import Spending
from domain.config.sources import Absent, Answer, Fetched, Origin, RemoteFile
from domain.errors import Invalid
from includes.remote_file import RemoteLimits, fetch

OUTSIDE: Final = Origin(detached=True)
"""Where files come from that are in no project."""
_TOO_LONG: Final = "Resolving config took longer than expected: all remote files together may take {:g} s."
_TOO_MUCH: Final = "All included files together may have {:,} bytes."


class Fetch(Protocol):
    """Gets a remote file, or raises `Invalid`."""

    def __call__(self, url: str, *, limits: RemoteLimits) -> Awaitable[str]:
        """The text behind an address."""


class RemoteIncludes:
    """Fetches remote files, at most `size` bytes each."""

    def __init__(self, spending: Spending, size: int, via: Fetch = fetch) -> None:
        """What is fetched is added to `spending`."""
        self._spending = spending
        self._size = size
        self._fetch = via

    async def answers(self, requests: Sequence[RemoteFile]) -> dict[RemoteFile, Answer]:
        """The text of each, or why it could not be had."""
        clock = asyncio.get_running_loop().time
        limits = self._spending.limits
        begin = clock()
        deadline = begin + limits.seconds - self._spending.seconds
        free = asyncio.Semaphore(limits.at_once)

        async def one(url: str) -> Answer:
            async with free:
                return await self._answer(url, deadline - clock())

        found = await asyncio.gather(*(one(request.url) for request in requests))
        self._spending.seconds += clock() - begin
        return dict(zip(requests, found, strict=True))

    async def _answer(self, url: str, left: float) -> Answer:
        limits = self._spending.limits
        if left <= 0:
            return Absent(_TOO_LONG.format(limits.seconds))
        if not self._spending.room:
            return Absent(_TOO_MUCH.format(limits.total))
        try:
            text = await self._fetch(url, limits=RemoteLimits(size=min(self._size, self._spending.room), total=left))
        except Invalid as error:
            return Absent(str(error))
        self._spending.size += len(text.encode())
        return Fetched(text, OUTSIDE)
