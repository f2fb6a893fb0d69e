"""The process of the directory."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import uvicorn

from metrics.directory_metrics import DirectoryMetrics
from pods.directory.access import Access
from pods.directory.credentials import token_hashes
from pods.directory.doors import Parts, create_app
from pods.directory.figures import measured
from pods.directory.pruning import pruning
from pods.directory.service import DirectoryService
from pods.directory.store import Store
from pods.metrics_port import telling
from settings import Settings

_GRACE = 5
"""Seconds in which requests may end once the process is told to."""

log = logging.getLogger("perdure.directory")


class _Server(uvicorn.Server):
    """A web server that holds nobody when it stops."""

    def __init__(self, config: uvicorn.Config, store: Store) -> None:
        super().__init__(config)
        self._store = store

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer those that are held, then end."""
        self._store.let_go()
        await super().shutdown(sockets)


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Parts]:
    """The parts of a directory. Raises `Invalid`, `Refused`, `Unavailable`, and `OSError` for files."""
    await asyncio.to_thread(settings.home.mkdir, mode=0o700, parents=True, exist_ok=True)
    store = Store(settings.directory_database)
    try:
        await store.open()
        hashes = await token_hashes(store, settings.home, settings.directory_url)
        yield Parts(DirectoryService(store), Access(store, *hashes), store, DirectoryMetrics())
    finally:
        await store.close()


async def serve(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT."""
    async with opened(settings) as parts, pruning(parts.store), _telling(parts, settings):
        config = uvicorn.Config(
            create_app(parts),
            host=settings.directory.host,
            port=settings.directory.port,
            http="httptools",
            ws="none",
            lifespan="off",
            access_log=False,
            log_config=None,
            timeout_graceful_shutdown=_GRACE,
        )
        log.info("listening on %s:%d", settings.directory.host, settings.directory.port)
        await _Server(config, parts.store).serve()


def _telling(parts: Parts, settings: Settings) -> AbstractAsyncContextManager[None]:
    port, figures = settings.directory.metrics_port, measured(parts.store, parts.metrics)
    return telling(
        parts.metrics, settings.metrics_host, port, "PERDURE_DIRECTORY_METRICS_PORT", prepare=[figures.refresh]
    )
