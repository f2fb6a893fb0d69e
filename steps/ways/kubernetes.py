"""Into a container of a pod, by the API server's `exec` over a WebSocket.

Source: docs/reference/steps.md, "Reaching a step runner".
"""

import asyncio
import contextlib
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import aiohttp

from domain.errors import Invalid
from domain.steps.places import Kubernetes
from steps.dialing import ByteStream, Open
from steps.ways import tls
from steps.ways.said import Said, ended

ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where a pod finds the token of its service account, the authority of the API server, and its namespace."""
CLOSES: Final = "v5.channel.k8s.io"
"""The protocol in which one channel can be closed; the older one is the same without."""
_PROTOCOLS: Final = (CLOSES, "v4.channel.k8s.io")
_STDIN, _STDOUT, _STDERR, _STATUS, _CLOSE = 0, 1, 2, 3, 255
_SIZE: Final = 32 * 1024
"""Bytes of one message to the other side, as Kubernetes' own client sends them."""
_MAX_MESSAGE: Final = 16 * 1024 * 1024
_HEARTBEAT: Final = 20.0
"""Seconds between pings; half of it without an answer, and the peer is dead."""
_FAREWELL: Final = 2.0
"""Seconds for the peer to answer that the connection is closed."""
_TIMEOUT: Final = aiohttp.ClientTimeout(total=None, sock_connect=30, sock_read=30)
_UNAUTHORIZED: Final = 401


def by_kubernetes(place: Kubernetes, environ: Mapping[str, str] = os.environ, account: Path = ACCOUNT) -> Open:
    """Streams to processes that an exec starts in the container.

    Raises `Invalid` where no API server is named and this process is in no pod, by its environment.
    """
    found = place if place.host else _in_cluster(place, environ, account)

    async def open_exec() -> ByteStream:
        token = await _token(found)
        try:
            return await _opened(found, token)
        except _Refused as refused:
            again = await _token(found)
            if refused.status != _UNAUTHORIZED or again == token:
                raise
        return await _opened(found, again)  # the token was replaced in between

    return open_exec


def _in_cluster(place: Kubernetes, environ: Mapping[str, str], account: Path) -> Kubernetes:
    host, port = environ.get("KUBERNETES_SERVICE_HOST", ""), environ.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise Invalid(
            f"{place}: no `host` is given, and KUBERNETES_SERVICE_HOST is not set, as it would be in a pod; give `host`"
        )
    namespace = account / "namespace"
    return replace(
        place,
        host=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        namespace=place.namespace or (namespace.read_text("utf-8").strip() if namespace.exists() else ""),
        token_file=place.token_file or account / "token",
        tls=place.tls if place.tls.ca_file else replace(place.tls, ca_file=account / "ca.crt"),
    )


async def _token(place: Kubernetes) -> str:
    """As it is now: it is replaced every hour or so."""
    if place.token_file is None:
        return ""
    try:
        content = await asyncio.to_thread(place.token_file.read_text, "ascii")
    except (OSError, ValueError) as error:
        raise ConnectionError(f"{place}: the token in {place.token_file} cannot be read: {error}") from error
    return content.strip()


class _Refused(ConnectionError):
    """The API server's answer instead of a WebSocket."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


async def _opened(place: Kubernetes, token: str) -> ByteStream:
    async def refuse(response: aiohttp.ClientResponse) -> None:
        if response.status != 101:
            content = await response.content.read(64 * 1024)
            response.close()
            raise _Refused(f"{place}: status {response.status}: {_message(content)}", response.status)

    secure = tls.context(place.tls, str(place)) if place.host.startswith("https") else False
    session = aiohttp.ClientSession(
        timeout=_TIMEOUT, raise_for_status=refuse, connector=aiohttp.TCPConnector(ssl=secure or True)
    )
    try:
        socket = await session.ws_connect(
            f"{place.host}/api/v1/namespaces/{place.namespace or 'default'}/pods/{place.pod}/exec",
            params=[
                *(("command", word) for word in place.proxy),
                *((("container", place.container),) if place.container else ()),
                *((name, "true") for name in ("stdin", "stdout", "stderr")),
                ("tty", "false"),
            ],
            protocols=_PROTOCOLS,
            heartbeat=_HEARTBEAT,
            headers={"Authorization": f"Bearer {token}"} if token else {},
            max_msg_size=_MAX_MESSAGE,
            timeout=aiohttp.ClientWSTimeout(ws_close=_FAREWELL),
        )
    except BaseException as error:
        await session.close()
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            raise ConnectionError(f"{place}: {tls.problem(error.certificate_error)}") from error  # type: ignore[arg-type]
        if isinstance(error, (aiohttp.ClientError, TimeoutError)):
            raise ConnectionError(f"{place}: {error or 'no answer'}") from error
        raise
    if socket.protocol not in _PROTOCOLS:
        await socket.close()
        await session.close()
        raise ConnectionError(f"{place}: the API server takes none of the protocols {', '.join(_PROTOCOLS)}")
    return ExecSocket(place, session, socket)


def _message(content: bytes) -> str:
    """What a `Status` says, or the beginning of whatever came."""
    told = _status(content).get("message")
    return str(told) if told else content[:500].decode("utf-8", "replace").strip()


def _status(content: bytes) -> dict[str, Any]:
    try:
        found = json.loads(content)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


class ExecSocket:
    """The WebSocket of an exec: the first byte of each message names its channel."""

    def __init__(
        self, place: Kubernetes, session: aiohttp.ClientSession, socket: aiohttp.ClientWebSocketResponse
    ) -> None:
        """Take an open one; the session is its own."""
        self._place = place
        self._session = session
        self._socket = socket
        self._said = Said(str(place))
        self._verdict: dict[str, Any] | None = None
        self._is_ended = False

    async def read(self) -> bytes:
        """What the process writes. Raises `ConnectionError` where it has failed, or the connection was cut."""
        while True:
            message = await self._socket.receive()
            if message.type is not aiohttp.WSMsgType.BINARY:
                self._judge(message)
                return b""
            channel, content = message.data[:1], message.data[1:]
            if channel == bytes([_STDOUT]) and content:  # an empty one comes first, and says that all is ready
                return bytes(content)
            if channel == bytes([_STDERR]):
                self._said.hear(content)
            elif channel == bytes([_STATUS]) and content:
                self._verdict = _status(content) or {"message": _message(content)}

    async def write(self, data: bytes) -> None:
        """Write to it."""
        for start in range(0, len(data), _SIZE):
            await self._socket.send_bytes(bytes([_STDIN]) + data[start : start + _SIZE])

    async def end(self) -> None:
        """Close its input. The older protocol cannot: the connection is closed, and nothing is left to read from it."""
        self._is_ended = True
        with contextlib.suppress(OSError, aiohttp.ClientError):
            if self._socket.protocol == CLOSES:
                await self._socket.send_bytes(bytes([_CLOSE, _STDIN]))
            else:
                await self._socket.close()

    async def close(self) -> None:
        """Close the connection: the process comes to the end of its input."""
        with contextlib.suppress(OSError, aiohttp.ClientError):
            await self._socket.close()
        await self._session.close()

    def _judge(self, last: aiohttp.WSMessage) -> None:
        """How it is over, now that no more messages come."""
        if self._verdict is None:
            if self._is_ended and self._socket.protocol != CLOSES:
                return
            why = f": {last.data}" if last.type is aiohttp.WSMsgType.ERROR else f" (code {self._socket.close_code})"
            raise ConnectionError(f"{self._place}: the connection was cut{why}")
        if self._verdict.get("status") == "Success":
            return
        message = str(self._verdict.get("message", ""))
        said = "; ".join(part for part in (self._said.end(), message) if part)
        raise ended(str(self._place), "the process there", _exit_code(self._verdict), said)


def _exit_code(status: Mapping[str, Any]) -> int | None:
    """Of a process that has run; None where it could not be started."""
    details = status.get("details")
    causes = details.get("causes") if isinstance(details, dict) else None
    for cause in causes if isinstance(causes, list) else ():
        if isinstance(cause, dict) and cause.get("reason") == "ExitCode" and str(cause.get("message")).isdecimal():
            return int(cause["message"])
    return None
