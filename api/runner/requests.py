"""`POST /jobs/request`: a runner asks for a job, and waits for one (reference: runner protocol, section 3).

A runner that has seen our queue value is held until there is something to look at; looking is a claim, so nothing can
change between the two. Whoever was woken for nothing wakes the next.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
import structlog
from fastapi import Request, Response
from sqlalchemy.ext.asyncio import AsyncConnection

from api.runner import payload
from api.runner.body import json_object, text
from api.runner.foreign_dependencies import asks_beyond, foreign_dependencies, gone_dependencies
from api.runner.payload_artifacts import dependency
from api.runner.payload_variables import job_variables
from api.runner.place_in_row import PlaceInRow
from api.runner.runner_access import authenticated_runner, note_contact
from api.services import Services
from auth.job_token import ALL_SCOPES, MAKES_RELEASE, JobClaims, archive_scope
from domain.errors import Unavailable
from domain.status import Status
from models.columns import Record
from models.notifications import JOBS, OUTBOX, TRACES, pipeline_topic
from models.repositories import claims, hand_outs, traces, verdicts
from models.repositories.claims import Claim

log = structlog.get_logger()

_QUEUE_VALUE = "waiting"
"""Any value does: a runner that sends one back knows how to wait."""

_BODY_LIMIT = 32 * 1024


class _ClientGone(Exception):
    """Nobody would read the answer: the claim is rolled back."""


async def request_job(request: Request, services: Services) -> Response:
    """Hand out a job (201) or say that there is none (204)."""
    body = await json_object(request, _BODY_LIMIT)
    runner = await authenticated_runner(services, request, body)
    await note_contact(services, request, runner, body)
    if runner.paused:
        return _nothing()
    claim = _claim(request, runner, body)
    patience = services.settings.times.long_poll if text(body, "last_update") else 0.0
    try:
        return await _wait_for_job(services, request, runner, claim, patience)
    except _ClientGone:
        return Response(status_code=499)


def _nothing() -> Response:
    return Response(status_code=204, headers={"X-GitLab-Last-Update": _QUEUE_VALUE})


def _claim(request: Request, runner: Record, body: dict[str, Any]) -> Claim:
    info = body.get("info")
    features = info.get("features") if isinstance(info, dict) else None
    return Claim(
        runner_id=runner.id,
        runner_type=runner.runner_type,
        project_id=runner.project_id,
        tags=tuple(runner.tags),
        run_untagged=runner.run_untagged,
        ref_protected=runner.ref_protected,
        system_id=text(body, "system_id"),
        request_id=request.headers.get("x-request-id", "")[:64],
        cancel_gracefully=bool(isinstance(features, dict) and features.get("cancel_gracefully")),
    )


async def _wait_for_job(
    services: Services, request: Request, runner: Record, claim: Claim, patience: float
) -> Response:
    deadline = asyncio.get_running_loop().time() + patience
    place = PlaceInRow(services.notifications)
    try:
        while True:
            waiter = place.take()
            document = await _take(services, request, runner, claim)
            if document is not None:
                place.found()
                return Response(orjson.dumps(document), 201, media_type="application/json")
            place.looked_in_vain()
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0 or services.drain.begun:
                return _nothing()
            await _woken(request, waiter, min(left, services.settings.times.queue_rescan))
    finally:
        place.leave()


async def _woken(request: Request, waiter: "asyncio.Future[int]", timeout: float) -> None:
    """Return when woken or after the timeout. Raises `_ClientGone`."""
    gone = asyncio.create_task(_disconnected(request))
    both: list[asyncio.Future[Any]] = [waiter, gone]
    try:
        await asyncio.wait(both, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if gone.done():
            raise _ClientGone
    finally:
        gone.cancel()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _take(services: Services, request: Request, runner: Record, claim: Claim) -> dict[str, Any] | None:
    """Claim the next job and build what the runner is told of it, in one transaction."""
    if not services.queue.is_busy:
        async with services.database.read() as connection:
            if not await claims.any_for(connection, claim):
                return None
    while True:
        poison = 0
        async with _claiming(services) as connection:
            taken = await claims.take(connection, claim, services.clock())
            services.queue.is_busy = taken is not None
            if taken is None:
                return None
            try:
                rows = await hand_outs.read(connection, taken)
                document = await _prepared(connection, services, runner, rows)
            except Exception:
                log.exception("the payload of a job cannot be built; the job fails alone", job=taken.id)
                poison = taken.id
            else:
                if document is not None and await request.is_disconnected():
                    raise _ClientGone
        if poison:
            await _fail(services, poison)
            continue
        if document is not None:
            await _announce(services, runner, rows)
            return document
        await _tell_of_failure(services, rows)


@asynccontextmanager
async def _claiming(services: Services) -> AsyncIterator[AsyncConnection]:
    """The transaction of a claim. When it is rolled back somebody is called: who looked meanwhile passed the job by."""
    try:
        async with services.database.write() as connection:
            yield connection
    except Unavailable:
        raise  # nobody could look now
    except BaseException:
        await services.notifications.notify(JOBS)
        raise


async def _prepared(
    connection: AsyncConnection, services: Services, runner: Record, rows: hand_outs.HandOut
) -> dict[str, Any] | None:
    """What the runner is told; None for a job that lacks a dependency: it has failed then, and is never retried."""
    token = _token(services, runner, rows.job, _scopes(rows))
    found = await gone_dependencies(connection, services, rows)
    if not found.missing and asks_beyond(rows):
        variables = job_variables(rows, runner, token, services.settings)
        found = await foreign_dependencies(connection, services, rows, variables)
    if found.missing:
        await traces.add_words(connection, rows.job.id, f"This job cannot run: {'; '.join(found.missing)}.")
        now, reason = services.clock(), "missing_dependency_failure"
        await verdicts.end_jobs(connection, [rows.job.id], Status.FAILED, now, reason=reason)
        return None
    await claims.lift(connection, rows, services.clock())
    document = payload.build(rows, runner, token, services.settings)
    for archive in found.archives:
        narrow = _token(services, runner, rows.job, (archive_scope(archive.id),))
        document["dependencies"].append(dependency(archive, narrow))
    return document


def _scopes(rows: hand_outs.HandOut) -> tuple[str, ...]:
    return (*ALL_SCOPES, MAKES_RELEASE) if rows.job.plan.get("release") else ALL_SCOPES


def _token(services: Services, runner: Record, job: Record, scopes: tuple[str, ...]) -> str:
    return services.job_tokens.issue(
        JobClaims(services.settings.pod, job.id, job.attempt, job.hand_out, job.project_id, scopes),
        min(job.timeout, runner.maximum_timeout or job.timeout),
        services.clock(),
    )


async def _fail(services: Services, job_id: int) -> None:
    async with services.database.write() as connection:
        await verdicts.end_jobs(connection, [job_id], Status.FAILED, services.clock(), reason="scheduler_failure")
    await services.notifications.notify(OUTBOX)


async def _tell_of_failure(services: Services, rows: hand_outs.HandOut) -> None:
    await services.notifications.notify(OUTBOX)
    await services.notifications.notify(TRACES)
    await services.notifications.notify(pipeline_topic(rows.job.pipeline_id), count=1_000)


async def _announce(services: Services, runner: Record, rows: hand_outs.HandOut) -> None:
    """Tell watchers of the pipeline, and let the Temporal Web UI show who holds the job; both may fail."""
    await services.notifications.notify(pipeline_topic(rows.job.pipeline_id), count=1_000)
    holder = runner.description or f"runner {runner.id}"
    services.holders.show(rows.job.pipeline_id, rows.job.id, holder, rows.job.hand_out, rows.job.room)
