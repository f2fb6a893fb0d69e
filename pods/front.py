"""The front: a small process that binds first, forwards everything to the API and never refuses a connection.

It holds no state, so that the API behind it may be killed at any time, and it itself as well: its listening socket
belongs to the supervisor (`pods.listening`), and connections wait there for the next front.
"""

import asyncio
import contextlib
import logging
import resource
import signal
import socket
from collections.abc import AsyncIterator, Sequence

import uvloop
from aiohttp import web

from metrics.front_metrics import FrontMetrics
from pods.connection import HEADER_LIMIT, MAX_HEADERS, Server
from pods.forwarding import Front
from pods.front_exposition import telling
from pods.listening import BACKLOG, address_of, handed, offered, opened
from pods.request_body import SMALL
from pods.upstream import Upstream
from settings import Settings

LINGER = 5.0
"""How long the rest of a refused upload is read and thrown away, so that its sender sees the response, not a reset."""
STOP = 5.0
"""How long running requests may go on after SIGTERM."""
LOOK_EVERY = 0.1

log = logging.getLogger("perdure.front")


class Serving:
    """A front that accepts connections, until it leaves the socket to another one or ends."""

    def __init__(self, front: Front, server: Server, sockets: Sequence[socket.socket]) -> None:
        """`sockets` listen already, and go on doing so for whoever else has them."""
        self.front = front
        self.server = server
        self._sockets = sockets
        self._runner = web.ServerRunner(server, handle_signals=False, shutdown_timeout=STOP)

    async def start(self) -> None:
        """Accept connections."""
        await self._runner.setup()
        for one in self._sockets:
            await web.SockSite(self._runner, one, backlog=BACKLOG).start()

    async def leave(self, limit: float) -> None:
        """Accept nothing more, serve what is connected to its end, held calls too; `limit` seconds at most."""
        self.front.is_leaving = True
        for site in self._runner.sites:
            await site.stop()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit):
                while self.server.connections:  # noqa: ASYNC110  # each ends by itself, and there is no event for all
                    await asyncio.sleep(LOOK_EVERY)

    async def stop(self) -> None:
        """End: held calls get their 503, others STOP seconds."""
        await self.front.holding.close()
        await self._runner.cleanup()


@contextlib.asynccontextmanager
async def serving(
    settings: Settings, sockets: Sequence[socket.socket] = (), metrics: FrontMetrics | None = None
) -> AsyncIterator[Serving]:
    """Serve on these sockets, or on `host:front_port`, while the context is open; OSError if the port is taken."""
    sockets = sockets or opened(settings.host, settings.front_port)
    async with Upstream(settings.api_port, settings.front) as upstream:
        front = Front(settings, upstream, metrics or FrontMetrics())
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


async def serve(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT; at SIGQUIT leave the listening socket to others and serve what is connected."""
    stop, leave = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    loop.add_signal_handler(signal.SIGQUIT, leave.set)
    sockets, metrics = handed() or opened(settings.host, settings.front_port), FrontMetrics()
    async with (
        serving(settings, sockets, metrics) as running,
        offered(sockets, settings.home),
        telling(metrics, settings),
    ):
        log.info("listening on %s", ", ".join(f"{host}:{port}" for host, port in address_of(sockets)))
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
    logging.basicConfig(level=settings.log_level, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    # Each held poll takes two descriptors; the usual soft limit of 1,024 would be reached by 500 runners.
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    uvloop.run(serve(settings))


if __name__ == "__main__":
    main()
