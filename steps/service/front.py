"""Takes connections to the socket of the step runner, looks whose they are, and passes their bytes to gRPC.

gRPC for Python tells a service nothing of the user behind a socket of this machine, and takes no connection that
somebody else has accepted: so it listens at a second socket, which has no name outside of the same private folder.
"""

import asyncio
import contextlib
import os
import resource
import socket
import struct
from pathlib import Path
from typing import Final

import structlog

_CREDENTIALS: Final = struct.Struct("3i")
"""`struct ucred`: process, user and group (unix(7), SO_PEERCRED)."""
_SIZE: Final = 256 * 1024
MAX_CONNECTIONS: Final = 1_000
_OTHERS: Final = 128
"""Descriptors for files, pipes and processes."""
_PAUSE: Final = 0.1

log = structlog.get_logger()


def user_of(connection: socket.socket) -> int:
    """The user whose process has made this connection."""
    content = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    _, user, _ = _CREDENTIALS.unpack(content)
    return int(user)


def max_connections() -> int:
    """How many connections this process has descriptors for: three each, here, and where gRPC takes it."""
    may_be_open, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return min(MAX_CONNECTIONS, max(1, (may_be_open - _OTHERS) // 3))


class Front:
    """Accepts until it is closed; this user and root get in."""

    def __init__(self, listening: socket.socket, inner: Path) -> None:
        """`inner` is where gRPC listens."""
        self._listening = listening
        self._inner = inner
        self._max, self._full = max_connections(), False
        self._permitted = {0, os.geteuid()}
        self._tasks: set[asyncio.Task[None]] = set()
        self._accepting: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Accept from now on."""
        self._listening.setblocking(False)
        self._accepting = asyncio.create_task(self._accept())

    async def close(self) -> None:
        """Accept no more, and cut what is open."""
        tasks = [*self._tasks, *([self._accepting] if self._accepting else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(self._listening)
            except OSError as error:  # no descriptors are left: others are given back
                log.warning("the step runner cannot take a connection", error=error.strerror)
                await asyncio.sleep(_PAUSE)
                continue
            if self._is_full():
                connection.close()
                continue
            user = user_of(connection)
            if user not in self._permitted:
                log.warning("another user has knocked at the socket of the step runner", user=user)
                connection.close()
                continue
            task = asyncio.create_task(self._carry(connection))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _is_full(self) -> bool:
        """Whether there are as many as may be; said once each time that it comes to that."""
        was_full, self._full = self._full, len(self._tasks) >= self._max
        if self._full and not was_full:
            log.warning("the step runner takes no more connections", connections=self._max)
        return self._full

    async def _carry(self, connection: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        with connection, contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as inner:
            connection.setblocking(False)
            inner.setblocking(False)
            await loop.sock_connect(inner, str(self._inner))
            async with asyncio.TaskGroup() as both:
                both.create_task(_pump(connection, inner))
                both.create_task(_pump(inner, connection))


async def _pump(source: socket.socket, target: socket.socket) -> None:
    """Until the source says no more; then the target hears that."""
    loop = asyncio.get_running_loop()
    buffer = bytearray(_SIZE)
    view = memoryview(buffer)
    with contextlib.suppress(ConnectionError, BrokenPipeError):
        while count := await loop.sock_recv_into(source, buffer):
            await loop.sock_sendall(target, view[:count])
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
