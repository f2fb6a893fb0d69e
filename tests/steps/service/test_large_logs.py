"""Logs of more than 2 and 4 GiB: the offsets of the second service lead to the right byte."""

import struct
import time
from pathlib import Path
from typing import Any

import pytest

from domain.errors import TooLarge
from domain.steps.runs import RunRequest, RunState, RunStatus
from steps.attached import Offsets, output
from steps.engine.log_files import ORDER, ORDER_RECORD
from steps.engine.run_folder import RESULTS, RunFolder
from steps.grpc_library import grpc
from steps.proto import runs_pb2 as product
from steps.proto import step_runner_pb2 as messages
from tests.steps.service.serving import Served, script, served

pytestmark = pytest.mark.slow  # gigabytes are followed

EDGES = (2**31 - 1, 2**31, 2**32 - 1, 2**32)
"""The last number of 32 bits with a sign and without one, and the first that is none."""
BEYOND = 1024 * 1024
SIZE = 2**32 + BEYOND
MARK = struct.Struct("<Q")
"""Where it stands."""
PIECE = 64 * 1024


@pytest.mark.nightly  # a push has one of two
async def test_a_log_of_four_gigabytes(tmp_path: Path) -> None:
    """It has holes in it, and marks at its edges; a service finds it as another one would have left it.

    Every second piece is of stderr, so that the place in a stream is not the place in the log.
    """
    service = Served(tmp_path)
    folder = RunFolder(service.root / "r")
    folder.create(RunRequest("r", str(service.work), script="true"))
    now = time.time()
    assert folder.turn(RunState(RunStatus.RUNNING, now))
    assert folder.turn(RunState(RunStatus.SUCCESS, now, now))
    (folder.path / RESULTS).touch()
    (folder.path / ORDER).write_bytes(
        b"".join(ORDER_RECORD.pack(PIECE << 1 | number % 2) for number in range(SIZE // PIECE))
    )
    for name in ("stdout", "stderr"):
        with (folder.path / name).open("wb") as file:
            file.truncate(SIZE // 2)
    marked = [0, *(edge + shift for edge in EDGES for shift in (-64, -32, 16, 32)), SIZE - MARK.size]
    for at in marked:
        put(folder.path, at, MARK.pack(at))
    async with served(tmp_path) as found, found.product() as client:
        for edge in EDGES:
            for offset in range(edge - 2, edge + 3):
                data = await beginning(client.FollowLogs(product.FollowLogsRequest(id="r", offset=offset)), 64)
                assert data == expected(marked, offset, 64), offset
        end = [one.data async for one in client.FollowLogs(product.FollowLogsRequest(id="r", offset=2**32 - 3))]
        assert len(b"".join(end)) == SIZE - 2**32 + 3
        assert b"".join(end)[-MARK.size :] == MARK.pack(SIZE - MARK.size)
        size, last = 0, b""
        async for one in client.FollowLogs(product.FollowLogsRequest(id="r")):
            size, last = size + len(one.data), one.data
        assert (size, last[-MARK.size :]) == (SIZE, MARK.pack(SIZE - MARK.size))
        for offset in (SIZE + 1, 2**40, 2**63 - 1, -1, -(2**63)):
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await beginning(client.FollowLogs(product.FollowLogsRequest(id="r", offset=offset)), 1)
            assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
            assert f"there is nothing from {offset:,} on" in str(refused.value.details()) or offset < 0


def put(folder: Path, at: int, data: bytes) -> None:
    """Write some bytes of the log, which are within one piece, into the file of their stream."""
    number, within = divmod(at, PIECE)
    with (folder / ("stderr" if number % 2 else "stdout")).open("r+b") as file:
        file.seek(number // 2 * PIECE + within)
        file.write(data)


def expected(marked: list[int], offset: int, size: int) -> bytes:
    """What stands at a place of the log."""
    found = bytearray(size)
    for at in marked:
        for number, byte in enumerate(MARK.pack(at)):
            if 0 <= at + number - offset < size:
                found[at + number - offset] = byte
    return bytes(found)


async def beginning(call: Any, size: int) -> bytes:
    """The first bytes of a stream, which is given up then."""
    found = b""
    async for piece in call:
        found += piece.data if hasattr(piece, "data") else piece.stream
        if len(found) >= size:
            call.cancel()
            break
    return found[:size]


LINE = "0123456789abcde"


async def test_a_run_that_writes_more_than_two_gigabytes(tmp_path: Path) -> None:
    """By the document's call whoever stays gets all of it, and whoever comes again gets it from the last number on."""
    size = 2**31 + 2**24
    last = 2**31 - 1
    async with served(tmp_path) as service, service.client() as client, service.product() as second:
        await client.Run(script("r", f"yes {LINE} | head -c {size}", service.work))
        got = 0
        async for piece in client.FollowIO(messages.FollowIORequest(id="r")):
            assert piece.stream[:16] == text(got, 16)[: len(piece.stream)]
            got += len(piece.stream)
        assert got == size
        rest = [one.stream async for one in client.FollowIO(messages.FollowIORequest(id="r", read_stdout=last))]
        assert b"".join(rest) == text(last, size - last)
        for offset in (last, last + 1, last + 2):
            data = [one.data async for one in second.FollowLogs(product.FollowLogsRequest(id="r", offset=offset))]
            assert b"".join(data) == text(offset, size - offset)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await beginning(client.FollowIO(messages.FollowIORequest(id="r", read_stdout=-(2**31))), 1)
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert "FollowLogs" in str(refused.value.details())
        async with service.channel() as channel:
            again = b"".join([data async for _, data in output(channel, "r", Offsets(stdout=last))])
            assert again == text(last, size - last)
            with pytest.raises(TooLarge, match="more than 2,147,483,647 bytes"):
                await anext(output(channel, "r", Offsets(stdout=last + 1)))
        await second.Close(product.CloseRequest(id="r"))


def text(offset: int, size: int) -> bytes:
    """What the lines are from a place on."""
    line = f"{LINE}\n".encode()
    start = offset % len(line)
    return (line * (size // len(line) + 2))[start : start + size]
