"""An API server of Kubernetes of which only `exec` by WebSocket is there: it runs commands on this machine.

Written by Kubernetes' own server (`kubelet/pkg/cri/streaming/remotecommand`, `apimachinery/pkg/util/remotecommand`) and
by KEP 4006.
"""

import asyncio
import contextlib
import json
import random
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSMsgType, web

_REASONS = {400: "BadRequest", 401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 500: "InternalError"}


@dataclass
class ApiServer:
    """What it knows, and what was asked of it."""

    tokens: set[str] = field(default_factory=lambda: {"right"})
    pods: dict[str, set[str]] = field(default_factory=lambda: {"ci/job": {"build", "helper"}})
    protocols: tuple[str, ...] = ("v5.channel.k8s.io", "v4.channel.k8s.io")
    asked: list[str] = field(default_factory=list)
    hears_pings: bool = True
    port: int = 0
    chance: random.Random = field(default_factory=lambda: random.Random(3))

    async def exec(self, request: web.Request) -> web.StreamResponse:
        """In the order in which a real one looks: who, what, and then whether it is a WebSocket."""
        self.asked.append(request.path_qs)
        pod = f"{request.match_info['namespace']}/{request.match_info['pod']}"
        if request.headers.get("Authorization", "").removeprefix("Bearer ") not in self.tokens:
            return self._fail(401, "Unauthorized")
        if request.method != "GET":
            return self._fail(403, 'pods "job" is forbidden: User "ci" cannot create resource "pods/exec"')
        if pod not in self.pods:
            return self._fail(404, f'pods "{request.match_info["pod"]}" not found')
        query = request.query
        container = query.get("container", "")
        if container not in self.pods[pod]:
            return self._fail(400, f"container {container} is not valid for pod {request.match_info['pod']}")
        if request.headers.get("Upgrade", "").lower() != "websocket":
            return self._fail(400, "Upgrade request required")
        socket = web.WebSocketResponse(protocols=self.protocols, autoping=self.hears_pings, compress=False)
        offered = [word.strip() for word in request.headers.get("Sec-WebSocket-Protocol", "").split(",")]
        if not set(offered) & set(self.protocols):
            return self._fail(403, f"unable to negotiate protocol: client supports {offered}")
        assert (query["stdin"], query["stdout"], query["stderr"], query["tty"]) == ("true", "true", "true", "false")
        await socket.prepare(request)
        await socket.send_bytes(b"\x01")  # says that all is ready
        await self._run(socket, query.getall("command"))
        return socket

    async def _run(self, socket: web.WebSocketResponse, command: list[str]) -> None:
        pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), asyncio.subprocess.PIPE)
        try:
            process = await asyncio.create_subprocess_exec(*command, **pipes)
        except OSError as error:
            why = f"error executing command in container: failed to exec in container: {command[0]}: {error.strerror}"
            status = self._status(500, f"Internal error occurred: {why}") | {"details": {"causes": [{"message": why}]}}
            await self._end(socket, status)
            return
        feeding = asyncio.create_task(self._feed(socket, process))
        await asyncio.gather(self._send(process.stdout, socket, 1), self._send(process.stderr, socket, 2))
        code = await process.wait()
        if code:
            causes = [{"reason": "ExitCode", "message": str(code)}]
            message = f"command terminated with non-zero exit code: command terminated with exit code {code}"
            failed = {"status": "Failure", "message": message, "reason": "NonZeroExitCode"}
            await self._end(socket, failed | {"metadata": {}, "details": {"causes": causes}})
        else:
            await self._end(socket, {"metadata": {}, "status": "Success"})
        feeding.cancel()
        await asyncio.gather(feeding, return_exceptions=True)

    @staticmethod
    async def _feed(socket: web.WebSocketResponse, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        with contextlib.suppress(OSError):
            async for message in socket:
                if message.type is WSMsgType.PING:
                    continue
                if message.type is not WSMsgType.BINARY:
                    break
                if message.data[0] == 255 and socket.ws_protocol == "v5.channel.k8s.io":
                    assert message.data == b"\xff\x00"
                    process.stdin.close()
                elif message.data[0] == 0:  # an empty message is nothing: it is no end
                    process.stdin.write(message.data[1:])
                    await process.stdin.drain()
        process.stdin.close()

    async def _send(self, pipe: asyncio.StreamReader | None, socket: web.WebSocketResponse, channel: int) -> None:
        assert pipe is not None
        while data := await pipe.read(self.chance.choice((100, 4_000, 32_768))):
            with contextlib.suppress(OSError):
                await socket.send_bytes(bytes([channel]) + data)

    @staticmethod
    async def _end(socket: web.WebSocketResponse, status: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):
            await socket.send_bytes(b"\x03" + json.dumps(status).encode())
            await socket.close()

    @staticmethod
    def _status(code: int, message: str) -> dict[str, Any]:
        words = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
        return words | {"message": message, "reason": _REASONS[code], "code": code}

    def _fail(self, code: int, message: str) -> web.Response:
        return web.json_response(self._status(code, message), status=code)


@asynccontextmanager
async def api_server(secure: ssl.SSLContext) -> AsyncIterator[ApiServer]:
    """It listens at a port of this machine until the block ends."""
    server = ApiServer()
    application = web.Application()
    application.router.add_route("*", "/api/v1/namespaces/{namespace}/pods/{pod}/exec", server.exec)
    runner = web.AppRunner(application, shutdown_timeout=1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=secure)
    await site.start()
    server.port = runner.addresses[0][1]
    try:
        yield server
    finally:
        await runner.cleanup()
