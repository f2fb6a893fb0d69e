"""A relay between a client and a server, which cuts connections in the middle."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

Connect = Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]


@dataclass
class Relay:
    """Cuts connections from the server's side after so many bytes each, in this order, and then none any more."""

    connect: Connect
    cuts: list[int]
    port: int = 0
    done: int = 0
    is_over: bool = False
    connections: set[asyncio.Task[None]] = field(default_factory=set)

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.connections.add(task)
        task.add_done_callback(self.connections.discard)
        try:
            if self.is_over:  # it was accepted last, and comes here only now
                return
            there, back = await self.connect()
            up = asyncio.create_task(self._pump(reader, back))
            try:
                await self._return(there, writer)
            finally:
                back.transport.abort()  # first: whoever leaves the relay now cancels what waits below
                up.cancel()
                await asyncio.gather(up, return_exceptions=True)
        finally:
            writer.transport.abort()

    async def _return(self, there: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        passed = 0
        with contextlib.suppress(OSError):
            while data := await there.read(10_000):
                if self.cuts and passed + len(data) >= self.cuts[0]:
                    writer.write(data[: self.cuts[0] - passed])
                    await writer.drain()
                    del self.cuts[0]
                    self.done += 1
                    return
                passed += len(data)
                writer.write(data)
                await writer.drain()
            writer.close()
            await writer.wait_closed()

    @staticmethod
    async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
            writer.write_eof()


@asynccontextmanager
async def relayed(connect: Connect, cuts: list[int] | None = None) -> AsyncIterator[Relay]:
    """A relay on a port of this machine."""
    relay = Relay(connect, cuts or [])
    async with await asyncio.start_server(relay.carry, "127.0.0.1", 0) as server:
        relay.port = server.sockets[0].getsockname()[1]
        try:
            yield relay
        finally:
            relay.is_over = True
            for task in list(relay.connections):
                task.cancel()
            await asyncio.gather(*relay.connections, return_exceptions=True)


def cut_at(seed: int, count: int) -> list[int]:
    """Random places: most in the middle of what a run writes, some in the middle of what begins a connection."""
    chance = random.Random(seed)
    return [chance.randint(1, chance.choice((2_000, 200_000, 200_000))) for _ in range(count)]
