"""Calls of the REST API by running jobs, with their token and in the name of their user."""

from application.jobs.job_access import claims_for, held, holder, require_running
from application.services import Services
from auth.job_token import JobClaims
from auth.permissions import Caller
from domain.errors import Unauthenticated
from models.repositories.accounts import accounts
from models.repositories.pipelines.jobs import get as job_row
from models.rows.accounts import UserRow
from models.rows.pipelines import ListedJobRow


async def caller_by_job(services: Services, token: str, scope: str, address: str = "") -> Caller:
    """The user of a running job, whose lease this renews.

    Raises `Forbidden` for what is no token for `scope`, `JobNotRunning`, `Unauthenticated` for a user who is blocked.
    """
    claims = claims_for(services, token, scope)
    caller = await user_of(services, claims, address)
    async with services.database.write() as connection:
        await held(connection, claims)
    return caller


async def job_and_user(services: Services, claims: JobClaims) -> tuple[ListedJobRow, UserRow]:
    """A job that runs, and its user. Raises `Forbidden`, `JobNotRunning`, `Unauthenticated` for one who is blocked."""
    async with services.database.read() as connection:
        require_running(await holder(connection, claims))
        job = await job_row(connection, claims.job_id, claims.project_id)
        row = await accounts.get(connection, job.user_id)
    if row.state != accounts.ACTIVE:
        raise Unauthenticated("Unauthorized")
    return job, row


async def user_of(services: Services, claims: JobClaims, address: str = "") -> Caller:
    """The user of a job that runs, as they may act for it. Raises `Forbidden`, `JobNotRunning`, `Unauthenticated`."""
    _, row = await job_and_user(services, claims)
    return Caller(
        row.id,
        row.username,
        row.is_admin,
        row.external,
        address=address,
        job_id=claims.job_id,
        job_project_id=claims.project_id,
    )
