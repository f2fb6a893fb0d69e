"""A Docker Engine of which only exec is there: it runs commands on this machine, and refuses what a real one refuses.

Written by the Engine's API reference, chapter "Exec", and by what an Engine (20.10) was seen to answer.
"""

import asyncio
import contextlib
import json
import random
import re
import secrets
import ssl
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_ROUTE = re.compile(r"(?:/v(?P<version>\d+\.\d+))?/(?P<what>containers|exec)/(?P<id>[^/?]+)/(?P<verb>exec|start|json)")
_TEXTS = {200: "OK", 201: "Created", 400: "Bad Request", 404: "Not Found", 409: "Conflict"}


@dataclass
class Exec:
    """One instance."""

    config: dict[str, Any]
    is_started: bool = False
    exit_code: int | None = None


@dataclass
class Engine:
    """`containers` says of each whether it runs; `requests` are the first lines of all that came."""

    api_version: str = "1.50"
    containers: dict[str, bool] = field(default_factory=lambda: {"job": True, "asleep": False})
    execs: dict[str, Exec] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    chance: random.Random = field(default_factory=lambda: random.Random(5))
    port: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("ascii").split("\r\n")
            self.requests.append(head[0].removesuffix(" HTTP/1.1"))
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:-2])}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            method, path, _ = head[0].split(" ")
            await self._answer(method, path, headers, body, reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _answer(
        self, method: str, path: str, headers: dict[str, str], body: bytes, reader: Any, writer: asyncio.StreamWriter
    ) -> None:
        if (method, path) == ("GET", "/_ping"):
            return self._reply(writer, 200, b"OK", f"Api-Version: {self.api_version}\r\nDocker-Experimental: false\r\n")
        found = _ROUTE.fullmatch(path)
        if found is None:
            return self._fail(writer, 404, "page not found")
        if (version := found["version"]) and _numbers(version) > _numbers(self.api_version):
            newest = f"client version {version} is too new. Maximum supported API version is {self.api_version}"
            return self._fail(writer, 400, newest)
        if method == "POST" and headers.get("content-type") != "application/json":
            return self._fail(writer, 400, "malformed Content-Type header (): mime: no media type")
        if (method, found["what"], found["verb"]) == ("POST", "containers", "exec"):
            return self._create(writer, found["id"], json.loads(body))
        if found["what"] != "exec" or found["id"] not in self.execs:
            return self._fail(writer, 404, f"No such exec instance: {found['id']}")
        one = self.execs[found["id"]]
        if (method, found["verb"]) == ("GET", "json"):
            told = {"ID": found["id"], "Running": one.is_started and one.exit_code is None, "ExitCode": one.exit_code}
            return self._reply(writer, 200, json.dumps(told).encode())
        if one.is_started:
            return self._fail(writer, 409, f"Error: Exec command {found['id']} is already running")
        if (headers.get("connection"), headers.get("upgrade")) != ("Upgrade", "tcp"):
            return self._fail(writer, 400, "the test wants the headers of an upgrade")
        assert json.loads(body) == {"Detach": False, "Tty": False}
        one.is_started = True
        kind = "multiplexed" if _numbers(version) >= (1, 42) else "raw"
        writer.write(upgraded(kind))
        return await self._run(one, reader, writer)

    def _create(self, writer: asyncio.StreamWriter, container: str, config: dict[str, Any]) -> None:
        if container not in self.containers:
            return self._fail(writer, 404, f"No such container: {container}")
        if not self.containers[container]:
            return self._fail(writer, 409, f"container {container} is not running")
        if not config.get("Cmd"):
            return self._fail(writer, 400, "no exec command specified")
        number = secrets.token_hex(32)
        self.execs[number] = Exec(config)
        return self._reply(writer, 201, json.dumps({"Id": number}).encode())

    async def _run(self, one: Exec, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), asyncio.subprocess.PIPE)
        try:
            process = await asyncio.create_subprocess_exec(*one.config["Cmd"], **pipes)
        except OSError:
            why = f'exec: "{one.config["Cmd"][0]}": executable file not found in $PATH: unknown\r\n'
            await self._frame(writer, 1, f"OCI runtime exec failed: exec failed: unable to start {why}".encode())
            one.exit_code = 126  # which 20.10 says of both
            return
        assert process.stdin is not None
        feeding = asyncio.create_task(_feed(reader, process.stdin))
        try:
            await asyncio.gather(self._send(process.stdout, writer, 1), self._send(process.stderr, writer, 2))
        finally:
            one.exit_code = await process.wait()
            feeding.cancel()
            await asyncio.gather(feeding, return_exceptions=True)

    async def _send(self, pipe: asyncio.StreamReader | None, writer: asyncio.StreamWriter, stream: int) -> None:
        assert pipe is not None
        while data := await pipe.read(self.chance.choice((100, 4_000, 32_768))):
            await self._frame(writer, stream, data)

    @staticmethod
    async def _frame(writer: asyncio.StreamWriter, stream: int, data: bytes) -> None:
        with contextlib.suppress(OSError):  # the client is gone: the process goes on until its input ends
            writer.write(struct.pack(">BxxxI", stream, len(data)) + data)
            await writer.drain()

    def _fail(self, writer: asyncio.StreamWriter, status: int, message: str) -> None:
        self._reply(writer, status, json.dumps({"message": message}).encode() + b"\n")

    @staticmethod
    def _reply(writer: asyncio.StreamWriter, status: int, body: bytes, headers: str = "") -> None:
        head = f"HTTP/1.1 {status} {_TEXTS[status]}\r\n{headers}Content-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)


def upgraded(kind: str) -> bytes:
    """The head after which frames come."""
    return (
        f"HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.{kind}-stream\r\n"
        "Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
    ).encode()


def _numbers(version: str | None) -> tuple[int, ...]:
    return tuple(int(part) for part in (version or "1.24").split("."))


async def _feed(reader: asyncio.StreamReader, stdin: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65_536):
            stdin.write(data)
            await stdin.drain()
    stdin.close()


@asynccontextmanager
async def docker_engine(path: Path | None = None, secure: ssl.SSLContext | None = None) -> AsyncIterator[Engine]:
    """It listens at a path, or at a port of this machine, until the block ends."""
    engine = Engine()
    if path is not None:
        server = await asyncio.start_unix_server(engine.serve, path)
    else:
        server = await asyncio.start_server(engine.serve, "127.0.0.1", 0, ssl=secure)
        engine.port = server.sockets[0].getsockname()[1]
    async with server:
        yield engine
