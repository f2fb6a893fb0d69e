"""Why jobs are as they are: reads what `domain.why` wants to know of them, for many at once."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Final

from sqlalchemy.ext.asyncio import AsyncConnection

from application.access import ProjectAccess
from application.jobs import runner_waits
from application.pipelines.sealed_values import reason_shown
from application.services import Services
from auth.permissions import LEVEL_FOR, Action
from domain.config.plan import NO_RETRY
from domain.moments import queued
from domain.pipelines.status import COMPLETE, HELD_BY_RUNNER, Status
from domain.runners.named_runner import named
from domain.why.absent import absent
from domain.why.explain import explained
from domain.why.explanation import Explanation
from domain.why.in_graph import Graph
from domain.why.known import HeldBy, KnownJob, Times
from models.repositories.environments import deploy_permissions
from models.repositories.pipelines import jobs, loading, pipelines, slot_waits
from models.repositories.projects import relations
from models.repositories.queue import leases
from models.rows.pipelines import JobFacts, PipelineRow
from models.session import Database
from settings import TimeLimits

_BY_GRAPH: Final = frozenset({Status.CREATED, Status.MANUAL, Status.SCHEDULED, Status.SKIPPED})
"""States that the other jobs of the pipeline explain."""


async def of_jobs(
    services: Services, project: ProjectAccess, pipeline: PipelineRow, rows: Sequence[JobFacts]
) -> Mapping[int, Explanation]:
    """Why each of these jobs of one pipeline is as it is, by id, as the caller may know it."""
    now = services.clock()
    async with services.database.read() as connection:
        refused = await _refused(connection, project, rows)
        names = project.may_run(pipeline)
        known = await _known(connection, services.settings.times, pipeline, rows, now, refused, names=names)
    return await asyncio.to_thread(lambda: {job.id: explained(job) for job in known()})


class OperatorExplanations:
    """Why jobs are as they are, for operators: they look from Temporal, and may see every pipeline."""

    def __init__(self, database: Database, clock: Callable[[], datetime], times: TimeLimits) -> None:
        """Read this database."""
        self._database, self._clock, self._times = database, clock, times

    async def of_jobs(self, pipeline_id: int, job_ids: Sequence[int]) -> Mapping[int, tuple[str, Explanation]]:
        """How each of these jobs stands and why, by id. Raises `NotFound` if the pipeline is gone."""
        async with self._database.read() as connection:
            pipeline = await pipelines.get(connection, pipeline_id)
            rows = list((await jobs.by_ids(connection, job_ids)).values())
            known = await _known(connection, self._times, pipeline, rows, self._clock(), {}, names=True)
        return await asyncio.to_thread(lambda: {job.id: (str(job.status), explained(job)) for job in known()})


def absent_jobs(services: Services, project: ProjectAccess, pipeline: PipelineRow) -> list[tuple[str, Explanation]]:
    """The jobs of the configuration that are not in a pipeline, by name, and why."""
    may_run = project.may_run(pipeline)
    found = pipeline.reasons.get("absent", [])
    return [(one["name"], absent(reason_shown(services.sealer, one["why"], may_run=may_run))) for one in found]


async def _known(
    connection: AsyncConnection,
    times: TimeLimits,
    pipeline: PipelineRow,
    rows: Sequence[JobFacts],
    now: datetime,
    refused: Mapping[int, str],
    *,
    names: bool,
) -> Callable[[], list[KnownJob]]:
    """What is known of the jobs, put together when it is called: in a thread, since a thousand jobs take time."""
    latest = [row for row in rows if not row.retried]
    waiting = [row for row in latest if row.status == Status.PENDING and not row.bridge]
    waits = await runner_waits.of_jobs(connection, waiting, now, times.runner_online, names=names)
    slots = await slot_waits.of_groups(connection, _groups(latest))
    policies = await jobs.retry_policies(connection, (row.id for row in latest if row.status == Status.FAILED))
    graph = await _graph(connection, pipeline.id, latest, now)
    holders = await _holders(connection, rows, times.ticks_until_unresponsive)
    limits = Times(times.pending_unmatched, times.runner_unresponsive, times.runner_lost)
    return lambda: [
        KnownJob(
            id=row.id,
            name=row.name,
            status=Status(row.status),
            pipeline_id=row.pipeline_id,
            times=limits,
            bridge=row.bridge,
            allow_failure=row.allow_failure,
            attempt=row.attempt,
            retry=policies.get(row.id, NO_RETRY),
            retried=row.retried,
            timeout=row.timeout,
            failure_reason=row.failure_reason,
            exit_code=row.exit_code,
            has_run=row.started_at is not None,
            waited=queued(row, now) or 0.0,
            in_graph=None if graph is None else graph.look(row.id),
            runner=waits.get(row.id),
            slot=slots.get(row.id),
            held_by=holders.get(row.id),
            refused=refused.get(row.id, ""),
            pipeline_reason=pipeline.status_reason,
        )
        for row in rows
    ]


def _groups(rows: Sequence[JobFacts]) -> set[int]:
    """The resource groups for whose slot some of the jobs wait."""
    return {
        row.resource_group_id
        for row in rows
        if row.status == Status.WAITING_FOR_RESOURCE and row.resource_group_id is not None
    }


async def _graph(
    connection: AsyncConnection, pipeline_id: int, rows: Sequence[JobFacts], now: datetime
) -> Graph | None:
    """The whole pipeline, if it explains anything."""
    if not any(row.status in _BY_GRAPH for row in rows):
        return None
    return Graph(await loading.shown(connection, pipeline_id), now)


async def _refused(connection: AsyncConnection, project: ProjectAccess, rows: Sequence[JobFacts]) -> Mapping[int, str]:
    """Why the caller may not run some of the jobs, who may run others."""
    if not project.caller.is_known or project.level < LEVEL_FOR[Action.RUN]:
        return {}
    open_jobs = [row for row in rows if not row.retried and row.status not in COMPLETE]
    guarded = [row.id for row in open_jobs if row.environment_action]
    return await deploy_permissions.refusals_of_jobs(connection, guarded, project.caller.user_id)


async def _holders(connection: AsyncConnection, rows: Sequence[JobFacts], ticks: int) -> Mapping[int, HeldBy]:
    """Who has or had each job."""
    runners = await relations.runners(connection, (row.runner_id for row in rows))
    silent = await leases.unresponsive(connection, [row.id for row in rows if row.status in HELD_BY_RUNNER], ticks)
    return {
        row.id: HeldBy(named(row.runner_id, runners[row.runner_id].description), row.id in silent)
        for row in rows
        if row.runner_id is not None and row.runner_id in runners
    }
