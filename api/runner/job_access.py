"""Calls with a job token as runners make them: where the token is, and one look for calls that come together."""

from fastapi import Request

from api.services import Services
from api.shown_tokens import agreed
from application.jobs.job_access import named
from auth.job_token import JobClaims
from models.repositories.queue.held_jobs import HeldJob


def job_token(request: Request, body_token: str = "") -> str:
    """The token of a call: in the body or in the header, else in the query. Raises `Invalid` for two that differ."""
    return agreed(body_token, request.headers.get("job-token", "")) or request.query_params.get("token", "")


async def holder_now(services: Services, claims: JobClaims) -> HeldJob:
    """The job whose hand-out a token names, without a transaction; calls that come together are one look."""
    return named(await services.calls.look(claims.job_id), claims)
