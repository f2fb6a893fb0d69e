"""The router: each request goes to its pod, through a front of that pod alone, so that none waits behind another.

Where it goes is decided in `domain.pods.routing`; what to do while a pod is away is that pod's front's affair.
"""

import contextlib
import json
from collections.abc import Callable, Mapping
from email.parser import BytesParser
from email.policy import HTTP
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qsl

from aiohttp import web

from domain.pods.directory import Directory
from domain.pods.routing import Decision, Head, NeedsBody, Refusal, ToAll, ToPod, ToRouter, decide, decide_by_body
from pods.forwarding import Front, LedElsewhere, closing, message
from pods.joined_keys import JoinedKeys
from pods.request_body import SMALL, ClientGone, ClientTooSlow, RequestBody
from settings import FrontLimits

_MAX_FIELDS: Final = 1_000
_REFUSALS: Final = {
    HTTPStatus.BAD_REQUEST: "400 Bad request: the request shows tokens of different pods; send one of them.",
    HTTPStatus.UNAUTHORIZED: "401 Unauthorized: the token is mistyped.",
    HTTPStatus.NOT_FOUND: "404 Not Found",
}
_TOO_LARGE: Final = (
    f"The body is not read for the token of a runner when it has more than {SMALL // 1024} KiB, or does not say how "
    "much: show the token in the header RUNNER-TOKEN."
)


class Router:
    """Answers every request, by the front of its pod or itself."""

    def __init__(
        self, directory: Callable[[], Directory], fronts: Mapping[int, Front], keys: JoinedKeys, limits: FrontLimits
    ) -> None:
        """`fronts` has one for each pod of the `directory` of now; both may change between two requests."""
        self._directory, self._fronts, self._keys, self._limits = directory, fronts, keys, limits
        self.is_leaving = False

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request. One that was held goes to the pod to which its organisation has moved meanwhile."""
        body = RequestBody(request, self._limits)
        while True:
            match await self._decide(request, body):
                case ToPod(pod=pod):
                    pass
                case ToAll():
                    return self._own(request, await self._all_keys(request))
                case ToRouter() | NeedsBody():
                    pod = _asked_about(request, self._directory())
                case Refusal() as refusal:
                    return self._own(request, _refused(request, refusal))
            with contextlib.suppress(LedElsewhere):
                return await self._hand_on(pod, request, body)

    def leave(self) -> None:
        """Another process has the listening socket: each response ends its connection."""
        self.is_leaving = True
        for front in self._fronts.values():
            front.leave()

    async def close(self) -> None:
        """Held requests get their 503."""
        for front in self._fronts.values():
            await front.close()

    async def _hand_on(self, pod: int, request: web.BaseRequest, body: RequestBody) -> web.StreamResponse:
        front = self._fronts.get(pod)
        if front is None:  # it was removed while the body came
            return self._own(request, _refused(request, Refusal(HTTPStatus.NOT_FOUND, "there is no such pod")))
        before = self._directory()
        return await front.handle(request, body, lambda: self._leads_to(pod, request, body, before))

    def _leads_to(self, pod: int, request: web.BaseRequest, body: RequestBody, before: Directory) -> bool:
        """Whether a request is still for the pod to which it was led by the directory of `before`."""
        directory = self._directory()
        if directory is before:
            return True
        decision = decide(_head_of(request), directory)
        if isinstance(decision, NeedsBody):
            decision = self._by_what_came(request, body, decision)
        return not isinstance(decision, ToPod) or decision.pod == pod

    def _own(self, request: web.BaseRequest, response: web.Response) -> web.Response:
        """A response of the router itself, which may not have read the request to its end."""
        return response if request.content.is_eof() and not self.is_leaving else closing(response)

    async def _decide(self, request: web.BaseRequest, body: RequestBody) -> Decision:
        decision = decide(_head_of(request), self._directory())
        if not isinstance(decision, NeedsBody):
            return decision
        try:
            await body.take_small()
        except (ClientGone, ClientTooSlow):
            return ToPod(self._directory().first.number, "a body that did not come: its front says so")
        return self._by_what_came(request, body, decision)

    def _by_what_came(self, request: web.BaseRequest, body: RequestBody, asked: NeedsBody) -> Decision:
        if body.whole is None and not body.empty:
            return asked.otherwise or Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, _TOO_LARGE)
        found = field_in(body.whole or b"", asked.field, request.headers.get("Content-Type", ""))
        if asked.otherwise is not None:
            found = found or request.query.get(asked.field, "")
        return decide_by_body(found, self._directory(), asked)

    async def _all_keys(self, request: web.BaseRequest) -> web.Response:
        if request.method not in ("GET", "HEAD"):
            return message(HTTPStatus.METHOD_NOT_ALLOWED, "405 Method Not Allowed")
        document = await self._keys.get(request.rel_url.raw_path)
        if document is None:
            response = message(HTTPStatus.SERVICE_UNAVAILABLE, "A pod has not told its keys yet. Try again in 5 s.")
            response.headers["Retry-After"] = str(self._limits.retry_poll)
            return response
        return web.json_response(document)


def _head_of(request: web.BaseRequest) -> Head:
    return Head(request.method, request.rel_url.raw_path, request.headers)


def field_in(body: bytes, field: str, content_type: str = "") -> str:
    """A field of a small body, JSON or a form as runners, pages and curl send them; empty where there is none."""
    if content_type.lower().startswith("multipart/form-data"):
        return _part_of(body, field, content_type)
    if body.lstrip().startswith(b"{"):
        try:
            document = json.loads(body)
        except (ValueError, RecursionError):
            return ""
        found = document.get(field) if isinstance(document, dict) else None
        return found if isinstance(found, str) else ""
    try:
        return dict(parse_qsl(body.decode(), max_num_fields=_MAX_FIELDS)).get(field, "")
    except ValueError:
        return ""


def _part_of(body: bytes, field: str, content_type: str) -> str:
    head = f"Content-Type: {content_type}\r\n\r\n".encode("utf-8", "replace")
    message = BytesParser(policy=HTTP).parsebytes(head + body)
    for part in message.iter_parts() if message.is_multipart() else ():
        if part.get_param("name", header="content-disposition") == field:
            found = part.get_payload(decode=True)
            return found.decode("utf-8", "replace") if isinstance(found, bytes) else ""
    return ""


def _asked_about(request: web.BaseRequest, directory: Directory) -> int:
    """Which pod answers for the router itself: the first one, or the one that `?pod=NUMBER` asks about."""
    asked = request.query.get("pod", "")
    return next((pod.number for pod in directory.pods if str(pod.number) == asked), directory.first.number)


def _refused(request: web.BaseRequest, refusal: Refusal) -> web.Response:
    """The same for all that is refused for one reason, whatever was asked for."""
    status = HTTPStatus(refusal.status)
    response = message(status, _REFUSALS.get(status, refusal.why))
    if status == HTTPStatus.UNAUTHORIZED and ".git/" in request.path:
        response.headers["WWW-Authenticate"] = 'Basic realm="GitLab"'
    return response
