"""Calls that jobs of this pod make to projects of other pods: passed on there, without the job's token.

A router brings a job's calls to the pod of its token. That says who calls, signs it, and passes the response on as it
comes (docs/pods.md, "Calls of jobs").
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

import httpx
import orjson
import structlog
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from api.basic_auth import basic_credentials
from api.call_turns import counts_for
from api.git_errors import readable_by_git, speaks_git
from api.pages.frame.errors import refusal_or_page
from api.rate_limits import note_known_caller
from api.raw_target import raw_path, raw_query, target_of
from api.replayed_body import replayed
from api.runner.body import limited_body
from api.services import Services
from api.shown_tokens import job_token_of, token_of
from api.v4.parameters import parameters
from application.jobs.calls_elsewhere import calling_job
from application.pods.cluster import Cluster
from auth.job_routes import scope_for
from auth.job_token import PREFIX
from auth.job_token import Scope as TokenScope
from auth.pod_calls import PodCall, service_token
from domain.errors import PerdureError
from domain.pods.addresses import address_of, is_trigger, pod_in_path
from domain.pods.directory import Pod, PodState
from domain.pods.job_calls import HEADER, MAX_BODY
from domain.size_limits import fixed
from git.transport.smart_http import Service

_REST: Final = "/api/v4/projects/"
_PUSH: Final = f".git/{Service.RECEIVE_PACK}"
_SECRET: Final = frozenset({"job_token", "private_token", "token"})
"""Parameters that hold a token."""
_PASSED: Final = (
    "accept",
    "accept-encoding",
    "content-encoding",
    "content-type",
    "git-protocol",
    "idempotency-key",
    "if-modified-since",
    "if-none-match",
    "range",
    "user-agent",
    "x-gitlab-event",
    "x-request-id",
)
"""Headers that the other pod gets: none that may hold a secret."""
_NOT_BACK: Final = frozenset({"connection", "keep-alive", "transfer-encoding", "x-request-id"})
_BODY: Final = fixed("calls of jobs to other pods", MAX_BODY)

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Shown:
    """A job's token, and what it has to be for; the `parameters` of a trigger, one of which may be the token."""

    token: str
    scope: TokenScope
    parameters: Mapping[str, Any] | None = None


class JobCallsElsewhere:
    """Middleware that passes on what a job calls in another pod; everything else is answered here."""

    def __init__(self, app: ASGIApp, services: Services) -> None:
        """`app` answers all others."""
        self._app = app
        self._services = services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a call on, or answer it."""
        cluster = self._services.cluster
        pod = _pod_of(scope, cluster) if scope["type"] == "http" and cluster is not None else None
        if pod is None or cluster is None:
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            body = await limited_body(request, _BODY, "the body") if _may_be_by_job(request) else None
            shown = None if body is None else await _shown(Request(scope, replayed(body)))
            if body is None or shown is None:
                await self._app(scope, receive if body is None else replayed(body, receive), send)
                return
            await self._pass_on(cluster, pod, request, shown, body, send)
        except PerdureError as error:
            await readable_by_git(request, refusal_or_page(request, error))(scope, receive, send)

    async def _pass_on(
        self, cluster: Cluster, pod: Pod, request: Request, shown: _Shown, body: bytes, send: Send
    ) -> None:
        job = await calling_job(self._services, shown.token, shown.scope)
        note_known_caller(request)
        await counts_for(request, f"job {job.id}")
        headers = [(name, request.headers[name]) for name in _PASSED if name in request.headers]
        if shown.parameters is not None:
            body = orjson.dumps({name: value for name, value in shown.parameters.items() if name != "token"})
            headers = [(name, value) for name, value in headers if name != "content-type"]
            headers.append(("content-type", "application/json"))
        call = PodCall(request.method, _target(request), body, orjson.dumps(job))
        headers.append((HEADER, base64.urlsafe_b64encode(call.job).decode()))
        headers.append(("Authorization", f"Bearer {service_token(cluster.signing_keys, pod.name, call)}"))
        async with cluster.pods.passed_on(pod, call.method, call.path, headers, body) as response:
            await send(
                {
                    "type": "http.response.start",
                    "status": response.status_code,
                    "headers": [pair for pair in response.headers.raw if pair[0].lower().decode() not in _NOT_BACK],
                }
            )
            try:
                async for chunk in response.aiter_raw():
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
            except httpx.HTTPError as error:  # the caller sees a cut as a cut
                log.info("a response of another pod broke off", pod=pod.name, reason=type(error).__name__)
                return
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _pod_of(scope: Scope, cluster: Cluster) -> Pod | None:
    """The other pod that has the project of a path; None for one of this pod, or that nobody knows."""
    directory, path = cluster.directory, raw_path(scope)
    if directory is None or not (path.startswith(_REST) or speaks_git(path)):
        return None
    number = pod_in_path(address_of(scope["method"], path), path, directory)
    pod = None if number in {None, cluster.pod_number} else directory.by_number.get(number or 0)
    return None if pod is None or pod.state is PodState.REMOVED else pod


def _may_be_by_job(request: Request) -> bool:
    """Whether the header says that a job calls, or leaves it to the body: those are small, and of triggers only."""
    if speaks_git(request.url.path):
        return basic_credentials(request)[1].startswith(PREFIX)
    return bool(job_token_of(request, token_of(request))) or is_trigger(request.method, raw_path(request.scope))


async def _shown(request: Request) -> _Shown | None:
    """The token of a job, where a job may call this; None for everything else, which is answered as ever."""
    path = raw_path(request.scope)
    if speaks_git(path):
        token = basic_credentials(request)[1]
        pushes = _PUSH in path or request.query_params.get("service") == Service.RECEIVE_PACK
        return None if pushes else _Shown(token, TokenScope.GIT_READ)
    of_job = job_token_of(request, token_of(request))
    if is_trigger(request.method, path):
        values = await parameters(request, MAX_BODY)
        of_job = of_job or str(values.get("token", ""))
        return _Shown(of_job, TokenScope.TRIGGER, values) if of_job.startswith(PREFIX) else None
    scope = scope_for(request.method, path)
    return None if scope is None else _Shown(of_job, scope)


def _target(request: Request) -> str:
    """Path and query as they came, but for what holds a token."""
    query = raw_query(request.scope)
    pairs = parse_qsl(query, keep_blank_values=True)
    if any(name in _SECRET for name, _ in pairs):
        query = urlencode([(name, value) for name, value in pairs if name not in _SECRET])
    return target_of(raw_path(request.scope), query)
