"""Waking those who wait for a change: in-process events on SQLite, LISTEN and NOTIFY on PostgreSQL.

A notification is a hint, never the truth: whoever waits looks again after a while even if nothing woke them.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import asyncpg
import structlog

OUTBOX: Final = "outbox"
BRIDGES: Final = "bridges"
OTHER_PODS: Final = "other-pods"
"""Something is to be asked of another pod, or told."""
TRACES: Final = "traces"
REPORTS: Final = "reports"
HOOKS: Final = "hooks"
TICKS: Final = "ticks"
"""Ticks of pipeline schedules have become due."""
SCHEDULES: Final = "schedules"
"""Pipeline schedules have changed: Temporal is to be told."""
MERGES: Final = "merges"
"""Something changed that merge requests or merge trains may have waited for."""

JOBS: Final = "jobs"
"""Told with a text of `models.job_offers`: these jobs wait for runners. Without a text any may."""
RUNNERS: Final = "runners"
"""Told without a text: runners have changed, what a project lets them do, or who has an account; nothing known of them
is true any more."""

PIPELINES: Final = "pipelines"
"""What watchers of all pipelines wait for: one was made, or has another status."""
_WATCHERS: Final = 1_000
"""So many readers of a page are woken at once; whoever is beyond looks within two seconds."""

MAX_TEXT: Final = 7_900
"""Bytes of a text; PostgreSQL takes 8,000 with the topic."""

_CHANNEL: Final = "perdure"
_NOTIFY: Final = "SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload"

_LOST = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError)
"""What a lost connection raises; an internal error between the server's last word and the end of the connection."""

Listener: TypeAlias = Callable[[str], None]

log = structlog.get_logger()


def pipeline_topic(pipeline_id: int) -> str:
    """What watchers of one pipeline wait for."""
    return f"pipeline-{pipeline_id}"


def project_topic(project_id: int) -> str:
    """What watchers of a project's lists wait for: of its pipelines, its schedules and its environments."""
    return f"project-{project_id}"


def schedule_topic(schedule_id: int) -> str:
    """What those wait for who want to know what became of a tick of a schedule."""
    return f"schedule-{schedule_id}"


def trace_topic(job_id: int) -> str:
    """What readers of a growing log wait for."""
    return f"trace-{job_id}"


def merge_request_topic(merge_request_id: int) -> str:
    """What watchers of one merge request wait for."""
    return f"merge-request-{merge_request_id}"


def merge_requests_topic(project_id: int) -> str:
    """What those wait for who watch all merge requests that lead into a project, or its merge trains."""
    return f"merge-requests-{project_id}"


def delivery_topic(delivery_id: int) -> str:
    """What those wait for who want to know how a delivery to a webhook ends."""
    return f"delivery-{delivery_id}"


def message_topic(message_id: int) -> str:
    """What those wait for who want to know how a message to somebody ends."""
    return f"message-{message_id}"


class Notifications:
    """Topics with waiters, of whom as many are woken as there is work for, and topics that have one listener."""

    def __init__(self) -> None:
        """Begin with nobody waiting."""
        self._waiters: defaultdict[str, deque[asyncio.Future[None]]] = defaultdict(deque)
        self._listeners: dict[str, Listener] = {}

    async def start(self) -> None:
        """Begin to listen."""

    async def stop(self) -> None:
        """Stop listening and wake everybody."""
        for topic in list(self._waiters):
            self._wake(topic, len(self._waiters[topic]))

    async def notify(self, topic: str, count: int = 1) -> None:
        """Wake up to `count` waiters of a topic."""
        self._wake(topic, count)

    async def show(self, *topics: str) -> None:
        """Let all who watch one of these topics look."""
        await asyncio.gather(*(self.notify(topic, _WATCHERS) for topic in topics))

    async def tell(self, topic: str, text: str = "") -> None:
        """Hand a text of at most `MAX_TEXT` bytes to the topic's listener."""
        self._hear(topic, text)

    def listen(self, topic: str, listener: Listener) -> None:
        """Call `listener` with each text of a topic, and with an empty one when some may have been missed."""
        self._listeners[topic] = listener

    def _hear(self, topic: str, text: str) -> None:
        listener = self._listeners.get(topic)
        if listener is not None:
            listener(text)

    def _wake(self, topic: str, count: int) -> None:
        waiters = self._waiters.get(topic)
        while waiters and count > 0:
            waiter = waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                count -= 1
        if not waiters:
            self._waiters.pop(topic, None)

    def subscribe(self, topic: str) -> asyncio.Future[None]:
        """A place in the row of waiters. Subscribe first and look second, so that no change falls in between."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters[topic].append(waiter)
        return waiter

    def leave(self, topic: str, waiter: asyncio.Future[None]) -> None:
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


@dataclass(slots=True, eq=False)
class _Batch:
    """What is sent in one transaction."""

    payloads: list[str] = field(default_factory=list)
    is_sent: bool = False


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
        self._batches: list[_Batch] = []

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
        if not await self._sent(f"{topic} {count}"):
            self._wake(topic, count)

    async def tell(self, topic: str, text: str = "") -> None:
        """Hand a text to the listener of every process, this one included."""
        if not await self._sent(f"{topic} {text}"):
            self._hear(topic, text)

    async def _sent(self, payload: str) -> bool:
        """Send with whatever else is to be sent when the connection is free; false when there is no connection.

        PostgreSQL delivers equal payloads of one transaction only once, so they go in different ones.
        """
        batch = next((batch for batch in self._batches if payload not in batch.payloads), None)
        if batch is None:
            batch = _Batch()
            self._batches.append(batch)
        batch.payloads.append(payload)
        async with self._turn:
            if batch in self._batches:
                self._batches.remove(batch)
                batch.is_sent = await self._sent_together(batch.payloads)
        return batch.is_sent

    async def _sent_together(self, payloads: Sequence[str]) -> bool:
        connection = self._connection
        if connection is None or connection.is_closed():
            return False
        try:
            await connection.execute(_NOTIFY, _CHANNEL, payloads)
        except _LOST:
            if connection.is_closed():
                self._gone.set()  # asyncpg tells nobody of a connection that it gave up by itself
            return False
        return True

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
            for listener in self._listeners.values():
                listener("")
            await gone.wait()
        finally:
            self._connection = None
            connection.terminate()  # to close it in order would break a `notify` that is under way

    def _heard(self, _connection: object, _pid: int, _channel: str, payload: object) -> None:
        topic, _, text = str(payload).partition(" ")
        if topic in self._listeners:
            self._hear(topic, text)
        elif text.isdecimal():
            self._wake(topic, int(text))
