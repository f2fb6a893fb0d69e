"""The front: a small process that binds first, forwards everything to the API and never refuses a connection.

It holds no state, so that the API behind it may be killed at any time while runners see 503 with `Retry-After` and
nothing else (reference: reliability, section 1.1). Bodies pass through in both directions chunk by chunk.
"""

import asyncio
import contextlib
import html
import logging
import resource
import signal
from collections.abc import AsyncIterator
from http import HTTPStatus
from urllib.parse import urlsplit

import uvloop
from aiohttp import ClientResponse, web
from aiohttp.client_exceptions import ClientError

from metrics.front_metrics import FrontMetrics
from pods.connection import HEADER_LIMIT, MOST_HEADERS, Connection, Server
from pods.front_exposition import telling
from pods.headers import request_headers, response_headers
from pods.patience import SAFE, Patience, PatienceTable
from pods.request_body import ClientGone, ClientTooSlow, RequestBody
from pods.upstream import Away, Upstream, read_small
from settings import Settings

HEALTH = "/-/front/health"
API_HEALTH = "/-/front/api"
API_HEALTH_LIMIT = 5.0
BACKLOG = 2048
LINGER = 5.0
"""How long the rest of a refused upload is read and thrown away, so that its sender sees the answer, not a reset."""
STOP = 5.0
"""How long running requests may go on after SIGTERM."""
WITHOUT_BODY = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})

AWAY = "The API of Perdure is away for a moment. Try again in {seconds} s."
PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="{seconds}">'
    "<title>Perdure is coming back</title><h1>Perdure is coming back</h1><p>{text}</p>"
    "<p>This page loads itself again.</p></html>"
)

log = logging.getLogger("perdure.front")


class Front:
    """Answers every request: from the API when that is there, with 503 when it is away."""

    def __init__(self, settings: Settings, upstream: Upstream, metrics: FrontMetrics) -> None:
        """Take the settings and an open way to the API."""
        self._metrics = metrics
        self._limits = settings.front
        self._proto = urlsplit(settings.url).scheme
        self._patience = PatienceTable(settings)
        self._upstream = upstream

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        patience = self._patience.of(request.method, request.rel_url.raw_path)
        with self._metrics.passing(patience.name) as passage:
            response = await self._answer(request, patience)
            passage.status = str(response.status)
            return response

    async def _answer(self, request: web.BaseRequest, patience: Patience) -> web.StreamResponse:
        path = request.rel_url.raw_path
        if not path.startswith("/"):
            return _message(HTTPStatus.BAD_REQUEST, f"{request.method} {path} is not a path on this server.")
        if path == HEALTH:
            return _message(HTTPStatus.OK, "ok")
        if path == API_HEALTH:
            healthy = await self._upstream.healthy(API_HEALTH_LIMIT)
            return _message(HTTPStatus.OK, "ok") if healthy else self._unavailable(request, self._limits.retry_poll)
        try:
            return await self._forward(request, patience)
        except ClientTooSlow as error:
            assert isinstance(request.protocol, Connection)
            request.protocol.linger_no_more()
            return _closing(_message(HTTPStatus.REQUEST_TIMEOUT, f"Request timed out: {error}."))
        except ClientGone as error:
            return _closing(_message(HTTPStatus.BAD_REQUEST, f"The body of the request is broken: {error}."))

    async def _forward(self, request: web.BaseRequest, patience: Patience) -> web.StreamResponse:
        body = RequestBody(request, self._limits)
        await body.take_small()
        try:
            answer = await self._ask(request, body, patience)
            try:
                return await self._pass_on(request, answer)
            finally:
                # Only a connection whose answer was read to its end can carry another request.
                if answer.content.at_eof():
                    answer.release()
                else:
                    answer.close()
        except Away as away:
            if body.failure is not None:
                raise body.failure from away
            log.debug("%s %s: %s", request.method, request.rel_url.raw_path, away)
            response = self._unavailable(request, patience.retry_after)
            return response if request.content.is_eof() else _closing(response)

    async def _ask(self, request: web.BaseRequest, body: RequestBody, patience: Patience) -> ClientResponse:
        """The API's answer; a request that may be held is tried again until its time is up. Raises Away."""
        headers = request_headers(request.headers, peer=request.remote or "", proto=self._proto)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + patience.hold
        while True:
            try:
                return await self._upstream.send(request.method, request.rel_url, headers, body, patience)
            except Away as away:
                self._metrics.away(patience.name)
                harmless = away.unprocessed or patience.repeatable or request.method in SAFE
                if not (harmless and body.repeatable) or loop.time() >= deadline:
                    raise
            with self._metrics.holding(patience.name):
                await asyncio.sleep(self._limits.probe_every)

    async def _pass_on(self, request: web.BaseRequest, answer: ClientResponse) -> web.StreamResponse:
        """Send the answer to the client; raises Away if a small answer is cut before the client saw any of it."""
        headers = response_headers(answer.headers)
        bodiless = request.method == "HEAD" or answer.status in WITHOUT_BODY
        small = None if bodiless else await read_small(answer)
        if small is not None:
            headers.popall("Content-Length", None)
            response: web.StreamResponse = web.Response(
                status=answer.status, reason=answer.reason, headers=headers, body=small
            )
        else:
            response = web.StreamResponse(status=answer.status, reason=answer.reason, headers=headers)
        if not request.content.is_eof():
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

    def _unavailable(self, request: web.BaseRequest, seconds: int) -> web.Response:
        """A 503 with `Retry-After`: a page that loads itself again for browsers, plain text for git, else JSON."""
        text = AWAY.format(seconds=seconds)
        if "text/html" in request.headers.get("Accept", ""):
            page = PAGE.format(seconds=max(seconds, 1), text=html.escape(text))
            response = web.Response(status=HTTPStatus.SERVICE_UNAVAILABLE, text=page, content_type="text/html")
        elif ".git/" in request.path:  # git shows its user nothing else
            response = web.Response(status=HTTPStatus.SERVICE_UNAVAILABLE, text=f"{text}\n")
        else:
            response = _message(HTTPStatus.SERVICE_UNAVAILABLE, text)
        response.headers["Retry-After"] = str(seconds)
        response.headers["Cache-Control"] = "no-store"
        return response


def _message(status: HTTPStatus, text: str) -> web.Response:
    return web.json_response({"message": text}, status=status)


def _closing(response: web.Response) -> web.Response:
    response.force_close()
    return response


@contextlib.asynccontextmanager
async def serving(settings: Settings, metrics: FrontMetrics | None = None) -> AsyncIterator[None]:
    """Serve on `host:front_port` while the context is open; raises OSError if the port is taken."""
    async with Upstream(settings.api_port, settings.front) as upstream:
        server = Server(
            Front(settings, upstream, metrics or FrontMetrics()).handle,
            handler_cancellation=True,  # a client that goes away must take its request to the API along
            access_log=None,
            auto_decompress=False,
            keepalive_timeout=settings.front.keepalive,
            header=settings.front.header,
            lingering_time=LINGER,
            max_line_size=HEADER_LIMIT,
            max_field_size=HEADER_LIMIT,
            max_headers=MOST_HEADERS,
        )
        runner = web.ServerRunner(server, handle_signals=False, shutdown_timeout=STOP)
        await runner.setup()
        try:
            await web.TCPSite(runner, settings.host, settings.front_port, backlog=BACKLOG).start()
            yield
        finally:
            await runner.cleanup()


async def serve(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    metrics = FrontMetrics()
    async with serving(settings, metrics), telling(metrics, settings):
        log.info("listening on %s:%d", settings.host, settings.front_port)
        await stop.wait()


def main() -> None:
    """Entry point of `python -m pods.front`."""
    settings = Settings()
    logging.basicConfig(level=settings.log_level, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    # Each held poll takes two descriptors; the usual soft limit of 1,024 would be reached by 500 runners.
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    uvloop.run(serve(settings))


if __name__ == "__main__":
    main()
