"""What a request shows for its caller, wherever GitLab's clients put it."""

from typing import Final

from fastapi import Request

from api.services import Services
from auth.job_token import PREFIX
from auth.session_token import COOKIE, cookie_of
from domain.errors import Invalid
from domain.pods.credentials import cookie_name

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


def agreed(in_body: str, in_header: str) -> str:
    """The token of a call that may show it in both places. Raises `Invalid` where they differ: a router reads one."""
    if in_body and in_header and in_body != in_header:
        raise Invalid("Bad request: the token in the header is not the one in the body; send one of them.")
    return in_body or in_header


def shown_by(request: Request) -> str:
    """That of all which decides who calls: a token, or the session of a browser; empty for nobody."""
    token = token_of(request)
    return token or job_token_of(request, token) or session_of(request)


def cookies_of(services: Services) -> tuple[str, ...]:
    """The cookies that may hold a session of this pod: the one that it sets, then that of before there were several."""
    numbered = () if services.cluster is None else (cookie_of(services.settings.pod_number),)
    return tuple(cookie_name(name, services.settings.url) for name in dict.fromkeys((*numbered, COOKIE)))


def session_of(request: Request) -> str:
    """The session that a browser shows to this pod, which may be none of its own; empty for none."""
    found = (request.cookies.get(name, "") for name in cookies_of(request.app.state.services))
    return next(filter(None, found), "")
