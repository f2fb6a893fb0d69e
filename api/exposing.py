"""What a server process tells Prometheus, put together: what it counts, what it can see at once, and the database's."""

import shutil
from pathlib import Path
from typing import Final

import structlog

from api.measuring import TOLD, Measuring
from api.services import Services
from metrics import names
from metrics.exposition import Exposition, serve
from metrics.foreign import text_of
from metrics.sampled import Reading
from models.database_usage import DatabaseUsage

log = structlog.get_logger()

_SEEN: Final = (
    names.POLLS_WAITING,
    names.DATABASE_CONNECTIONS,
    names.DATABASE_LIMIT,
    names.DATABASE_WAITING,
    names.DATABASE_TRANSACTIONS,
    names.DATABASE_WAIT,
    names.DATABASE_BUSY,
    names.DISK_FREE,
)
"""What the process knows without asking anybody."""


def exposition_of(services: Services, client_metrics_port: int = 0) -> Exposition:
    """All that this process tells; the Temporal SDK tells its own at this port of the loopback, 0 for nowhere.

    Figures from the database come from processes that run workflows: those that answer runners have other work.
    """
    services.metrics.sampled(_SEEN, lambda: _seen(services))
    measuring = Measuring(services.database, services.metrics)
    measures = services.settings.api_role != "api"
    if measures:
        services.metrics.sampled(TOLD, measuring.now)
    more = [text_of(f"http://127.0.0.1:{client_metrics_port}/metrics")] if client_metrics_port else []
    return Exposition(services.metrics.registry, [measuring.refresh] if measures else [], more)


async def tell_metrics(services: Services, client_metrics_port: int) -> None:
    """Tell all of it at the address of the settings for ever; without that address the process works all the same."""
    settings = services.settings

    def taken(error: OSError) -> None:
        log.warning("metrics are not told; another PERDURE_METRICS_PORT may help", error=str(error))

    await serve(exposition_of(services, client_metrics_port), settings.metrics_host, settings.metrics_port, taken)


def _seen(services: Services) -> Reading:
    usage = services.database.usage
    return {
        names.POLLS_WAITING: {(): services.polls.waiting},
        names.DATABASE_CONNECTIONS: {("in_use",): _in_use(usage), ("free",): usage.most - _in_use(usage)},
        names.DATABASE_LIMIT: {(): usage.most},
        names.DATABASE_WAITING: {(): usage.reads.waiting + usage.writes.waiting},
        names.DATABASE_TRANSACTIONS: {("read",): usage.reads.number, ("write",): usage.writes.number},
        names.DATABASE_WAIT: {("read",): usage.reads.waited, ("write",): usage.writes.waited},
        names.DATABASE_BUSY: {("read",): usage.reads.took, ("write",): usage.writes.took},
        names.DISK_FREE: _disks(services),
    }


def _in_use(usage: DatabaseUsage) -> int:
    return usage.reads.open + usage.writes.open


def _disks(services: Services) -> dict[tuple[str, ...], float]:
    settings = services.settings
    folders: dict[str, Path | None] = {
        "home": settings.home,
        "repositories": settings.repository_root,
        "objects": services.store.root,
    }
    return {(name,): shutil.disk_usage(folder).free for name, folder in folders.items() if folder and folder.exists()}
