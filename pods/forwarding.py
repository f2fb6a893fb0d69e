"""What the front does with one request: forward it, hold it while the API is away, or say when to come back.

What a runner would lose waits until the API is back, its body unread (`pods.patience`, `pods.holding`); everything else
gets 503 with `Retry-After`. Bodies pass through in both directions chunk by chunk.
"""

import asyncio
import html
import logging
import resource
from collections.abc import Callable
from http import HTTPStatus
from urllib.parse import urlsplit

from aiohttp import ClientResponse, web
from aiohttp.client_exceptions import ClientError

from metrics.front_metrics import FrontMetrics
from pods.connection import Connection
from pods.headers import Proxies, request_headers, response_headers
from pods.holding import Holding
from pods.loopback import API_HEALTH
from pods.patience import SAFE, Patience, PatienceTable
from pods.request_body import ClientGone, ClientTooSlow, RequestBody
from pods.room import Full, Room
from pods.upstream import Away, Upstream, read_small
from settings import Settings

HEALTH = "/-/front/health"
API_HEALTH_LIMIT = 5.0
AGAIN = 5.0
"""The longest pause of a call that is sent again and again to an API that answers, but not to this call."""
WITHOUT_BODY = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})

AWAY = "The API of Perdure is away for a moment."
FULL = "As many requests of this pod are at work as may be at once (PERDURE_FRONT_POD_REQUESTS)."
PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="{seconds}">'
    "<title>Perdure is coming back</title><h1>Perdure is coming back</h1><p>{text}</p>"
    "<p>This page loads itself again.</p></html>"
)

log = logging.getLogger("perdure.front")


class LedElsewhere(Exception):
    """What the API could not answer is for another pod by now; the client has heard nothing."""


class Front:
    """Answers every request: from the API when that is there, with 503 when it is away."""

    def __init__(self, settings: Settings, upstream: Upstream, metrics: FrontMetrics, room: Room | None = None) -> None:
        """Take the settings, an open way to the API, and, of one of several pods, how much it may have at work."""
        self._metrics = metrics
        self.room = room or Room()
        self._limits = settings.front
        self._proto = urlsplit(settings.url).scheme
        self._proxies = Proxies(settings.front.behind)
        self._patience = PatienceTable(settings)
        self._upstream = upstream
        most = min(settings.front.held, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
        self.holding = Holding(settings.front, most, upstream.is_back)
        self.is_leaving = False

    def leave(self) -> None:
        """Another front has the listening socket: each response ends its connection from now on."""
        self.is_leaving = True

    async def close(self) -> None:
        """Held requests get their 503."""
        await self.holding.close()

    async def handle(
        self,
        request: web.BaseRequest,
        body: RequestBody | None = None,
        is_led_here: Callable[[], bool] = lambda: True,
    ) -> web.StreamResponse:
        """Answer one request; `body` is its body where somebody has looked at it already.

        `is_led_here` says whether a request that was held is still for this pod. Raises `LedElsewhere`.
        """
        patience = self._patience.of(request.method, request.rel_url.raw_path)
        with self._metrics.passing(patience.name) as passage:
            response = await self._answer(request, body or RequestBody(request, self._limits), patience, is_led_here)
            passage.status = str(response.status)
        if self.is_leaving and not response.prepared:
            response.force_close()
        return response

    async def _answer(
        self, request: web.BaseRequest, body: RequestBody, patience: Patience, is_led_here: Callable[[], bool]
    ) -> web.StreamResponse:
        path = request.rel_url.raw_path
        if not path.startswith("/"):
            return message(HTTPStatus.BAD_REQUEST, f"{request.method} {path} is not a path on this server.")
        if path == HEALTH:
            return message(HTTPStatus.OK, "ok")
        if path == API_HEALTH:
            healthy = await self._upstream.healthy(API_HEALTH_LIMIT)
            return message(HTTPStatus.OK, "ok") if healthy else self._unavailable(request, self._limits.retry_poll)
        try:
            with self.room.place():
                return await self._forward(request, body, patience, is_led_here)
        except Full:
            response = self._unavailable(request, patience.retry_after, FULL)
            return response if request.content.is_eof() else closing(response)
        except ClientTooSlow as error:
            assert isinstance(request.protocol, Connection)
            request.protocol.linger_no_more()
            return closing(message(HTTPStatus.REQUEST_TIMEOUT, f"Request timed out: {error}."))
        except ClientGone as error:
            return closing(message(HTTPStatus.BAD_REQUEST, f"The body of the request is broken: {error}."))

    async def _forward(
        self, request: web.BaseRequest, body: RequestBody, patience: Patience, is_led_here: Callable[[], bool]
    ) -> web.StreamResponse:
        deadline = asyncio.get_running_loop().time() + patience.hold
        try:
            if patience.hold and self.holding.is_away:
                await self._hold(request, body, patience, deadline)
            await body.take_small()
            answer = await self._ask(request, body, patience, deadline, is_led_here)
            try:
                return await self._pass_on(request, answer, _status(request, body, answer))
            finally:
                # Only a connection whose response was read to its end can carry another request.
                if answer.content.at_eof():
                    answer.release()
                else:
                    answer.close()
        except Away as away:
            if body.failure is not None:
                raise body.failure from away
            log.debug("%s %s: %s", request.method, request.rel_url.raw_path, away)
            response = self._unavailable(request, patience.retry_after)
            return response if request.content.is_eof() else closing(response)

    async def _ask(
        self,
        request: web.BaseRequest,
        body: RequestBody,
        patience: Patience,
        deadline: float,
        is_led_here: Callable[[], bool],
    ) -> ClientResponse:
        """The API's answer; a request that may be held is tried again until its time is up.

        Raises Away, and LedElsewhere before it would ask an API again that has nothing to do with it any more.
        """
        peer, proto = self._origin(request)
        headers = request_headers(request.headers, peer=peer, proto=proto)
        loop = asyncio.get_running_loop()
        pause = 0.0
        while True:
            try:
                response = await self._upstream.send(request.method, request.rel_url, headers, body, patience)
                self.holding.is_away = False
                if response.status != HTTPStatus.SERVICE_UNAVAILABLE or not self._may_hold(request, body, patience):
                    return response
                # It answers and can do nothing, for example because its database is away.
                response.close()
                away = Away("the API answered 503", unprocessed=False)
            except Away as error:
                self._metrics.away(patience.name)
                away = error
                self.holding.is_away = self.holding.is_away or away.unprocessed
                if not ((away.unprocessed and body.repeatable) or self._may_hold(request, body, patience)):
                    raise
            if loop.time() + pause >= deadline:
                raise away
            await asyncio.sleep(pause)
            pause = min(max(2 * pause, self._limits.probe_every), AGAIN)
            await self._hold(request, body, patience, deadline)
            if not is_led_here():
                raise LedElsewhere

    def _may_hold(self, request: web.BaseRequest, body: RequestBody, patience: Patience) -> bool:
        """Does it do no harm to send this request again, and can we?"""
        return bool(patience.hold) and body.repeatable and (patience.repeatable or request.method in SAFE)

    async def _hold(self, request: web.BaseRequest, body: RequestBody, patience: Patience, deadline: float) -> None:
        """Let a request wait until the API is back; raises Away."""
        address, _ = self._origin(request)
        with body.unread(), self._metrics.holding(patience.name):
            await self.holding.wait(patience, deadline, body.here, address)

    def _origin(self, request: web.BaseRequest) -> tuple[str, str]:
        """Address and scheme of the client."""
        return self._proxies.origin(request.headers, request.remote or "", self._proto)

    async def _pass_on(self, request: web.BaseRequest, answer: ClientResponse, status: int) -> web.StreamResponse:
        """Send the response to the client; raises Away if a small response is cut before the client saw any of it."""
        headers = response_headers(answer.headers)
        bodiless = request.method == "HEAD" or status in WITHOUT_BODY
        reason = answer.reason if status == answer.status else None
        small = None if bodiless else await read_small(answer)
        if small is not None:
            headers.popall("Content-Length", None)
            response: web.StreamResponse = web.Response(status=status, reason=reason, headers=headers, body=small)
        else:
            response = web.StreamResponse(status=status, reason=reason, headers=headers)
        if self.is_leaving or not request.content.is_eof():
            response.force_close()
        if small is None and not bodiless:
            await self._stream(request, answer, response)
        return response

    async def _stream(self, request: web.BaseRequest, answer: ClientResponse, response: web.StreamResponse) -> None:
        """Pass a large or endless body on. A cut is shown to the client as a cut, never as a short answer."""
        try:
            await response.prepare(request)
            async for chunk in answer.content.iter_any():
                async with asyncio.timeout(self._limits.client_idle):
                    await response.write(chunk)
        except (ClientError, OSError) as error:
            log.info("%s %s broke off: %s", request.method, request.rel_url.raw_path, error)
            if request.transport is not None:
                request.transport.abort()

    def _unavailable(self, request: web.BaseRequest, seconds: int, reason: str = AWAY) -> web.Response:
        """A 503 with `Retry-After`: a page that loads itself again for browsers, plain text for git, else JSON."""
        text = f"{reason} Try again in {seconds} s."
        if "text/html" in request.headers.get("Accept", ""):
            page = PAGE.format(seconds=max(seconds, 1), text=html.escape(text))
            response = web.Response(status=HTTPStatus.SERVICE_UNAVAILABLE, text=page, content_type="text/html")
        elif ".git/" in request.path:  # git shows its user nothing else
            response = web.Response(status=HTTPStatus.SERVICE_UNAVAILABLE, text=f"{text}\n")
        else:
            response = message(HTTPStatus.SERVICE_UNAVAILABLE, text)
        response.headers["Retry-After"] = str(seconds)
        response.headers["Cache-Control"] = "no-store"
        return response


def _status(request: web.BaseRequest, body: RequestBody, response: ClientResponse) -> int:
    """What the client is told: a piece of log that we sent twice, and that was taken the first time, was taken."""
    if response.status != HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE or body.whole is None or body.times < 2:
        return response.status
    start = request.headers.get("Content-Range", "").partition("-")[0]
    if not (start.isascii() and start.isdigit()):
        return response.status
    is_stored = response.headers.get("Range") == f"0-{int(start) + len(body.whole)}"
    return HTTPStatus.ACCEPTED if is_stored else response.status


def message(status: HTTPStatus, text: str) -> web.Response:
    """A response with a `message`, as all of the API's."""
    return web.json_response({"message": text}, status=status)


def closing(response: web.Response) -> web.Response:
    """The same response, after which the connection ends."""
    response.force_close()
    return response
