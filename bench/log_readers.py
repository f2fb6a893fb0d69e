"""Slow readers of growing logs, as a process of its own: each takes 1 KiB a second from the server-sent events.

    echo '{"port": ..., "token": ..., "paths": [...]}' | python -m bench.log_readers

Prints `reading` a few seconds after every reader has its first bytes, and reads until it is ended.
"""

import asyncio
import json
import socket
import sys
from typing import Final

_RATE: Final = 1024
"""Bytes a second."""
_SETTLE: Final = 5.0
"""Seconds after which the kernel holds all that it will hold for those who read so slowly."""
_BUFFER: Final = 4096
"""Bytes that the kernel may hold for a reader."""


async def main() -> None:
    """Connect all, then read for ever."""
    order = json.load(sys.stdin)
    readers = [await _connected(order["port"], path, order["token"]) for path in order["paths"]]
    reading = asyncio.gather(*(_read(reader) for reader in readers))
    await asyncio.wait([reading], timeout=_SETTLE)
    print("reading", flush=True)
    await reading


async def _connected(port: int, path: str, token: str) -> socket.socket:
    loop, reader = asyncio.get_running_loop(), socket.socket()
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
    reader.setblocking(False)
    await loop.sock_connect(reader, ("127.0.0.1", port))
    request = f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nprivate-token: {token}\r\n\r\n"
    await loop.sock_sendall(reader, request.encode())
    first = await loop.sock_recv(reader, _RATE)
    if b" 200 " not in first:
        raise RuntimeError(f"GET {path} was answered {first!r}")
    return reader


async def _read(reader: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    while True:
        if not await loop.sock_recv(reader, _RATE):
            raise RuntimeError("a live reader was cut off")
        await asyncio.sleep(1)


if __name__ == "__main__":
    asyncio.run(main())
