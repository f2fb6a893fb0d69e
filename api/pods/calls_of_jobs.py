"""Calls that jobs of other pods make here: who calls is what their pod has signed (docs/pods.md, "Calls of jobs")."""

import base64
import binascii
from typing import Final

from pydantic import TypeAdapter, ValidationError
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from api.git_errors import readable_by_git
from api.pages.frame.errors import refusal_or_page
from api.pods.job_of_pod import SCOPE
from api.raw_target import raw_path, raw_query, target_of
from api.replayed_body import replayed
from api.runner.body import limited_body
from api.services import Services
from application.jobs.calls_of_other_pods import JobOfPod
from application.pods.other_pods import known_directory
from auth.pod_calls import REFUSED, PodCall, signed_call
from domain.errors import PerdureError, Unauthenticated
from domain.pods.job_calls import HEADER, MAX_BODY, CallingJob
from domain.size_limits import fixed

_HEADER: Final = HEADER.lower().encode()
_SIGNED: Final = (b"authorization", _HEADER)
_JOB: Final = TypeAdapter(CallingJob)
_BODY: Final = fixed("calls of jobs from other pods", MAX_BODY)


class CallsOfJobs:
    """Middleware that lets in what another pod has signed for a job, and refuses what only says so."""

    def __init__(self, app: ASGIApp, services: Services) -> None:
        """`app` answers."""
        self._app = app
        self._services = services

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Note who calls; everything else goes on as it is."""
        given = next((value for name, value in scope["headers"] if name == _HEADER), None) if _is_http(scope) else None
        if given is None:
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            calling, body = await self._calling(request, given)
        except PerdureError as error:
            await readable_by_git(request, refusal_or_page(request, error))(scope, receive, send)
            return
        headers = [pair for pair in scope["headers"] if pair[0] not in _SIGNED]
        await self._app({**scope, "headers": headers, SCOPE: calling}, replayed(body, receive), send)

    async def _calling(self, request: Request, given: bytes) -> tuple[JobOfPod, bytes]:
        """The job that calls, and the body. That is read for none but a pod of the cluster."""
        authorization, own_name = request.headers.get("authorization", ""), self._services.settings.pod
        signed = signed_call(known_directory(self._services), own_name, authorization, by_job=True)
        body = await limited_body(request, _BODY, "the body")
        try:
            document = base64.urlsafe_b64decode(given)
            job = _JOB.validate_json(document)
        except (binascii.Error, ValidationError):
            raise Unauthenticated(REFUSED) from None
        target = target_of(raw_path(request.scope), raw_query(request.scope))
        call = PodCall(request.method, target, body, document)
        return JobOfPod(signed.require(call), job), body


def _is_http(scope: Scope) -> bool:
    return bool(scope["type"] == "http")
