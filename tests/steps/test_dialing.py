"""What a stream says at its end is logged, even where nobody reads from it any more."""

import asyncio

import pytest

from steps.dialing import dialed


class Failing:
    """Gives garbage at once, and says what is wrong when it is asked again."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()
        self.closed = asyncio.Event()
        self.reads = 0

    async def read(self) -> bytes:
        self.reads += 1
        if self.reads == 1:
            return b"garbage"
        if self.reads < 5:
            await self.gone.wait()
            return b"more garbage"
        raise ConnectionError("the reason")

    async def write(self, data: bytes) -> None:
        pass

    async def end(self) -> None:
        self.gone.set()

    async def close(self) -> None:
        self.closed.set()


async def test_the_last_words_are_heard(capsys: pytest.CaptureFixture[str]) -> None:
    stream = Failing()

    async def opened() -> Failing:
        return stream

    async with dialed(opened) as address:
        reader, writer = await asyncio.open_unix_connection(address.removeprefix("unix:"))
        assert await reader.read(100) == b"garbage"
        writer.transport.abort()
        async with asyncio.timeout(10):
            await stream.closed.wait()
    assert "a step runner cannot be reached error='the reason'" in capsys.readouterr().out.replace("  ", " ")


async def test_a_connection_ends_while_its_stream_is_opened() -> None:
    opening = asyncio.Event()

    async def never() -> Failing:
        opening.set()
        return await asyncio.Future()

    async with dialed(never) as address:
        reader, writer = await asyncio.open_unix_connection(address.removeprefix("unix:"))
        async with asyncio.timeout(10):
            await opening.wait()
    async with asyncio.timeout(10):
        assert await reader.read() == b""
    writer.close()
