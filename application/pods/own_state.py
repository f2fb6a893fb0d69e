"""How this pod is: what it is called, what it reaches, its runners and its queue, as an administrator asks."""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from application.services import Services
from domain.runners.matching import RunnerType
from domain.runners.queued import QueuedTagSet, queued_tag_sets
from metrics.process_metrics import installed_version
from models.migrate import versions
from models.repositories import database_time
from models.repositories.installation import measurements
from models.repositories.queue import tag_sets, waiting_jobs
from models.repositories.runners import runner_counts
from models.repositories.runners.runner_counts import RunnerCount
from pods.process import identity_of


@dataclass(frozen=True, slots=True)
class DatabaseState:
    """`seconds` is how long it took to answer; `newest_schema` is that of this version, where `schema` may be older."""

    kind: str
    schema: str | None
    newest_schema: str | None
    seconds: float


@dataclass(frozen=True, slots=True)
class PodState:
    """A pod at one moment; `started_at` is of the process that answers, of which a pod may have several.

    `running` are jobs that a runner holds. `oldest_pending` is in seconds, None while nothing waits. Figures of jobs
    are bounded as metrics are (`models.repositories.installation.measurements`).
    """

    name: str
    number: int
    is_draining: bool
    version: str
    started_at: datetime | None
    temporal_namespace: str
    temporal_connected: bool
    database: DatabaseState
    runners: Mapping[RunnerType, RunnerCount]
    runner_versions: Mapping[str, int]
    pending: int
    running: int
    oldest_pending: float | None


async def own_state(services: Services) -> PodState:
    """The pod as it is now. Raises `Unavailable` while its database is away."""
    settings, database = services.settings, services.database
    begin = time.perf_counter()
    async with database.read() as connection:
        now = await database_time.moment(connection)
        took = time.perf_counter() - begin
        runners = await runner_counts.by_type(connection, now)
        since = now - timedelta(seconds=settings.times.runner_online)
        runner_versions = await runner_counts.versions(connection, since)
    async with database.read() as connection:
        measured = await measurements.measure(connection)
    schema, newest = await versions(database)
    me = identity_of(os.getpid())
    return PodState(
        name=settings.pod,
        number=settings.pod_number,
        is_draining=services.cluster is not None and services.cluster.is_draining,
        version=installed_version(),
        started_at=None if me is None else datetime.fromtimestamp(me.create_time, UTC),
        temporal_namespace=settings.namespace,
        temporal_connected=services.temporal.connected is not None,
        database=DatabaseState("sqlite" if database.is_sqlite else "postgresql", schema, newest, took),
        runners=runners,
        runner_versions=runner_versions,
        pending=sum(waiting.number for waiting in measured.queue.values()),
        running=sum(measured.leases.values()),
        oldest_pending=max((waiting.age for waiting in measured.queue.values()), default=None),
    )


async def own_queue(services: Services) -> list[QueuedTagSet]:
    """What waits here by tag set, what has waited longest first, with what no runner of this pod takes."""
    async with services.database.read() as connection:
        now = await database_time.moment(connection)
        waiting = await tag_sets.waiting(connection)
        runners = await waiting_jobs.candidates(connection, now, services.settings.times.runner_online)
    return queued_tag_sets(waiting, runners)
