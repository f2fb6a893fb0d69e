"""What a stream says at its end is logged, even where nobody reads from it any more."""

import asyncio

import pytest

from steps.dialing import dialed
from tests.waiting import HANGS


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
        async with asyncio.timeout(HANGS):
            await stream.closed.wait()
    assert "a step runner cannot be reached error='the reason'" in capsys.readouterr().out.replace("  ", " ")


async def test_a_connection_ends_while_its_stream_is_opened() -> None:
    opening = asyncio.Event()

    async def never() -> Failing:
        opening.set()
        return await asyncio.Future()

    async with dialed(never) as address:
        reader, writer = await asyncio.open_unix_connection(address.removeprefix("unix:"))
        async with asyncio.timeout(HANGS):
            await opening.wait()
    async with asyncio.timeout(HANGS):
        assert await reader.read() == b""
    writer.close()


class Ended:
    """Has nothing to say, and takes a moment to close."""

    def __init__(self) -> None:
        self.is_closed = False

    async def read(self) -> bytes:
        return b""

    async def write(self, data: bytes) -> None:
        pass

    async def end(self) -> None:
        pass

    async def close(self) -> None:
        for _ in range(3):
            await asyncio.sleep(0)
        self.is_closed = True


# With no turn at all asyncio 3.11 accepts the connection while the server closes, and forgets it.
@pytest.mark.parametrize("turns", range(1, 16))
async def test_a_stream_is_closed_whenever_nobody_dials_any_more(turns: int) -> None:
    streams: list[Ended] = []

    async def opened() -> Ended:
        await asyncio.sleep(0)
        streams.append(Ended())
        return streams[-1]

    async with dialed(opened) as address:
        reader, writer = await asyncio.open_unix_connection(address.removeprefix("unix:"))
        for _ in range(turns):  # of the event loop: it ends within another step of the connection each time
            await asyncio.sleep(0)
    async with asyncio.timeout(HANGS):
        assert await reader.read() == b""
    writer.close()
    assert [stream.is_closed for stream in streams] == [True] * len(streams)
