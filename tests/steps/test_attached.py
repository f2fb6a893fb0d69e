"""A run is followed over connections that are cut, however long it is silent."""

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from domain.errors import Unavailable
from steps.attached import Offsets, events
from steps.dialing import ByteStream, by_command, dialed
from steps.grpc_library import grpc
from steps.proto.step_runner_pb2_grpc import StepRunnerStub
from tests.steps.service.serving import Served, script, served
from tests.waiting import comes_true

PATIENCE = 1.0


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as found:
        yield found


async def test_a_run_that_was_silent_for_longer_than_anybody_waits_is_found_again(service: Served) -> None:
    service.work.mkdir()
    os.mkfifo(service.work / "go")
    proxy, streams = by_command((sys.executable, "-m", "steps.proxy", str(service.path))), []

    async def opened() -> ByteStream:
        streams.append(await proxy())
        return streams[-1]

    async with dialed(opened) as address, grpc.aio.insecure_channel(address) as channel:
        await StepRunnerStub(channel).Run(script("r", "echo before; cat go; echo after", service.work))
        log, times = b"", []

        async def follow() -> None:
            nonlocal log
            async for event in events(channel, "r", Offsets(), PATIENCE):
                log += event.data
                times.append(time.monotonic())

        following = asyncio.create_task(follow())
        await comes_true(lambda: log == b"before\n", "the run is followed")
        await comes_true(lambda: time.monotonic() - times[-1] > 1.5 * PATIENCE, "it is silent for a while")
        await streams[-1].close()
        await comes_true(lambda: len(streams) == 2, "somebody dials again")
        (service.work / "go").write_text("middle\n")
        await following
    assert log == b"before\nmiddle\nafter\n"


async def test_nobody_waits_for_ever_for_a_service_that_is_gone(service: Served) -> None:
    async with service.channel() as channel:
        await StepRunnerStub(channel).Run(script("r", "echo before; exec sleep 600", service.work))
        following = events(channel, "r", Offsets(), PATIENCE)
        while not (await anext(following)).data:
            pass
        await service.kill()
        with pytest.raises(Unavailable, match=r"out of reach for 1 s"):
            _ = [event async for event in following]


async def test_what_is_no_cut_is_told_as_it_is(service: Served) -> None:
    async with service.channel() as channel:
        with pytest.raises(grpc.aio.AioRpcError) as error:
            _ = [event async for event in events(channel, "nobody", Offsets(), PATIENCE)]
    assert error.value.code() is grpc.StatusCode.NOT_FOUND
