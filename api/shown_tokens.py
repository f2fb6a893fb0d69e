"""What a request shows for its caller, wherever GitLab's clients put it."""

from typing import Final

from fastapi import Request

from auth.job_token import PREFIX
from auth.session_token import COOKIE

_PARAMETER: Final = "job_token"


def token_of(request: Request) -> str:
    """The personal access token of a request; empty if there is none."""
    bearer = request.headers.get("authorization", "")
    if bearer.lower().startswith("bearer "):
        return bearer[7:].strip()
    return request.headers.get("private-token") or request.query_params.get("private_token") or ""


def job_token_of(request: Request, token: str) -> str:
    """The job token of a request; `token` is what stands where people show theirs. Empty for none."""
    if token:
        return token if token.startswith(PREFIX) else ""
    return request.headers.get("job-token") or request.query_params.get(_PARAMETER) or ""


def shown_by(request: Request) -> str:
    """That of all which decides who calls: a token, or the session of a browser; empty for nobody."""
    token = token_of(request)
    return token or job_token_of(request, token) or request.cookies.get(COOKIE) or ""
