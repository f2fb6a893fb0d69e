"""The front: a small process that binds first, forwards everything to the API and never refuses a connection.

With a directory of pods it is their router (`pods.router`): it has a front for each.

It holds no state, so that the API behind it may be killed at any time, and it itself as well: its listening socket
belongs to the supervisor (`pods.listening`), and connections wait there for the next front.
"""

import asyncio
import contextlib
import logging
import resource
import signal
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

import uvloop
from aiohttp import web

from domain.pods.directory import Directory
from files.process_log import configure_lines
from metrics.front_metrics import FrontMetrics
from pods.connection import HEADER_LIMIT, MAX_HEADERS, Server
from pods.decisions import telling_decisions
from pods.directory_file import read_directory
from pods.directory_follower import Follow, following, is_followed
from pods.forwarding import Front
from pods.joined_keys import JoinedKeys
from pods.listening import BACKLOG, address_of, handed, offered, opened
from pods.loopback import near
from pods.metrics_port import telling
from pods.pod_fronts import PodFronts
from pods.request_body import SMALL
from pods.router import Router
from pods.upstream import Upstream
from settings import Settings, host_in_url

LINGER = 5.0
"""How long the rest of a refused upload is read and thrown away, so that its sender sees the response, not a reset."""
STOP = 5.0
"""How long running requests may go on after SIGTERM."""
LOOK_EVERY = 0.1
FIRST_DIRECTORY = 10.0
"""Seconds in which a router that has never seen its directory must hear of it; then it ends, to be started again."""

log = logging.getLogger("perdure.front")


Handling = TypeVar("Handling", Front, Router)
"""What answers requests."""


class Serving(Generic[Handling]):
    """A front that accepts connections, until it leaves the socket to another one or ends."""

    def __init__(self, front: Handling, server: Server, sockets: Sequence[socket.socket]) -> None:
        """`sockets` listen already, and go on doing so for whoever else has them."""
        self.front: Handling = front
        self.server = server
        self.at_leaving: Callable[[], None] | None = None
        """What else ends when it leaves."""
        self._sockets = sockets
        self._runner = web.ServerRunner(server, handle_signals=False, shutdown_timeout=STOP)

    async def start(self) -> None:
        """Accept connections."""
        await self._runner.setup()
        for one in self._sockets:
            await web.SockSite(self._runner, one, backlog=BACKLOG).start()

    async def leave(self, limit: float) -> None:
        """Accept nothing more, serve what is connected to its end, held calls too; `limit` seconds at most."""
        self.front.leave()
        if self.at_leaving is not None:
            self.at_leaving()
        for site in self._runner.sites:
            await site.stop()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit):
                while self.server.connections:  # noqa: ASYNC110  # each ends by itself, and there is no event for all
                    await asyncio.sleep(LOOK_EVERY)

    async def stop(self) -> None:
        """End: held calls get their 503, others STOP seconds."""
        await self.front.close()
        await self._runner.cleanup()


@asynccontextmanager
async def serving(
    settings: Settings, sockets: Sequence[socket.socket] = (), metrics: FrontMetrics | None = None
) -> AsyncIterator[Serving[Front]]:
    """Serve one pod on these sockets, or on `host:front_port`, while the context is open; OSError for a taken port."""
    async with Upstream((near(settings), settings.api_port), settings.front) as upstream:
        front = Front(settings, upstream, metrics or FrontMetrics())
        async with _accepting(settings, front, sockets) as running:
            yield running


@asynccontextmanager
async def routing(
    settings: Settings,
    directory: Directory,
    sockets: Sequence[socket.socket] = (),
    metrics: FrontMetrics | None = None,
    follow: Follow | None = None,
) -> AsyncIterator[Serving[Router]]:
    """The same for all pods of a directory; `follow` tells of each later one."""
    async with PodFronts(settings, directory, metrics or FrontMetrics()) as fronts:
        if follow is not None:
            await follow(fronts.take)
        router = Router(fronts.current, fronts, JoinedKeys(fronts.upstreams, fronts.current), settings.front)
        async with (
            _accepting(settings, router, sockets) as running,
            telling_decisions(fronts.current, settings.front.decisions_port) as running.at_leaving,
        ):
            yield running


@asynccontextmanager
async def _accepting(
    settings: Settings, front: Handling, sockets: Sequence[socket.socket]
) -> AsyncIterator[Serving[Handling]]:
    sockets = sockets or opened(settings.host, settings.front_port)
    server = Server(
        front.handle,
        handler_cancellation=True,  # a client that goes away must take its request to the API along
        access_log=None,
        auto_decompress=False,
        keepalive_timeout=settings.front.keepalive,
        header=settings.front.header,
        read_bufsize=SMALL,
        lingering_time=LINGER,
        max_line_size=HEADER_LIMIT,
        max_field_size=HEADER_LIMIT,
        max_headers=MAX_HEADERS,
    )
    running = Serving(front, server, sockets)
    try:
        await running.start()
        yield running
    finally:
        await running.stop()


@asynccontextmanager
async def _opened(
    settings: Settings, sockets: Sequence[socket.socket], metrics: FrontMetrics
) -> AsyncIterator[Serving[Front] | Serving[Router]]:
    """As the settings say. Raises `Invalid` for a directory that is wrong, `Unavailable` for one that does not come."""
    if is_followed(settings):
        async with following(settings) as follower:
            directory = await follower.first(FIRST_DIRECTORY)
            metrics.follow(lambda: follower.is_away, lambda: follower.current().version)
            async with routing(settings, directory, sockets, metrics, follower.tell) as router:
                yield router
    elif settings.front.directory is None:
        async with serving(settings, sockets, metrics) as front:
            yield front
    else:
        directory = await asyncio.to_thread(read_directory, settings.front.directory)
        async with routing(settings, directory, sockets, metrics) as router:
            yield router


async def serve(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT; at SIGQUIT leave the listening socket to others and serve what is connected."""
    stop, leave = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    loop.add_signal_handler(signal.SIGQUIT, leave.set)
    sockets, metrics = handed() or opened(settings.host, settings.front_port), FrontMetrics()
    async with (
        _opened(settings, sockets, metrics) as running,
        offered(sockets, settings.home),
        telling(metrics, settings.metrics_host, settings.front_metrics_port, "PERDURE_FRONT_METRICS_PORT"),
    ):
        log.info("listening on %s", ", ".join(f"{host_in_url(host)}:{port}" for host, port in address_of(sockets)))
        stopping = asyncio.create_task(stop.wait())
        leaving = asyncio.create_task(leave.wait())
        await asyncio.wait((stopping, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not stop.is_set():
            log.info("leaving the listening socket to another front")
            going = asyncio.create_task(running.leave(settings.front.hold + settings.front.keepalive))
            await asyncio.wait((stopping, going), return_when=asyncio.FIRST_COMPLETED)


def main() -> None:
    """Entry point of `python -m pods.front`."""
    settings = Settings()
    configure_lines(settings.log_level)
    logging.getLogger("httpx").setLevel(logging.WARNING)  # each request for changes of the directory would be a line
    # Each held poll takes two descriptors; the usual soft limit of 1,024 would be reached by 500 runners.
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    uvloop.run(serve(settings))


if __name__ == "__main__":
    main()
