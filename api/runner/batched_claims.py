"""Claims of all polls that look at the same moment are one transaction, with all that is read for the payloads.

So a loaded server does not pay for each of them, and the fair order holds among them to the job. What one poll or job
cannot have is not the others' fault: whose client is gone leaves, and an error sends each of them on alone.
"""

from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import structlog
from fastapi import Request
from sqlalchemy.ext.asyncio import AsyncConnection

from api.runner.batching import AskedTogether
from api.runner.payloads.hand_out_document import document_of, make_ready
from api.runner.queue_services import QueueServices
from application.jobs.foreign_dependencies import NeedsOtherPod
from application.jobs.needs_elsewhere import let_wait
from domain.errors import StorageFull, Unavailable
from domain.pipelines.status import Status
from models.notifications import JOBS
from models.repositories.pipelines import verdicts
from models.repositories.queue import claims, hand_outs
from models.repositories.queue.candidates import PollingRunner
from models.repositories.queue.claims import Claim
from models.repositories.queue.hand_outs import HandOut

MAX_BATCH: Final = 32
"""So many claims are one transaction at most: others wait for it."""

log = structlog.get_logger()


class ClientGone(Exception):
    """Nobody would read the answer: the claim is rolled back."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Asking:
    """A poll that looks into the queue."""

    services: QueueServices
    request: Request
    runner: PollingRunner
    claim: Claim


@dataclass(frozen=True, slots=True)
class Found:
    """A job for a poll. Without a `document` it has failed on the way; without `rows` nothing of it could be read."""

    rows: HandOut | None = None
    document: dict[str, Any] | None = None


Answer: TypeAlias = Found | Exception | None
"""None: there is nothing for that runner. What went wrong for one poll alone is an answer too."""


async def ask_for_job(together: AskedTogether[Asking, Answer], asking: Asking) -> Found | None:
    """The next job for a poll. Raises `ClientGone`, or what went wrong."""
    answer = await together.ask(asking)
    if isinstance(answer, Exception):
        raise answer
    return answer


async def hand_out_jobs(asked: Collection[Asking]) -> Mapping[Asking, Answer]:
    """Serve those who ask, who came first is served first. Raises `Unavailable` or `StorageFull` for all of them."""
    answers: dict[Asking, Answer] = {}
    left = list(asked)
    while left:
        try:
            return answers | await _in_one_transaction(left)
        except _SomeGone as error:
            answers |= dict.fromkeys(error.gone, ClientGone())
            left = [asking for asking in left if asking not in error.gone]
        except NeedsOtherPod as error:
            await let_wait(left[0].services, error.job_id)
            await left[0].services.notifications.tell(JOBS)  # who looked meanwhile passed the other jobs by
        except (StorageFull, Unavailable):
            raise
        except Exception as error:
            if len(left) == 1:
                return answers | {left[0]: error}
            log.warning("jobs could not be handed out together; each poll is served alone", exc_info=True)
            break
    for asking in left:
        answers |= await hand_out_jobs([asking])
    return answers


class _SomeGone(Exception):
    """Some of the clients are not there any more."""

    def __init__(self, gone: Collection[Asking]) -> None:
        super().__init__()
        self.gone = gone


async def _in_one_transaction(asked: list[Asking]) -> dict[Asking, Answer]:
    services, poison = asked[0].services, 0
    leaving = (await services.leaving.now()).without_jobs if services.leaving is not None else ()
    async with _claiming(services) as connection:
        asking_now = [asking.claim for asking in asked]
        taken = await claims.take(connection, asking_now, services.clock(), leaving, is_copy=services.mine.is_copy)
        jobs = {asking: job_id for asking, job_id in zip(asked, taken, strict=True) if job_id is not None}
        try:
            answers = await _answers(connection, services, jobs) if jobs else {}
        except NeedsOtherPod:
            raise
        except Exception:
            if len(asked) > 1:
                raise
            (poison,) = jobs.values()
            log.exception("the payload of a job cannot be built; the job fails alone", job=poison)
        else:
            gone = [one for one, found in answers.items() if found.document and await one.request.is_disconnected()]
            if gone:
                raise _SomeGone(gone)
    if poison:
        await _fail(services, poison)
        return {asked[0]: Found()}
    if jobs:
        services.queue.found_a_job()
    _count(services, answers.values(), len(asked))
    if len(jobs) < len(asked):
        services.polls.found_nothing()
    return {**answers}


def _count(services: QueueServices, found: Iterable[Found], asked: int) -> None:
    """For the metrics; jobs that failed on their way are nobody's."""
    given = [one.rows.job for one in found if one.rows is not None and one.document is not None]
    services.metrics.claimed(asked, len(given))
    now = services.clock()
    for job in given:
        services.metrics.handed_out(job.tags, (now - job.queued_at).total_seconds() if job.queued_at else 0.0)


@asynccontextmanager
async def _claiming(services: QueueServices) -> AsyncIterator[AsyncConnection]:
    """The transaction of claims. When it is rolled back everybody looks: who looked meanwhile passed the jobs by."""
    try:
        async with services.database.write() as connection:
            yield connection
    except Unavailable:
        raise  # nobody could look now
    except BaseException:
        await services.notifications.tell(JOBS)
        raise


async def _answers(
    connection: AsyncConnection, services: QueueServices, jobs: Mapping[Asking, int]
) -> dict[Asking, Found]:
    """What the runners are told of their jobs; those that cannot run fail here."""
    rows = await hand_outs.read(connection, set(jobs.values()))
    ready = {}
    for asking, job_id in jobs.items():
        features = asking.claim.features
        ready[asking] = await make_ready(connection, services, asking.runner, rows[job_id], features)
    await claims.lift(connection, [item.rows for item in ready.values() if item is not None], services.clock())
    return {
        asking: Found(rows[jobs[asking]], None if item is None else await document_of(connection, services, item))
        for asking, item in ready.items()
    }


async def _fail(services: QueueServices, job_id: int) -> None:
    async with services.database.write() as connection:
        await verdicts.end_jobs(connection, [job_id], Status.FAILED, services.clock(), reason="scheduler_failure")
