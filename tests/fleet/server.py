"""A server that speaks the runner protocol over a real socket, keeps what it got, and fails on demand."""

import asyncio
import ssl
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from aiohttp import BodyPartReader, web
from aiohttp.typedefs import Handler

from tests.waiting import HANGS

Fault = Callable[[web.Request], Awaitable[web.StreamResponse | None]]


@dataclass
class Upload:
    """One artifact as it arrived."""

    query: dict[str, str]
    filename: str
    content: bytes


@dataclass
class Seen:
    """One request as it arrived."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass
class ProtocolServer:
    """Jobs in `queue` are handed out once; `faults` hold answers to give instead of the right ones, per call name."""

    queue: deque[dict[str, Any]] = field(default_factory=deque)
    seen: list[Seen] = field(default_factory=list)
    logs: dict[int, bytearray] = field(default_factory=lambda: defaultdict(bytearray))
    updates: dict[int, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    finals: dict[int, dict[str, Any]] = field(default_factory=dict)
    uploads: dict[int, list[Upload]] = field(default_factory=lambda: defaultdict(list))
    archives: dict[int, bytes] = field(default_factory=dict)
    status: dict[int, str] = field(default_factory=dict)
    handed_out: dict[str, dict[str, Any]] = field(default_factory=dict)
    faults: dict[str, deque[Fault]] = field(default_factory=lambda: defaultdict(deque))
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    port: int = 0
    tls: ssl.SSLContext | None = None
    runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Listen, on the same port as before if there was one."""
        app = web.Application(middlewares=[self._record], client_max_size=1 << 30)
        app.router.add_post("/api/v4/runners/verify", self._verify, name="verify")
        app.router.add_post("/api/v4/jobs/request", self._request, name="request")
        app.router.add_put("/api/v4/jobs/{id:\\d+}", self._update, name="update")
        app.router.add_patch("/api/v4/jobs/{id:\\d+}/trace", self._patch, name="patch")
        app.router.add_post("/api/v4/jobs/{id:\\d+}/artifacts", self._upload, name="upload")
        app.router.add_get("/api/v4/jobs/{id:\\d+}/artifacts", self._download, name="download")
        self.runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self.runner.setup()
        site = web.TCPSite(self.runner, "127.0.0.1", self.port, ssl_context=self.tls)
        await site.start()
        self.port = self.runner.addresses[0][1]

    async def stop(self) -> None:
        """Refuse connections from now on."""
        if self.runner is not None:
            await self.runner.cleanup()
            self.runner = None

    async def until(self, condition: Callable[[], bool], seconds: float = HANGS) -> None:
        """Wait until something that arrived makes the condition true."""
        async with asyncio.timeout(seconds), self.changed:
            await self.changed.wait_for(condition)

    def calls(self, method: str, ending: str = "") -> list[Seen]:
        return [seen for seen in self.seen if seen.method == method and seen.path.endswith(ending)]

    @web.middleware
    async def _record(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        name = request.match_info.route.name or ""
        body: Any = None
        if name not in ("upload", "download"):
            body = await (request.read() if name == "patch" else request.json())
        self.seen.append(Seen(request.method, request.path, request.headers.copy(), body))
        try:
            fault = self.faults[name].popleft() if self.faults[name] else None
            if fault is not None and (instead := await fault(request)) is not None:
                return instead
            return await handler(request)
        finally:
            async with self.changed:
                self.changed.notify_all()

    async def _verify(self, request: web.Request) -> web.Response:
        token = (await request.json())["token"]
        if token == "wrong":
            return web.json_response({"message": "403 Forbidden"}, status=403)
        return web.json_response({"id": 7, "token": token, "token_expires_at": None})

    async def _request(self, request: web.Request) -> web.Response:
        request_id = request.headers["X-Request-Id"]
        if request_id not in self.handed_out:
            if not self.queue:
                return web.Response(status=204, headers={"X-GitLab-Last-Update": "v1"})
            self.handed_out[request_id] = self.queue.popleft()
        job = self.handed_out[request_id]
        self.status.setdefault(job["id"], "pending")
        return web.json_response(job, status=201)

    async def _update(self, request: web.Request) -> web.Response:
        job_id, body = int(request.match_info["id"]), await request.json()
        status = self.status.get(job_id, "pending")
        if status in ("success", "failed", "canceled"):
            return self._reply(403, job_id)
        self.updates[job_id].append(body)
        if body["state"] == "running":
            if status == "pending":
                self.status[job_id] = "running"
            return self._reply(200, job_id)
        expected = body["output"].get("checksum", "crc32:00000000")
        if expected != f"crc32:{crc32(self.logs[job_id]):08x}":
            self.logs[job_id].clear()
            return self._reply(412, job_id)
        self.status[job_id] = "canceled" if status == "canceling" else body["state"]
        self.finals[job_id] = body
        return web.Response(status=200)

    async def _patch(self, request: web.Request) -> web.Response:
        job_id, data = int(request.match_info["id"]), await request.read()
        if self.status.get(job_id) in ("success", "failed", "canceled"):
            return self._reply(403, job_id)
        start, _, end = request.headers["Content-Range"].partition("-")
        assert int(end) - int(start) + 1 == len(data) > 0
        stored = self.logs[job_id]
        if int(start) != len(stored):
            return self._reply(416, job_id, {"Range": f"0-{len(stored)}"})
        stored += data
        return self._reply(202, job_id, {"Range": f"0-{len(stored)}"})

    async def _upload(self, request: web.Request) -> web.Response:
        part = await (await request.multipart()).next()
        assert isinstance(part, BodyPartReader)
        assert part.name == "file"
        content = await part.read()
        job_id = int(request.match_info["id"])
        self.uploads[job_id].append(Upload(dict(request.query), part.filename or "", bytes(content)))
        return web.json_response({}, status=201)

    async def _download(self, request: web.Request) -> web.Response:
        content = self.archives.get(int(request.match_info["id"]))
        return web.Response(status=404) if content is None else web.Response(body=content)

    def _reply(self, status: int, job_id: int, more: dict[str, str] | None = None) -> web.Response:
        headers = {"Job-Status": self.status.get(job_id, "pending"), **(more or {})}
        return web.Response(status=status, headers=headers)


def answer(status: int, **headers: str) -> Fault:
    """A fault that answers so, without looking at the request; `_` in header names stands for `-`."""

    async def fault(request: web.Request) -> web.Response:
        await request.read()
        return web.Response(status=status, headers={key.replace("_", "-"): value for key, value in headers.items()})

    return fault


def lose_answer(handler: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> Fault:
    """A fault that does the work and then cuts the connection, so that the runner never hears of it."""

    async def fault(request: web.Request) -> web.Response:
        await handler(request)
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    return fault


async def cut(request: web.Request) -> web.Response:
    """A fault that resets the connection before anything was done."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()
