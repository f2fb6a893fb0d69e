"""`POST /jobs/request`: a runner asks for a job, and waits for one (docs/reference/runner-protocol.md, "Job request").

A runner whose ticket says that nothing has happened since it looked is held until it is called; any other looks first.
Looking is a claim, so nothing can change between the two.
"""

import asyncio
import random
from typing import Any, Final

import orjson
from fastapi import Request, Response

from api.runner.batched_claims import Asking, ClientGone, ask_for_job
from api.runner.body import SMALL, json_object, text
from api.runner.queue_position import Place
from api.runner.runner_access import note_contact, polling_runner
from api.services import Services
from domain.runners.features import named_features
from models.notifications import OUTBOX, PIPELINES, TRACES, pipeline_topic, project_topic
from models.repositories.queue.candidates import KnownRunner, PollingRunner
from models.repositories.queue.claims import Claim
from models.repositories.queue.hand_outs import HandOut

_SPREAD: Final = 0.1
"""Share of the time for which polls are held by which it differs, so that they do not come back all at once."""


async def request_job(request: Request, services: Services) -> Response:
    """Hand out a job (201) or say that there is none (204)."""
    body = await json_object(request, SMALL)
    runner = await polling_runner(services, request, body)
    await note_contact(services, request, runner.row.id, body)
    try:
        return await _wait_for_job(services, request, runner, _claim(request, runner, body), text(body, "last_update"))
    except ClientGone:
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
    """Whether the poll was called for a job within the time. Raises `ClientGone`."""
    gone = asyncio.create_task(_disconnected(request))
    both: list[asyncio.Future[Any]] = [waiter, gone]
    try:
        await asyncio.wait(both, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if gone.done():
            raise ClientGone
    finally:
        gone.cancel()
    return waiter.done() and waiter.result() is not None


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _take(services: Services, request: Request, place: Place, claim: Claim) -> dict[str, Any] | None:
    """Claim the next job, with all who claim at this moment; what the runner is told of it, or None."""
    if services.cluster is not None and services.cluster.is_draining:
        return None
    runner = place.runner.row
    while True:
        found = await ask_for_job(services.claims, Asking(services, request, runner, claim))
        if found is None:
            return None
        if found.document is not None and found.rows is not None:
            place.found(found.rows.job.demand_id)
            await _announce(services, runner, found.rows)
            return found.document
        await _tell_of_failure(services, found.rows)


async def _tell_of_failure(services: Services, rows: HandOut | None) -> None:
    """A job failed on its way to the runner; nothing more is known of one whose payload could not be built."""
    await services.notifications.notify(OUTBOX)
    if rows is not None:
        await services.notifications.notify(TRACES)
        await services.notifications.show(pipeline_topic(rows.job.pipeline_id))


async def _announce(services: Services, runner: PollingRunner, rows: HandOut) -> None:
    """Tell watchers of the pipeline, and let the Temporal Web UI show who holds the job; both may fail."""
    await services.notifications.show(pipeline_topic(rows.job.pipeline_id), project_topic(rows.project.id), PIPELINES)
    holder = runner.description or f"runner {runner.id}"
    services.holders.show(rows.job.pipeline_id, rows.job.id, holder, rows.job.hand_out, rows.job.room)
