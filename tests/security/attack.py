"""`python -m tests.security.attack KIND PORT SECONDS`: a hostile client; prints what became of it as one line of JSON.

It is a process of its own, so that its work does not slow down the clock of those who are measured.
"""

import asyncio
import json
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from uuid import uuid4

import uvloop

from rigs.ports import LOCAL

TRICKLING = 2_000
HELD = 1_000
GUESSING = 64
GUESSES = 10_000
FLOODING = 20

_POLL = b"POST /api/v4/jobs/request HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
_UPLOAD = b"POST /api/v4/jobs/1/artifacts HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
TRICKLES = {
    "header": (b"GET / HTTP/1.1\r\n", b"X: 1\r\n"),
    "body": (_POLL % 5_000, b" "),
    "upload": (_UPLOAD, b"1\r\na\r\n"),
}
"""How each kind of slow sender begins, and what it sends each two seconds."""
_FLOOD = b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: 1\r\n" % number for number in range(5_000)) + b"\r\n"


@dataclass
class Outcome:
    """`lives`: seconds that connections of each kind of slow sender lived; `statuses`: what was answered how often."""

    refused: int = 0
    lives: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in TRICKLES})
    statuses: dict[str, int] = field(default_factory=lambda: defaultdict(int))


class Attack:
    """Runs until a moment of `time.monotonic`, from an address of its own, which nobody has refused so far."""

    def __init__(self, port: int, end: float, token: str) -> None:
        """`token` is that of a good runner, for whoever behaves."""
        self.outcome = Outcome()
        self._port = port
        self._address = f"127.1.{port >> 8}.{port & 255}"
        self._end = end
        self._token = token
        self._guesses = GUESSES

    @property
    def goes_on(self) -> bool:
        """Whether there is time left."""
        return time.monotonic() < self._end

    async def trickling(self) -> None:
        """Two thousand slow senders, each of which comes back as soon as it is cut."""
        await asyncio.gather(*(self._again(self._trickle, number) for number in range(TRICKLING)))

    async def held(self) -> None:
        """A thousand runners that wait for a job."""
        await asyncio.gather(*(self._again(self._hold, number) for number in range(HELD)))

    async def guessing(self) -> None:
        """Ten thousand runner tokens that nobody has, each of them new."""
        await asyncio.gather(*(self._again(self._guess, number) for number in range(GUESSING)))

    async def flooding(self) -> None:
        """Headers without end and garbage behind requests."""
        await asyncio.gather(*(self._again(self._flood, number) for number in range(FLOODING)))

    async def _again(self, client: Callable[[int], Awaitable[None]], number: int) -> None:
        await asyncio.sleep(number % 100 / 25)
        while self.goes_on and self._guesses > 0:
            try:
                await client(number)
            except ConnectionRefusedError:
                self.outcome.refused += 1
                await asyncio.sleep(0.1)
            except (OSError, asyncio.IncompleteReadError):
                await asyncio.sleep(0.1)

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(LOCAL, self._port, local_addr=(self._address, 0))

    async def _trickle(self, number: int) -> None:
        reader, writer = await self._connected()
        kind = tuple(TRICKLES)[number % len(TRICKLES)]
        begin, piece = TRICKLES[kind]
        started = time.monotonic()
        reading = asyncio.create_task(reader.read())
        try:
            writer.write(begin)
            while not reading.done() and self.goes_on:
                writer.write(piece)
                await writer.drain()
                await asyncio.wait([reading], timeout=2)
        except OSError:
            pass
        finally:
            writer.close()
            self.outcome.lives[kind].append(time.monotonic() - started)
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def _hold(self, number: int) -> None:
        body = {"token": self._token, "system_id": f"s_{number}", "last_update": "waiting"}
        await self._polls(body, lambda: self._token)

    async def _guess(self, number: int) -> None:
        await self._polls({"system_id": f"s_{number}"}, lambda: f"glrt-{uuid4().hex}")

    async def _polls(self, body: dict[str, str], token: Callable[[], str]) -> None:
        """Polls one after the other on one connection."""
        reader, writer = await self._connected()
        try:
            while self.goes_on and self._guesses > 0:
                self._guesses -= 1
                content = json.dumps({**body, "token": token()}).encode()
                writer.write(_POLL % len(content) + content)
                async with asyncio.timeout_at(asyncio.get_running_loop().time() + self._end - time.monotonic()):
                    head = await reader.readuntil(b"\r\n\r\n")
                    length = next((line for line in head.lower().split(b"\r\n") if b"content-length" in line), b":0")
                    await reader.readexactly(int(length.rpartition(b":")[2]))
                self.outcome.statuses[head[9:12].decode()] += 1
        except TimeoutError:
            pass
        finally:
            writer.close()

    async def _flood(self, number: int) -> None:
        reader, writer = await self._connected()
        writer.write(_FLOOD if number % 2 else b"GET /-/front HTTP/1.1\r\nHost: h\r\n\r\n" + b"\0garbage\r\n\r\n" * 50)
        try:
            async with asyncio.timeout(5):
                self.outcome.statuses[(await reader.read())[9:12].decode()] += 1
        except TimeoutError:
            pass
        finally:
            writer.close()
        await asyncio.sleep(0.2)


async def run(kind: str, port: int, seconds: float, token: str) -> Outcome:
    """Attack for so long."""
    attack = Attack(port, time.monotonic() + seconds, token)
    await getattr(attack, kind)()
    return attack.outcome


def open_files() -> None:
    """Each connection takes a descriptor."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


if __name__ == "__main__":
    open_files()
    outcome = uvloop.run(run(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4]))
    print(json.dumps(vars(outcome)))
