"""The place of a held poll in the row of those who wait for jobs: no call that it gets is lost, and none used twice."""

import asyncio

from models.notifications import JOBS, Notifications


class PlaceInRow:
    """A poll takes a place before each look into the queue; only when it has looked does it pass a call on."""

    def __init__(self, notifications: Notifications) -> None:
        """Wait for nothing yet."""
        self._notifications = notifications
        self._call: asyncio.Future[int] | None = None
        self._waiter: asyncio.Future[int] | None = None

    def take(self) -> "asyncio.Future[int]":
        """A place at the end of the row; it is done when the poll is called. A call to the old place is kept."""
        if self._waiter is not None and self._waiter.done():
            self._call = self._waiter
        else:
            self._leave()
        self._waiter = self._notifications.subscribe(JOBS)
        return self._waiter

    def looked_in_vain(self) -> None:
        """The call that made the poll look was no use to it: the next one is called."""
        if self._call is not None:
            self._notifications.pass_on(JOBS, self._call)
            self._call = None

    def found(self) -> None:
        """The call that made the poll look has done its work."""
        self._call = None

    def leave(self) -> None:
        """Give up the place; calls that came for it, and meant another job or found nobody, go to the next."""
        self.looked_in_vain()
        self._leave()

    def _leave(self) -> None:
        if self._waiter is None:
            return
        if self._waiter.done():
            self._notifications.pass_on(JOBS, self._waiter)
        else:
            self._notifications.leave(JOBS, self._waiter)
        self._waiter = None
