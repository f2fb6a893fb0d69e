"""What a runner and the server say to each other: a proxy between them that writes down who used what.

Facts are short texts, such as `PUT /jobs/:id 200` or `info.features.refspecs`; `tests.foreign.compatibility` knows all
there are.
"""

import re
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeVar

import aiohttp
import orjson
from aiohttp import web
from multidict import CIMultiDict

from rigs.ports import LOCAL
from tests.foreign.payload_shape import faults, filled
from tests.foreign.stamping_proxy import Stamping

_HOP: Final = frozenset({"connection", "content-length", "host", "keep-alive", "transfer-encoding", "date", "server"})
_REQUEST_HEADERS: Final = ("JOB-TOKEN", "RUNNER-TOKEN", "X-Request-Id", "Content-Range")
_REPLY_HEADERS: Final = ("Job-Status", "Range", "X-GitLab-Last-Update", "X-GitLab-Trace-Update-Interval")
_FORM: Final = re.compile(rb'Content-Disposition: form-data; name="([^"]+)"', re.IGNORECASE)
_REPOSITORY: Final = re.compile(r"/.+\.git/(.+)")
_API: Final = "/api/v4"
_MAX_SIZE: Final = 1 << 30


@dataclass
class Recording:
    """Everything that one runner used and got. `logs` are the bytes that the server took, by job."""

    calls: set[str] = field(default_factory=set)
    sent: set[str] = field(default_factory=set)
    replies: set[str] = field(default_factory=set)
    payload: set[str] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)
    logs: dict[int, bytearray] = field(default_factory=lambda: defaultdict(bytearray))

    def note_request(self, request: web.Request, body: bytes) -> None:
        """Write down what is sent; a response may take as long as the server holds the request."""
        if _route(request.path).startswith("git:"):
            return
        self.sent.update(f"{name} (header)" for name in _REQUEST_HEADERS if name in request.headers)
        self.sent.update(f"{name} (query)" for name in request.query)
        self.sent.update(_fields(request, body))

    def note_response(
        self, request: web.Request, body: bytes, status: int, headers: Mapping[str, str], response: bytes
    ) -> None:
        """Write down how the server responded to it."""
        route = _route(request.path)
        self.calls.add(f"{request.method} {route} {status}")
        if route.startswith("git:"):
            return
        self.replies.update(name for name in _REPLY_HEADERS if name in headers)
        if "Job-Status" in headers:
            self.replies.add(f"Job-Status: {headers['Job-Status']}")
        if route == "/jobs/request" and status == 201:
            payload = orjson.loads(response)
            self.payload.update(filled(payload))
            self.faults += faults(payload)
        if request.method == "PATCH" and status == 202:
            self.logs[int(request.path.split("/")[-2])] += body

    def facts(self) -> dict[str, list[str]]:
        """All of it, in order."""
        return {name: sorted(getattr(self, name)) for name in ("calls", "sent", "replies", "payload")}


def _route(path: str) -> str:
    found = _REPOSITORY.fullmatch(path)
    return f"git: {found[1]}" if found else re.sub(r"/\d+", "/:id", path.removeprefix(_API))


def _fields(request: web.Request, body: bytes) -> Iterator[str]:
    """The fields of a body, whatever its form."""
    kind = request.content_type
    if kind == "multipart/form-data":
        yield from (f"{name.decode()} (form)" for name in _FORM.findall(body))
    elif kind == "application/x-www-form-urlencoded":
        yield from (part.partition("=")[0] for part in body.decode().split("&"))
    elif kind == "application/json" and body:
        yield from _paths(orjson.loads(body))


def _paths(document: Mapping[str, Any], path: str = "") -> Iterator[str]:
    for key, value in document.items():
        if isinstance(value, dict) and value:
            yield from _paths(value, f"{path}{key}.")
        elif value is not False:  # a feature that a runner does not have
            yield f"{path}{key}"


class Notes(Protocol):
    """Whatever writes calls down."""

    def note_request(self, request: web.Request, body: bytes, /) -> None:
        """A call that is about to be passed on."""

    def note_response(
        self, request: web.Request, body: bytes, status: int, headers: Mapping[str, str], response: bytes, /
    ) -> None:
        """The same with the response to it."""


N = TypeVar("N", bound=Notes)


@asynccontextmanager
async def recorded(target: str, port: int, recording: N, *, stamps: bool = False) -> AsyncIterator[N]:
    """Listen on `port` for what is meant for the server at `target`, and write it down; `stamps` go before lines."""
    stamping = Stamping() if stamps else None
    timeout = aiohttp.ClientTimeout(total=120)
    # A kept connection that the server just closes would look like a fault of the server.
    connector = aiohttp.TCPConnector(force_close=True, limit=0)
    async with aiohttp.ClientSession(auto_decompress=False, timeout=timeout, connector=connector) as session:

        async def forward(request: web.Request) -> web.Response:
            body = await request.read()
            kept = CIMultiDict((name, value) for name, value in request.headers.items() if name.lower() not in _HOP)
            url = target + request.path_qs
            recording.note_request(request, body)
            if stamping is not None:
                body = stamping.sent(request.method, request.path, kept, body)
            call = session.request(request.method, url, headers=kept, data=body, allow_redirects=False)
            try:
                async with call as response:
                    content = await response.read()
            except aiohttp.ClientError:  # the server has ended, and with it the test
                return web.Response(status=502)
            recording.note_response(request, body, response.status, response.headers, content)
            passed = {name: value for name, value in response.headers.items() if name.lower() not in _HOP}
            if stamping is not None:
                passed = stamping.answered(request.path, passed)
            return web.Response(status=response.status, headers=passed, body=content)

        app = web.Application(client_max_size=_MAX_SIZE)
        app.router.add_route("*", "/{path:.*}", forward)
        runner = web.AppRunner(app, shutdown_timeout=0.1, keepalive_timeout=600)
        await runner.setup()
        try:
            await web.TCPSite(runner, LOCAL, port).start()
            yield recording
        finally:
            await runner.cleanup()
