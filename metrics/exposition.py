"""The address at which Prometheus reads a process: `GET /metrics`, on a port that serves nothing else.

It is not the port of the API, so that no front leads there, whatever its configuration.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Final

import prometheus_client
from aiohttp import web
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

PATH: Final = "/metrics"
TRY_AGAIN: Final = 10.0
"""Seconds after which a port that was taken is tried again."""
_STOP: Final = 1.0
_TEXT: Final = "Prometheus reads this process at /metrics.\n"

Prepare = Callable[[], Awaitable[None]]
More = Callable[[], Awaitable[bytes]]


class Exposition:
    """One registry as Prometheus' text, with what else speaks that format."""

    def __init__(self, registry: CollectorRegistry, prepare: Sequence[Prepare] = (), more: Sequence[More] = ()) -> None:
        """Call `prepare` before each reading; `more` gives text of others to be added. Neither may raise."""
        self._registry = registry
        self._prepare = prepare
        self._more = more
        # When each counter began says nothing that Prometheus uses, and is a third of the text.
        prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]

    async def text(self) -> bytes:
        """All metrics as they are now."""
        for prepare in self._prepare:
            await prepare()
        return generate_latest(self._registry) + b"".join([await more() for more in self._more])

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request; everything but `GET /metrics` is refused."""
        if request.path == "/" and request.method in {"GET", "HEAD"}:
            return web.Response(text=_TEXT)
        if request.path != PATH:
            return web.Response(status=HTTPStatus.NOT_FOUND, text=_TEXT)
        if request.method not in {"GET", "HEAD"}:
            return web.Response(status=HTTPStatus.METHOD_NOT_ALLOWED, headers={"Allow": "GET, HEAD"})
        return web.Response(body=await self.text(), headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})


@asynccontextmanager
async def served(exposition: Exposition, host: str, port: int) -> AsyncIterator[None]:
    """Answer at this address while the context is open. Raises `OSError` when somebody else has it."""
    runner = web.ServerRunner(web.Server(exposition.answer, access_log=None), shutdown_timeout=_STOP)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        yield
    finally:
        await runner.cleanup()


async def serve(
    exposition: Exposition, host: str, port: int, taken: Callable[[OSError], None], again: float = TRY_AGAIN
) -> None:
    """Answer at this address for ever; a process does not end because another one has it.

    `taken` is told once, and the address tried again every `again` seconds.
    """
    is_told = False
    while True:
        try:
            async with served(exposition, host, port):
                await asyncio.Event().wait()
        except OSError as error:
            if not is_told:
                taken(error)
            is_told = True
            await asyncio.sleep(again)
