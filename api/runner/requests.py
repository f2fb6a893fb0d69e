"""`POST /jobs/request`: a runner asks for a job, and waits for one (reference: runner protocol, section 3).

A runner whose ticket says that nothing has happened since it looked is held until it is called; any other looks first.
Looking is a claim, so nothing can change between the two.
"""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import orjson
import structlog
from fastapi import Request, Response
from sqlalchemy.ext.asyncio import AsyncConnection

from api.runner import payload
from api.runner.body import json_object, text
from api.runner.foreign_dependencies import asks_beyond, foreign_dependencies, gone_dependencies
from api.runner.hand_out_tokens import archive_token, hand_out_token
from api.runner.payload_artifacts import dependency
from api.runner.payload_id_tokens import id_tokens
from api.runner.payload_variables import job_variables
from api.runner.place_in_row import Place
from api.runner.runner_access import note_contact, polling_runner
from api.runner.runner_features import fail_unsupported
from api.services import Services
from domain.errors import Unavailable
from domain.runner_features import named_features
from domain.status import Status
from models.columns import Record
from models.notifications import JOBS, OUTBOX, TRACES, pipeline_topic
from models.repositories import claims, hand_outs, traces, verdicts
from models.repositories.candidates import KnownRunner
from models.repositories.claims import Claim

log = structlog.get_logger()

_SPREAD: Final = 0.1
"""Share of the time for which polls are held by which it differs, so that they do not come back all at once."""

_BODY_LIMIT = 32 * 1024


class _ClientGone(Exception):
    """Nobody would read the answer: the claim is rolled back."""


async def request_job(request: Request, services: Services) -> Response:
    """Hand out a job (201) or say that there is none (204)."""
    body = await json_object(request, _BODY_LIMIT)
    runner = await polling_runner(services, request, body)
    await note_contact(services, request, runner.row, body)
    try:
        return await _wait_for_job(services, request, runner, _claim(request, runner, body), text(body, "last_update"))
    except _ClientGone:
        return Response(status_code=499)


def _claim(request: Request, runner: KnownRunner, body: dict[str, Any]) -> Claim:
    features = named_features(body.get("info"))
    return Claim(
        runner_id=runner.row.id,
        token_hash=runner.token_hash,
        system_id=text(body, "system_id"),
        request_id=request.headers.get("x-request-id", "")[:64],
        cancel_gracefully="cancel_gracefully" in (features or ()),
        features=features,
    )


async def _wait_for_job(
    services: Services, request: Request, runner: KnownRunner, claim: Claim, ticket: str
) -> Response:
    """Look, unless the ticket says that there is nothing to see; then wait to be called, and look again."""
    polls = services.polls
    seen = services.tickets.read(ticket, claim.runner_id)
    deadline = asyncio.get_running_loop().time() + _patience(services, ticket, is_ours=polls.version.is_ours(seen))
    is_called, may_find = False, not polls.version.is_current(seen, runner.candidate)
    place = Place(polls, runner)
    try:
        while True:
            waiter = place.take()
            if is_called or (may_find and await polls.may_find(runner, claim.request_id)):
                document = await _take(services, request, place, claim)
                if document is not None:
                    return Response(orjson.dumps(document), 201, media_type="application/json")
                place.looked_in_vain()
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0 or services.drain.begun:
                fresh = services.tickets.issue(claim.runner_id, place.seen)
                return Response(status_code=204, headers={"X-GitLab-Last-Update": fresh})
            is_called, may_find = await _called(request, waiter, left), False
    finally:
        place.leave()


def _patience(services: Services, ticket: str, *, is_ours: bool) -> float:
    """For how many seconds a poll is held: not at all without a ticket, for that runner may not know how to wait.

    After a start all runners come at the same moment: the first time they go at different ones.
    """
    longest = services.settings.times.long_poll if ticket else 0.0
    return longest * random.uniform(1 - _SPREAD if is_ours else 0.0, 1.0)


async def _called(request: Request, waiter: "asyncio.Future[int | None]", timeout: float) -> bool:
    """Whether the poll was called for a job within the time. Raises `_ClientGone`."""
    gone = asyncio.create_task(_disconnected(request))
    both: list[asyncio.Future[Any]] = [waiter, gone]
    try:
        await asyncio.wait(both, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if gone.done():
            raise _ClientGone
    finally:
        gone.cancel()
    return waiter.done() and waiter.result() is not None


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _take(services: Services, request: Request, place: Place, claim: Claim) -> dict[str, Any] | None:
    """Claim the next job and build what the runner is told of it, in one transaction."""
    runner = place.runner.row
    while True:
        poison = 0
        async with _claiming(services) as connection:
            taken = await claims.take(connection, claim, services.clock())
            if taken is None:
                services.polls.found_nothing()
                return None
            services.queue.found_a_job()
            try:
                rows = await hand_outs.read(connection, taken)
                document = await _prepared(connection, services, runner, rows, claim)
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
            place.found(taken.demand_id)
            await _announce(services, runner, rows)
            return document
        await _tell_of_failure(services, rows)


@asynccontextmanager
async def _claiming(services: Services) -> AsyncIterator[AsyncConnection]:
    """The transaction of a claim. When it is rolled back everybody looks: who looked meanwhile passed the job by."""
    try:
        async with services.database.write() as connection:
            yield connection
    except Unavailable:
        raise  # nobody could look now
    except BaseException:
        await services.notifications.tell(JOBS)
        raise


async def _prepared(
    connection: AsyncConnection, services: Services, runner: Record, rows: hand_outs.HandOut, claim: Claim
) -> dict[str, Any] | None:
    """What the runner is told; None for a job that lacks a dependency or a feature of its runner: it has failed."""
    if await fail_unsupported(connection, rows, claim.features, services.clock()):
        return None
    token = hand_out_token(services, runner, rows)
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
    issued = await id_tokens(connection, services, rows, runner, token)
    document = payload.build(rows, runner, token, services.settings, issued)
    for archive in found.archives:
        narrow = archive_token(services, runner, rows, archive.id)
        document["dependencies"].append(dependency(archive, narrow))
    return document


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
