"""Waking those who wait for a change: in-process events on SQLite, LISTEN and NOTIFY on PostgreSQL.

A notification is a hint, never the truth: whoever waits looks again after a while even if nothing woke him.
"""

import asyncio
from collections import defaultdict, deque
from contextlib import suppress
from typing import Final

import asyncpg
import structlog

JOBS: Final = "jobs"
OUTBOX: Final = "outbox"
BRIDGES: Final = "bridges"
TRACES: Final = "traces"

_CHANNEL: Final = "perdure"

_LOST = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError)
"""What a lost connection raises; an internal error between the server's last word and the end of the connection."""

log = structlog.get_logger()


def pipeline_topic(pipeline_id: int) -> str:
    """What watchers of one pipeline wait for."""
    return f"pipeline-{pipeline_id}"


class Notifications:
    """Topics with waiters; wakes as many as there is work for."""

    def __init__(self) -> None:
        """Begin with nobody waiting."""
        self._waiters: defaultdict[str, deque[asyncio.Future[int]]] = defaultdict(deque)

    async def start(self) -> None:
        """Begin to listen."""

    async def stop(self) -> None:
        """Stop listening and wake everybody."""
        for topic in list(self._waiters):
            self._wake(topic, len(self._waiters[topic]))

    async def notify(self, topic: str, count: int = 1) -> None:
        """Wake up to `count` waiters of a topic."""
        self._wake(topic, count)

    def _wake(self, topic: str, count: int, hops: int = 0) -> None:
        waiters = self._waiters.get(topic)
        hops = hops or len(waiters or ())
        while waiters and count > 0:
            waiter = waiters.popleft()
            if not waiter.done():
                waiter.set_result(hops)
                count -= 1
        if not waiters:
            self._waiters.pop(topic, None)

    def subscribe(self, topic: str) -> asyncio.Future[int]:
        """A place in the row of waiters. Subscribe first and look second, so that no change falls in between."""
        waiter: asyncio.Future[int] = asyncio.get_running_loop().create_future()  # its result counts the hops left
        self._waiters[topic].append(waiter)
        return waiter

    def pass_on(self, topic: str, waiter: asyncio.Future[int]) -> None:
        """Whoever was woken and could do nothing wakes the next, until each waiter of that moment had its turn."""
        if waiter.done() and not waiter.cancelled() and waiter.result() > 1:
            self._wake(topic, 1, waiter.result() - 1)

    def leave(self, topic: str, waiter: asyncio.Future[int]) -> None:
        """Give up a place that nobody called yet."""
        waiter.cancel()
        with suppress(ValueError):
            self._waiters[topic].remove(waiter)
        if not self._waiters[topic]:
            del self._waiters[topic]

    async def wait(self, topic: str, timeout: float) -> bool:
        """Wait for a notification; false after `timeout` seconds without one."""
        waiter = self.subscribe(topic)
        done, _ = await asyncio.wait([waiter], timeout=timeout)
        if not done:
            self.leave(topic, waiter)
        return bool(done)


class PostgresNotifications(Notifications):
    """The same across processes; a lost connection is made again, and waiters look by themselves meanwhile."""

    def __init__(self, url: str) -> None:
        """`url` is the SQLAlchemy address of the database."""
        super().__init__()
        self._url = url.replace("postgresql+asyncpg://", "postgresql://")
        self._connection: asyncpg.Connection | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._gone = asyncio.Event()
        self._turn = asyncio.Lock()

    async def start(self) -> None:
        """Listen from now on."""
        self._keeper = asyncio.create_task(self._keep())

    async def stop(self) -> None:
        """Close the connection."""
        if self._keeper is not None:
            self._keeper.cancel()
            with suppress(asyncio.CancelledError):
                await self._keeper
        await super().stop()

    async def notify(self, topic: str, count: int = 1) -> None:
        """Wake waiters in every process, this one included."""
        connection = self._connection
        if connection is None or connection.is_closed():
            self._wake(topic, count)
            return
        try:
            async with self._turn:
                await connection.execute("SELECT pg_notify($1, $2)", _CHANNEL, f"{topic} {count}")
        except _LOST:
            if connection.is_closed():
                self._gone.set()  # asyncpg tells nobody of a connection that it gave up by itself
            self._wake(topic, count)

    async def _keep(self) -> None:
        while True:
            try:
                await self._listen()
            except _LOST as error:
                log.warning("cannot listen to the database", error=str(error))
                await asyncio.sleep(1)

    async def _listen(self) -> None:
        """Hold one connection for as long as it lives."""
        gone = self._gone = asyncio.Event()
        connection = await asyncpg.connect(self._url)
        try:
            connection.add_termination_listener(lambda _connection: gone.set())
            await connection.add_listener(_CHANNEL, self._heard)
            self._connection = connection
            await gone.wait()
        finally:
            self._connection = None
            connection.terminate()  # to close it in order would break a `notify` that is under way

    def _heard(self, _connection: object, _pid: int, _channel: str, payload: object) -> None:
        topic, _, count = str(payload).rpartition(" ")
        self._wake(topic, int(count))
