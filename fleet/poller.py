"""Asks the server for jobs on behalf of one `[[runners]]` entry."""

import asyncio
import heapq
import logging
import time
import uuid
from collections.abc import Callable, Collection, Mapping
from typing import Any

from domain.errors import PerdureError, Unavailable
from fleet.client import RunnerClient
from fleet.config import RunnerEntry

LATER_STEP = 5
"""A refused token or a server that stays away waits as if so many attempts had failed before."""

ROOM_EVERY = 1.0
"""Seconds between two looks whether there is room on the disk again."""

LOG = logging.getLogger(__name__)

StartJob = Callable[[RunnerEntry, RunnerClient, Mapping[str, Any], int], asyncio.Task[None]]
"""Starts a job (its payload, its slot) and returns its task; the task's end gives the slot back."""


class Slots:
    """Numbers from 0 for jobs that run at the same time; the lowest free one is given first, so folders are re-used."""

    def __init__(self, count: int) -> None:
        """`count` is the most there can be at one time."""
        self._count = count
        self._free = list(range(count))
        self._available = asyncio.Semaphore(count)

    async def take(self) -> int:
        """Wait for a free number."""
        await self._available.acquire()
        return heapq.heappop(self._free)

    def hold(self, number: int) -> None:
        """Take this number, with which a job of a runner that was killed goes on; nobody may have taken one before.

        One beyond the most that there can be is nobody's, and does not come back.
        """
        if number in self._free:
            self._free.remove(number)
            heapq.heapify(self._free)
            self._available = asyncio.Semaphore(len(self._free))

    def give_back(self, number: int) -> None:
        """Make a number free again."""
        if number < self._count:
            heapq.heappush(self._free, number)
            self._available.release()


class Poller:
    """One request at a time, each with a slot in hand, so that a job which is handed out can start at once."""

    def __init__(
        self,
        entry: RunnerEntry,
        client: RunnerClient,
        slots: Slots,
        start: StartJob,
        *,
        check_interval: float,
        patience: float | None,
        going_on: Collection[asyncio.Task[None]] = (),
        has_room: Callable[[], bool] = lambda: True,
    ) -> None:
        """`check_interval` is the shortest pause between requests in seconds, the time a request was held counts.

        `going_on` are jobs of the entry that have begun before. After `patience` seconds without an answer the slot is
        given to others for a while; None keeps it. Without `has_room` no job is asked for.
        """
        self._entry, self._client, self._slots, self._start = entry, client, slots, start
        self._check_interval, self._patience, self._has_room = check_interval, patience, has_room
        self._last_update = ""
        self._request_id = uuid.uuid4().hex
        self._failures = 0
        self._running: set[asyncio.Task[None]] = set()
        for task in going_on:
            self._count(task)

    async def run(self) -> None:
        """Ask until canceled."""
        await self._below_limit()
        while True:
            await self._until_room()
            started, known = time.monotonic(), self._last_update
            pause = await self._ask()
            await self._below_limit()
            if pause is None and (known or not self._last_update):
                pause = max(0.0, self._check_interval - (time.monotonic() - started))
            if pause:
                await self._client.sleep(pause)

    async def _ask(self) -> float | None:
        """One request. Returns the seconds to wait before the next one, None for the usual pause."""
        slot = await self._slots.take()
        task: asyncio.Task[None] | None = None
        try:
            answer = await self._client.request_job(
                self._last_update, request_id=self._request_id, give_up_after=self._patience
            )
            self._request_id = uuid.uuid4().hex
            self._last_update = answer.last_update
            if answer.payload is not None:
                task = self._start(self._entry, self._client, answer.payload, slot)
        except PerdureError as error:
            return self._later(error)
        finally:
            if task is None:
                self._slots.give_back(slot)
        self._failures = 0
        if task is None:
            if answer.status != 204:
                LOG.warning("runner %s: the server answered %d to a job request", self._entry.name, answer.status)
            return None
        self._count(task)
        return 0.0

    def _count(self, task: asyncio.Task[None]) -> None:
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _until_room(self) -> None:
        if not self._has_room():
            LOG.error("runner %s: the disk of its state folder is full; no job is asked for", self._entry.name)
            while not self._has_room():
                await self._client.sleep(ROOM_EVERY)
            LOG.info("runner %s: there is room again", self._entry.name)

    async def _below_limit(self) -> None:
        while self._entry.limit and len(self._running) >= self._entry.limit:
            await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)

    def _later(self, error: PerdureError) -> float:
        """After an outage the same request is sent again, under its id; after a refusal a new one."""
        if not isinstance(error, Unavailable):
            self._request_id = uuid.uuid4().hex
        LOG.error("runner %s: %s", self._entry.name, error)
        self._failures += 1
        return self._client.backoff.pause(self._failures + LATER_STEP)
