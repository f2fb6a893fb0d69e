"""nginx in front of several small pods, with their embedded router beside it; a client that sends what it is told."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from aiohttp import web

from domain.pods.directory import Directory, Pod
from domain.pods.directory_document import document_of
from pods.front import Serving, routing
from pods.router import Router
from rigs.ports import LOCAL, free_port, free_ports
from settings import FrontLimits, Settings
from tests.deploy.front import RENDER, Handler, Pods, api, front
from tests.waiting import HANGS, eventually

NUMBERS = {0: "default", 1: "one", 7: "seven"}
ORGANISATIONS = {"acme": 1, "globex": 7}
MOVED = {2**40 + 3: 7}


@dataclass
class Cluster:
    """Where nginx, router and pods are. What a pod serves can be stopped by closing its entry of `serving`."""

    nginx: int
    router: int
    directory: Directory
    ports: Mapping[int, int]
    settings: Settings
    folder: Path
    pods: Pods
    serving: dict[int, AsyncExitStack] = field(default_factory=dict)
    routers: list[Serving[Router]] = field(default_factory=list)
    routed: AsyncExitStack = field(default_factory=AsyncExitStack)
    """The router with its decisions."""

    @property
    def url(self) -> str:
        """Of nginx."""
        return f"http://{LOCAL}:{self.nginx}"

    async def serve(self, number: int, handler: Handler) -> None:
        """Let a pod answer."""
        stack = self.serving[number] = AsyncExitStack()
        await stack.enter_async_context(api(handler, self.ports[number]))

    async def tell_nginx(self, directory: Directory) -> None:
        """Let nginx read another directory, as whoever runs it does; until it is read, and nobody else answers.

        For a moment a worker of before takes connections beside the new ones.
        """
        self.pods.directory.write_text(json.dumps(document_of(directory)))
        command = [str(RENDER), "--listen", f"{LOCAL}:{self.nginx}", *self.pods.arguments, str(self.folder)]
        render = await asyncio.create_subprocess_exec(sys.executable, *command)
        assert await render.wait() == 0
        master = psutil.Process(int((self.folder / "nginx.pid").read_text()))
        before = [child for child in master.children() if _is_worker(child)]
        assert before
        os.kill(master.pid, signal.SIGHUP)

        async def have_gone() -> bool:
            return not any(worker.is_running() for worker in before)

        await eventually(have_gone, "the workers of before have gone")

    async def route(self, directory: Directory) -> None:
        """Start the router with this directory; an earlier one has to be closed."""
        self.routers.append(await self.routed.enter_async_context(routing(self.settings, directory)))


def _is_worker(process: psutil.Process) -> bool:
    """Whether it is one of nginx; those of before are about to go."""
    try:
        return "worker process" in " ".join(process.cmdline())
    except psutil.Error:
        return False


def naming(number: int) -> Handler:
    """A pod that says its number, what it was asked for, and whether the router was in between."""

    async def handler(request: web.Request) -> web.Response:
        body = await request.read()
        return web.json_response(
            {
                "pod": number,
                "path": request.raw_path,
                "size": len(body),
                "routed": "X-Forwarded-Host" in request.headers,
                "client": request.headers.get("X-Forwarded-For"),
            }
        )

    return handler


@asynccontextmanager
async def cluster_in(
    folder: Path,
    *more: str,
    handlers: Mapping[int, Handler] | None = None,
    moved: Mapping[int, int] = MOVED,
    **limits: Any,
) -> AsyncIterator[Cluster]:
    """Three pods; `more` are arguments of render.py, `limits` fields of FrontLimits for the router."""
    ports = dict(zip(NUMBERS, free_ports(len(NUMBERS)), strict=True))
    pods = tuple(Pod(number, name, f"{LOCAL}:{ports[number]}") for number, name in NUMBERS.items())
    directory = Directory(3, pods, ORGANISATIONS, moved)
    file = folder / "pods.json"
    file.write_text(json.dumps(document_of(directory)))
    settings = router_settings(**limits)
    there = Pods(file, f"{LOCAL}:{settings.front_port}", f"{LOCAL}:{settings.front.decisions_port}", more)
    made = Cluster(free_port(), settings.front_port, directory, ports, settings, folder / "nginx", there)
    async with AsyncExitStack() as stack:
        for number in NUMBERS:
            await made.serve(number, (handlers or {}).get(number) or naming(number))
            stack.push_async_callback(made.serving[number].aclose)
        made.routed = await stack.enter_async_context(AsyncExitStack())
        await made.route(directory)
        await stack.enter_async_context(front(folder / "nginx", port=made.nginx, pods=there))
        try:
            yield made
        finally:
            for serving in made.serving.values():
                await serving.aclose()


def router_settings(**limits: Any) -> Settings:
    """Of a router beside nginx, which tells its decisions."""
    ports = free_ports(3)
    known = FrontLimits(**{"decisions_port": ports[2], "behind": LOCAL, "probe_every": 0.05, **limits})
    return Settings(front_port=ports[0], api_port=ports[1], front=known)


async def sent(port: int, method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> tuple[int, bytes]:
    """Status and body of a request whose every byte is as it was given, on a connection of its own."""
    lines = [f"{method} {path} HTTP/1.1", "Host: perdure.test", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    reader, writer = await asyncio.open_connection(LOCAL, port)
    try:
        writer.write("\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape") + body)
        async with asyncio.timeout(HANGS):
            head, _, content = (await reader.read()).partition(b"\r\n\r\n")
    finally:
        writer.close()
        await writer.wait_closed()
    if b"transfer-encoding: chunked" in head.lower():
        content = b"".join(content.split(b"\r\n")[1::2])
    return int(head.split(b" ")[1]), content
