"""A real nginx with the rendered configuration, in a folder of its own, and small APIs behind it."""

import asyncio
import os
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from aiohttp import web

from rigs.ports import free_port
from tests.waiting import HANGS, eventually

ROOT = Path(__file__).resolve().parents[2]
RENDER = ROOT / "deploy" / "nginx" / "render.py"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def nginx_binary() -> str:
    """Path of nginx. Without one the test is skipped, or fails where CI=true: there it must be installed."""
    found = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
    if found is None:
        if os.environ.get("CI") == "true":
            pytest.fail("not run: nginx")
        pytest.skip("not run: nginx")
    return found


async def listening(port: int) -> None:
    """Return when something accepts connections on `port`; TimeoutError if it hangs."""
    async with asyncio.timeout(HANGS):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except ConnectionRefusedError:
                await asyncio.sleep(0.02)
            else:
                writer.close()
                await writer.wait_closed()
                return


async def has_pid(folder: Path) -> None:
    """Return when nginx has written its process id, which it does once it listens; TimeoutError if it hangs."""

    async def written() -> bool:
        return _ends_a_line(folder / "nginx.pid")

    await eventually(written, "nginx.pid has a process id", within=HANGS)


def _ends_a_line(file: Path) -> bool:
    return file.exists() and file.read_text().endswith("\n")


@dataclass(frozen=True)
class Tls:
    """A port that speaks TLS, with files."""

    port: int
    certificate: Path
    key: Path


@dataclass(frozen=True)
class Pods:
    """A directory of pods in a file, where their router and its decisions are, and what else render.py is told."""

    directory: Path
    router: str
    decisions: str
    more: tuple[str, ...] = ()

    @property
    def arguments(self) -> list[str]:
        """For render.py."""
        known = {"--directory": str(self.directory), "--router": self.router, "--decisions": self.decisions}
        return [*(word for option in known.items() for word in option), *self.more]


@asynccontextmanager
async def front(
    folder: Path,
    *apis: str,
    resolver: str = "",
    holder: str = "",
    port: int = 0,
    metrics: int = 0,
    tls: Tls | None = None,
    pods: Pods | None = None,
) -> AsyncIterator[str]:
    """Run nginx in front of the `apis` (host:port); yields its address, such as `http://127.0.0.1:4711`.

    `holder` is host:port too, `port` that of nginx. With `metrics` it tells its own at that port. `tls`: there, too.
    `pods` are behind it in the place of `apis` and `holder`.
    """
    nginx, port = nginx_binary(), port or free_port()
    arguments = ["--listen", f"127.0.0.1:{port}"]
    for api in apis:
        arguments += ["--api", api]
    if metrics:
        arguments += ["--metrics", f"127.0.0.1:{metrics}"]
    if tls:
        arguments += ["--tls", f"127.0.0.1:{tls.port}", "--certificate", str(tls.certificate), "--key", str(tls.key)]
    if pods:
        arguments += pods.arguments
    if resolver:
        arguments += ["--resolver", resolver]
    if holder:
        arguments += ["--holder", holder]
    render = await asyncio.create_subprocess_exec(sys.executable, str(RENDER), *arguments, str(folder))
    assert await render.wait() == 0
    process = await asyncio.create_subprocess_exec(
        nginx, "-e", str(folder / "error.log"), "-c", str(folder / "nginx.conf"), "-g", "daemon off;"
    )
    try:
        await listening(port)
        await has_pid(folder)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        await process.wait()


@asynccontextmanager
async def api(handler: Handler, port: int = 0) -> AsyncIterator[str]:
    """Serve every method and path with `handler`; yields host:port."""
    application = web.Application(client_max_size=0)
    application.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(application, shutdown_timeout=1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    try:
        yield f"127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def cutting_api(requests: list[str]) -> AsyncIterator[str]:
    """Note the first line of each request, then close without a byte of response; yields host:port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            requests.append(head.split(b"\r\n")[0].decode())
        finally:
            writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
