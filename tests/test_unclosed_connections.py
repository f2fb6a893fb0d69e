"""A connection that nobody closed is told with the test that opened it."""

import asyncio
import gc
import os

import pytest

from rigs.ports import LOCAL


async def left_open() -> None:
    """Open a connection, and forget it when its other end is gone."""

    async def leave(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_server(leave, LOCAL, 0) as server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        assert await reader.read() == b"", "the loop knows it no more"
    del reader, writer
    gc.collect()


async def test_the_warning_names_the_test_that_opened_it() -> None:
    with pytest.warns(ResourceWarning) as told:
        await left_open()
    assert os.environ["PYTEST_CURRENT_TEST"] in "".join(str(one.message) for one in told)
