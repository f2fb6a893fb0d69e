"""How environments live: jobs make them available and stop them, time and people have them stopped.

Whoever stops an environment moves its row first, guarded; the command that plays its stop job is written in the same
transaction. So of two that stop it at once one does, and a process that dies has done all of it or nothing. Source:
docs/reference/pipelines.md, "Environments".
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

from sqlalchemy import and_, bindparam, exists, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.environments.places import START, STOP, deployed_url, seconds_of
from domain.pipelines.status import COMPLETE, LIVE, Status
from models.columns import table_of
from models.repositories.artifacts import reports
from models.repositories.environments import deploy_permissions, environments
from models.repositories.environments.deployments import NEWEST_SUCCESS
from models.repositories.environments.environments import AVAILABLE, STOPPED, STOPPING
from models.repositories.pipelines import operation_callers, outbox
from models.repositories.pipelines.job_rows import job
from models.tables.environments import Deployment, Environment
from models.typed_rows import all_of

environment = table_of(Environment)
deployment = table_of(Deployment)

_WRITTEN: Final = select(
    job.c.id, job.c.pipeline_id, job.c.variables, job.c.plan["environment"].label("environment")
).where(job.c.id.in_(bindparam("b_jobs", expanding=True)))

_PLAYABLE: Final = (COMPLETE - {Status.SKIPPED}) | {Status.MANUAL, Status.SCHEDULED}
"""A stop job in one of these states is played; a finished one runs again."""
_UNDER_WAY: Final = LIVE - {Status.CREATED, Status.MANUAL, Status.SCHEDULED}
"""A stop job in one of these states is on its way already."""


@dataclass(frozen=True, slots=True)
class _WrittenRow:
    """What is written of the environment of a job, and the variables in which it may be."""

    id: int
    pipeline_id: int
    variables: Sequence[Mapping[str, str]]
    environment: Mapping[str, Any] | None


class EndedJob(Protocol):
    """A job that has become complete."""

    @property
    def id(self) -> int:
        """Which job."""

    @property
    def status(self) -> str:
        """How it ended."""

    @property
    def environment_id(self) -> int | None:
        """Its environment, if it has one."""

    @property
    def environment_action(self) -> str:
        """What it does with it."""


async def after_jobs(connection: AsyncConnection, rows: Sequence[EndedJob], now: datetime) -> None:
    """What the end of these jobs means to their environments."""
    places = {row.id: row.environment_id for row in rows if row.environment_id is not None}
    if not places:
        return
    concerned = [row for row in rows if row.id in places]
    done = [row for row in concerned if row.status == Status.SUCCESS]
    failed = [row for row in concerned if row.status != Status.SUCCESS and row.environment_action == STOP]
    lasting = {row.id: row for row in done if row.environment_action != STOP}
    if lasting:
        found = all_of(_WrittenRow, await connection.execute(_WRITTEN, {"b_jobs": sorted(lasting)}))
        for written in sorted(found, key=lambda one: (places[one.id], one.id)):
            await _succeeded(connection, places[written.id], lasting[written.id].environment_action, written, now)
    stopped = [places[row.id] for row in done if row.environment_action == STOP]
    await environments.move(connection, stopped, STOPPED, now, auto_stop_at=None)
    again = [places[row.id] for row in failed]  # it may be stopped once more
    await environments.move(connection, again, AVAILABLE, now, sources={STOPPING})


async def _succeeded(
    connection: AsyncConnection, environment_id: int, action: str, written: _WrittenRow, now: datetime
) -> None:
    """A job has deployed: its environment is there. One that only uses the environment may prolong its life."""
    place = written.environment or {}
    stays = seconds_of(place.get("auto_stop_in", ""))
    until = None if stays is None else now + timedelta(seconds=stays)
    if action != START:
        if until is not None:
            await environments.move(
                connection, [environment_id], AVAILABLE, now, sources={AVAILABLE}, auto_stop_at=until
            )
        return
    values: dict[str, Any] = {"auto_stop_at": until, "kubernetes": place.get("kubernetes", {})}
    if place.get("url"):
        reported = await reports.variables_of(connection, written.id)
        shown = [item for item in written.variables if "value" in item]  # those that the address names
        own = {item["key"]: item["value"] for item in (*reported, *shown)}
        numbers = {"CI_JOB_ID": str(written.id), "CI_PIPELINE_ID": str(written.pipeline_id)}
        url = deployed_url(place["url"], {**own, **numbers})
        if url:
            values["external_url"] = url
    if place.get("deployment_tier"):
        values["tier"] = place["deployment_tier"]
    await environments.move(connection, [environment_id], AVAILABLE, now, **values)


_STOP_JOBS: Final = (
    select(environment.c.id.label("environment_id"), job.c.id, job.c.pipeline_id, job.c.status, job.c.user_id)
    .select_from(environment)
    .join(deployment, and_(deployment.c.id == NEWEST_SUCCESS, deployment.c.environment_id == environment.c.id))
    .join(
        job,
        and_(job.c.pipeline_id == deployment.c.pipeline_id, job.c.name == deployment.c.on_stop, ~job.c.retried),
    )
    .where(environment.c.id.in_(bindparam("b_environments", expanding=True)), deployment.c.on_stop != "")
)


@dataclass(frozen=True, slots=True)
class _StopJobRow:
    """A job that stops an environment."""

    environment_id: int
    id: int
    pipeline_id: int
    status: str
    user_id: int


async def pipelines_to_stop(connection: AsyncConnection, environment_id: int) -> list[int]:
    """The pipelines, none or one, in which stopping an environment plays a job."""
    rows = all_of(_StopJobRow, await connection.execute(_STOP_JOBS, {"b_environments": [environment_id]}))
    return [row.pipeline_id for row in rows]


async def stop(
    connection: AsyncConnection, ids: Iterable[int], now: datetime, *, caller_id: int | None = None
) -> list[int]:
    """Stop those of the environments that are available; give back their ids.

    The `on_stop` job of the pipeline of the last successful deployment is played, with the caller's rights, or with
    its own where its time has come and nobody asks. The environment is `stopping` until that has succeeded. While the
    pipeline has not come to that job the environment stays as it is, due at once: the loop stops it when it can.
    Without such a job it is stopped at once. What is protected from the caller stays as it is.
    """
    wanted = await _permitted(connection, sorted(set(ids)), caller_id)
    if not wanted:
        return []
    rows = all_of(_StopJobRow, await connection.execute(_STOP_JOBS, {"b_environments": wanted}))
    by_environment = {row.environment_id: row for row in rows if row.status != Status.SKIPPED}
    moved: list[int] = []
    for key in wanted:
        row = by_environment.get(key)
        if row is not None and row.status == Status.CREATED:
            await environments.move(connection, [key], AVAILABLE, now, sources={AVAILABLE}, auto_stop_at=now)
            continue
        to = STOPPED if row is None else STOPPING
        if await environments.move(connection, [key], to, now, sources={AVAILABLE}, auto_stop_at=None):
            moved.append(key)
            if row is not None and row.status in _PLAYABLE:
                await _play(connection, key, row, row.user_id if caller_id is None else caller_id, now)
    return moved


async def _permitted(connection: AsyncConnection, ids: Sequence[int], caller_id: int | None) -> Sequence[int]:
    """Those of the environments to which a caller may deploy; all where nobody asks: then the stop job is looked at."""
    if caller_id is None:
        return ids
    rows = await environments.by_ids(connection, ids)
    refused = {
        key for key, row in rows.items() if await deploy_permissions.refusal_of_environment(connection, row, caller_id)
    }
    return [key for key in ids if key not in refused]


async def _play(
    connection: AsyncConnection, environment_id: int, row: _StopJobRow, user_id: int, now: datetime
) -> None:
    """The key names this stop of the environment, so that the command counts once however often it is sent."""
    payload = {"name": "play_job", "key": f"stop-environment-{environment_id}-{int(now.timestamp() * 1_000_000)}"}
    await operation_callers.put(connection, row.pipeline_id, row.id, user_id, **payload)
    await outbox.put(connection, outbox.COMMAND, row.pipeline_id, now, job_ids=[row.id], payload=payload)


async def force_stop(connection: AsyncConnection, environment_id: int, now: datetime) -> None:
    """Stop an environment without its stop job."""
    await environments.move(connection, [environment_id], STOPPED, now, auto_stop_at=None)


async def stop_due(connection: AsyncConnection, now: datetime, limit: int = 100) -> list[int]:
    """Stop the environments whose `auto_stop_at` has come, the longest overdue first; give back their ids."""
    statement = (
        select(environment.c.id)
        .where(environment.c.state == AVAILABLE, environment.c.auto_stop_at <= now)
        .order_by(environment.c.auto_stop_at)
        .limit(limit)
        .with_for_update(skip_locked=True, of=environment)
    )
    return await stop(connection, (await connection.execute(statement)).scalars(), now)


async def any_due(connection: AsyncConnection, now: datetime) -> bool:
    """Whether the time of an environment has come: a look that locks nothing."""
    statement = select(environment.c.id).where(environment.c.state == AVAILABLE, environment.c.auto_stop_at <= now)
    return (await connection.execute(statement.limit(1))).first() is not None


async def stop_of_branch(
    connection: AsyncConnection, project_id: int, branch: str, now: datetime, *, caller_id: int
) -> list[int]:
    """Stop the environments that were deployed last from a branch that the caller has deleted; give back their ids."""
    statement = (
        select(environment.c.id)
        .select_from(environment)
        .join(deployment, and_(deployment.c.id == NEWEST_SUCCESS, deployment.c.environment_id == environment.c.id))
        .where(environment.c.project_id == project_id, environment.c.state == AVAILABLE)
        .where(deployment.c.ref == branch, ~deployment.c.tag)
    )
    return await stop(connection, (await connection.execute(statement)).scalars(), now, caller_id=caller_id)


async def stuck(connection: AsyncConnection, before: datetime) -> list[int]:
    """Environments that have been `stopping` since before `before` although no stop job is on its way."""
    on_its_way = exists().where(
        job.c.environment_id == environment.c.id,
        job.c.environment_action == STOP,
        job.c.status.in_(sorted(_UNDER_WAY | {Status.SCHEDULED})),
    )
    statement = select(environment.c.id).where(
        environment.c.state == STOPPING, environment.c.updated_at < before, ~on_its_way
    )
    return list((await connection.execute(statement)).scalars())


async def recover(connection: AsyncConnection, before: datetime, now: datetime) -> list[int]:
    """Let what is stuck be available again, so that it can be stopped once more; give back the ids."""
    found = await stuck(connection, before)
    return await environments.move(connection, found, AVAILABLE, now, sources={STOPPING})
