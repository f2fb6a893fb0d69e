"""The relay leaves no connection open, whenever it is left itself."""

import asyncio

import pytest

from tests.steps.ways.cutting import relayed
from tests.waiting import HANGS


# With no turn at all asyncio 3.11 accepts the connection while the server closes, and forgets it.
@pytest.mark.parametrize("turns", range(1, 16))
async def test_both_connections_are_closed_whenever_it_is_left(turns: int) -> None:
    made: list[asyncio.StreamWriter] = []

    async def leave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async def connect() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        made.append(writer)
        return reader, writer

    async with await asyncio.start_server(leave, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with relayed(connect) as relay:
            reader, writer = await asyncio.open_connection("127.0.0.1", relay.port)
            for _ in range(turns):  # of the event loop: it ends within another step of the relay each time
                await asyncio.sleep(0)
    async with asyncio.timeout(HANGS):
        assert await reader.read() == b""
    writer.close()
    assert [each.transport.is_closing() for each in made] == [True] * len(made)
