"""The load on a router, as a process of its own: `echo '{"kind": ..., ...}' | python -m bench.router.load`.

The question is an `Order`; the last line of the answer is JSON with figures by name.
"""

import asyncio
import json
import socket
import sys
import time
from dataclasses import dataclass
from statistics import quantiles
from typing import Final

import uvloop

from bench.http_connection import Connection

LOCAL: Final = "127.0.0.1"
_PIECE: Final = bytes(1024 * 1024)


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be asked, and where.

    `kind`: `closed` (each of the connections asks again as soon as it is answered, for `seconds`), `paced` (`rate`
    requests a second, whatever becomes of them), `held` (one poll of each connection), `up` and `down` (`size` bytes).
    """

    kind: str
    port: int
    path: str
    header: str
    connections: int = 32
    seconds: float = 4.0
    rate: float = 0.0
    size: int = 0


async def closed(order: Order) -> dict[str, float]:
    """Requests, and how many a second, and how long they took (s)."""
    until = time.perf_counter() + order.seconds

    async def ask() -> list[float]:
        connection, took = Connection(LOCAL, order.port), []
        while (begun := time.perf_counter()) < until:
            await _once(connection, order, "GET", 200)
            took.append(time.perf_counter() - begun)
        connection.close()
        return took

    begun = time.perf_counter()
    took = [one for each in await asyncio.gather(*(ask() for _ in range(order.connections))) for one in each]
    return {"requests": len(took), "rate": len(took) / (time.perf_counter() - begun), **_of(took)}


async def paced(order: Order) -> dict[str, float]:
    """How long they took from the moment at which they were due (s)."""
    free, took = [Connection(LOCAL, order.port) for _ in range(order.connections)], []

    async def ask(due: float) -> None:
        connection = free.pop() if free else Connection(LOCAL, order.port)
        await _once(connection, order, "GET", 200)
        took.append(time.perf_counter() - due)
        free.append(connection)

    first, asked = time.perf_counter(), []
    for number in range(int(order.rate * order.seconds)):
        due = first + number / order.rate
        await asyncio.sleep(due - time.perf_counter())
        asked.append(asyncio.create_task(ask(due)))
    await asyncio.gather(*asked)
    for connection in free:
        connection.close()
    return _of(took)


async def held(order: Order) -> dict[str, float]:
    """How many polls were answered, and how long the slowest took (s)."""
    begun = time.perf_counter()

    async def ask() -> float:
        connection = Connection(LOCAL, order.port)
        await _once(connection, order, "POST", 204)
        connection.close()
        return time.perf_counter() - begun

    took = await asyncio.gather(*(ask() for _ in range(order.connections)), return_exceptions=True)
    answered = [one for one in took if isinstance(one, float)]
    return {"answered": len(answered), "slowest": max(answered, default=0.0)}


def bulk(order: Order) -> dict[str, float]:
    """Bytes a second, one way."""
    begun = time.perf_counter()
    method, length = ("POST", order.size) if order.kind == "up" else ("GET", 0)
    head = f"{method} {order.path} HTTP/1.1\r\nHost: perdure\r\n{order.header}\r\nContent-Length: {length}\r\n\r\n"
    with socket.create_connection((LOCAL, order.port)) as end:
        end.sendall(head.encode())
        for _ in range(length // len(_PIECE)):
            end.sendall(_PIECE)
        seen = bytearray()
        while b"\r\n\r\n" not in seen:
            seen += end.recv(64 * 1024)
        if not seen.startswith((b"HTTP/1.1 200", b"HTTP/1.1 204")):
            raise RuntimeError(seen[:200].decode(errors="replace"))
        left = 0 if length else order.size - len(seen.partition(b"\r\n\r\n")[2])
        buffer = bytearray(len(_PIECE))
        while left > 0:
            got = end.recv_into(buffer)
            if not got:
                raise RuntimeError(f"cut, {left} bytes before the end")
            left -= got
    return {"rate": order.size / (time.perf_counter() - begun)}


async def _once(connection: Connection, order: Order, method: str, status: int) -> None:
    answer = await connection.request(method, order.path, headers=(order.header.encode(),))
    if answer.status != status:
        raise RuntimeError(f"{method} {order.path}: {answer.status} {bytes(answer.body[:200])!r}")


def _of(took: list[float]) -> dict[str, float]:
    parts = quantiles(took, n=100)
    return {"p50": parts[49], "p99": parts[98]}


def main() -> None:
    """Entry point."""
    order = Order(**json.loads(sys.stdin.read()))
    if order.kind in ("up", "down"):
        found = bulk(order)
    else:
        found = uvloop.run({"closed": closed, "paced": paced, "held": held}[order.kind](order))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
