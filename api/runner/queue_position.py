"""The place of a poll in the row of those who wait for jobs: no call that it gets is lost, and none used twice."""

import asyncio
from typing import Protocol

from api.runner.queue_version import QueueVersion
from models.repositories.queue.candidates import KnownRunner


class Polls(Protocol):
    """The polls of a process, as one of them sees the others."""

    version: QueueVersion

    def enter(self, place: "Place") -> None:
        """Wait in the row."""

    def withdraw(self, place: "Place") -> None:
        """Wait no more."""

    def offer(self, demand_id: int, jobs: int) -> None:
        """Call whoever fits."""


class Place:
    """A poll takes its place before each look into the queue, and is called by demand while it has it.

    A call is used up by a job of its demand, or by a look that found nothing at all: nobody else would find one either.
    Any other end of the poll passes it on. `seen` is the state of the queue before the last look.
    """

    def __init__(self, polls: Polls, runner: KnownRunner) -> None:
        """Wait for nothing yet."""
        self.runner = runner
        self.candidate = runner.candidate
        self.arrival = 0
        self._polls = polls
        self._heeded: int | None = None
        self._called: asyncio.Future[int | None] | None = None
        self.seen = polls.version.seen

    def take(self) -> "asyncio.Future[int | None]":
        """A place at the end of the row; it is done when the poll is called. The look that follows heeds a call."""
        self._polls.withdraw(self)
        if self._called is not None and self._called.done():
            self._heeded = self._called.result()
        self._called = asyncio.get_running_loop().create_future()
        self.seen = self._polls.version.seen
        self._polls.enter(self)
        return self._called

    def call(self, demand_id: int | None) -> None:
        """There is a job of this demand for the poll; None: it shall wait no more."""
        if self._called is not None and not self._called.done():
            self._called.set_result(demand_id)

    def looked_in_vain(self) -> None:
        """There was no job for the poll."""
        self._heeded = None

    def found(self, demand_id: int) -> None:
        """The poll has a job of this demand: the call for it has done its work."""
        if self._heeded == demand_id:
            self._heeded = None

    def leave(self) -> None:
        """Give up the place; calls that meant another job than the one that was found go to the next."""
        self._polls.withdraw(self)
        calls = [self._heeded]
        if self._called is not None and self._called.done():
            calls.append(self._called.result())
        for demand_id in calls:
            if demand_id is not None:
                self._polls.offer(demand_id, 1)
