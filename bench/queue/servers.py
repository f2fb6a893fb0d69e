"""The servers of which the queue is measured: two API processes and a worker on PostgreSQL, or one process on SQLite.

Runners are sent to the API processes themselves, half of them to each: what a front costs is measured elsewhere.
"""

import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import psutil

from bench.servers import cpu_seconds, started
from pods.child import Child, Ready
from pods.stack import PYTHON, stack
from rigs.ports import free_ports
from rigs.postgres import fresh_database, postgres_server
from settings import Settings, TimeLimits

_APIS: Final = 2
_PORTS: Final = ("temporal", "temporal_ui", "temporal_http", "temporal_metrics", "front")
_POSTGRES: Final = {"max_connections": "200", "shared_buffers": "256MB"}
"""Everything else is PostgreSQL's default: what it has acknowledged is on the disk."""


@dataclass(frozen=True, slots=True)
class QueueServers:
    """What runs. `settings` are those of the first process; `ports` those of the API; `bell` makes jobs pending."""

    settings: Settings
    ports: tuple[int, ...]
    bell: int
    processes: Mapping[str, psutil.Process]

    def cpu(self) -> dict[str, float]:
        """Seconds of processor time that each of our processes has used."""
        return {name: cpu_seconds(process) for name, process in self.processes.items() if name != "temporal"}


@asynccontextmanager
async def on_postgres() -> AsyncIterator[QueueServers]:
    """Two processes that serve the API, one that makes jobs pending."""
    async with AsyncExitStack() as opened:
        server = opened.enter_context(postgres_server(_POSTGRES))
        database = await opened.enter_async_context(fresh_database(server))
        settings = _settings(opened, database)
        apis = free_ports(_APIS)
        children = [_temporal(settings)]
        children += [_api(settings, f"api {number + 1}", port) for number, port in enumerate(apis)]
        children.append(_ringing(settings.model_copy(update={"api_role": "worker"}), "worker"))
        processes = await opened.enter_async_context(started(children, settings.home))
        yield QueueServers(settings, tuple(apis), settings.front_port, processes)


@asynccontextmanager
async def on_sqlite() -> AsyncIterator[QueueServers]:
    """One process that does everything."""
    async with AsyncExitStack() as opened:
        (port,) = free_ports(1)
        settings = _settings(opened, "").model_copy(update={"api_role": "all", "api_port": port})
        server = _ringing(settings, "server")
        server = replace(server, ready=Ready(settings.host, port))  # the bell is there first
        children = [_temporal(settings), server]
        processes = await opened.enter_async_context(started(children, settings.home))
        yield QueueServers(settings, (port,), settings.front_port, processes)


def _settings(opened: AsyncExitStack, database: str) -> Settings:
    home = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="perdure-bench-")))
    ports = {f"{name}_port": port for name, port in zip(_PORTS, free_ports(len(_PORTS)), strict=True)}
    return Settings(
        home=home,
        database_url=database,
        object_store="",
        temporal_address="",
        log_level="WARNING",
        api_role="api",
        times=TimeLimits(reconcile_every=86_400),  # the pipelines have no workflows
        **ports,  # type: ignore[arg-type]
    )


def _temporal(settings: Settings) -> Child:
    return next(child for child in stack(settings) if child.name == "temporal")


def _api(settings: Settings, name: str, port: int) -> Child:
    children = stack(settings.model_copy(update={"api_port": port}))
    return replace(next(child for child in children if child.name == "api"), name=name)


def _ringing(settings: Settings, name: str) -> Child:
    bell = Ready(settings.host, settings.front_port)
    child = next(child for child in stack(settings) if child.name == "api")
    return replace(child, name=name, argv=(*PYTHON, "bench.queue.worker"), ready=bell)
