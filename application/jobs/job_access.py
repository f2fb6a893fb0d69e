"""Calls with a job token: which job, which hand-out, and whether it still may.

Unknown job, wrong token and foreign pod are all the same 403; a job that has ended says so in `Job-Status`.
"""

from datetime import timedelta

from sqlalchemy.ext.asyncio import AsyncConnection

from application.services import Services
from auth.job_token import JobClaims
from domain.errors import Forbidden, JobNotRunning
from domain.pipelines.status import HELD_BY_RUNNER
from models.repositories.queue import held_jobs
from models.repositories.queue.held_jobs import HeldJob


def claims_for(services: Services, token: str, scope: str = "", job_id: int | None = None) -> JobClaims:
    """What a token says, if it is one of this pod, for `scope` if any, and of that job. Raises `Forbidden`."""
    claims = services.job_tokens.read(token)
    if claims.pod != services.settings.pod or job_id not in {None, claims.job_id}:
        raise Forbidden("Forbidden")
    if scope:
        claims.require(scope)
    return claims


async def holder(connection: AsyncConnection, claims: JobClaims, *, writes: bool = False) -> HeldJob:
    """The job whose hand-out a token names, whatever its status. Raises `Forbidden`.

    With `writes` nobody else changes the job before the transaction ends.
    """
    look = held_jobs.look_and_lock if writes else held_jobs.look
    return named(await look(connection, claims.job_id), claims)


def named(row: HeldJob | None, claims: JobClaims) -> HeldJob:
    """The row, if there is one and it is the hand-out that the token names. Raises `Forbidden`."""
    if row is None or _identity(row) != (claims.organisation_id, claims.project_id, claims.attempt, claims.hand_out):
        raise Forbidden("Forbidden")
    return row


def _identity(row: HeldJob) -> tuple[int, int, int, int]:
    return row.organisation_id, row.project_id, row.attempt, row.hand_out


def require_running(row: HeldJob) -> None:
    """Raise `JobNotRunning` unless a runner holds the job."""
    if row.status not in HELD_BY_RUNNER:
        raise JobNotRunning(f"Forbidden: job {row.id} is {row.status}, not running.", row.status)


def in_grace(services: Services, row: HeldJob) -> bool:
    """Whether a job ended so lately that its runner may repeat its last words; nothing is written for them."""
    grace = timedelta(seconds=services.settings.times.job_token_grace)
    return row.finished_at is not None and services.clock() - row.finished_at <= grace


async def held(connection: AsyncConnection, claims: JobClaims) -> HeldJob:
    """A running job; this call renews its lease. Raises `Forbidden`, `JobNotRunning`."""
    row = await holder(connection, claims)
    require_running(row)
    await held_jobs.renew(connection, row)
    return row
