"""Followers of a run whose steps do to its log what they should not: each comes to an end, with a sentence."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from steps.grpc_library import grpc
from steps.proto import runs_pb2 as product
from steps.proto import step_runner_pb2 as messages
from tests.steps.service.serving import Served, script, served


@pytest.fixture(scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    async with served(tmp_path_factory.mktemp("following")) as found:
        yield found


@pytest.mark.parametrize(
    ("name", "done", "streams", "log"),
    [
        ("pipe", "rm $log; mkfifo $log", "the run wrote 0 bytes to stdout", "cannot be read: Illegal seek"),
        ("link", "ln -sf /etc/passwd $log", "cannot be read: Too many levels", "cannot be read: Too many levels"),
        ("folder", "rm $log; mkdir $log", "cannot be read: Is a directory", "cannot be read: Is a directory"),
        ("shorter", "truncate -s 2 $log", "the run wrote 2 bytes to stdout", "is shorter than it was"),
    ],
)
async def test_a_log_that_is_not_what_it_was(service: Served, name: str, done: str, streams: str, log: str) -> None:
    """For whoever has followed it before, by the streams and by the log, and for whoever comes afterwards."""
    wait = f"while [ ! -e {name} ]; do sleep 0.02; done"
    text = f"log=$PERDURE_STEP_RUN/stdout; echo begun; {wait}; {done}; echo ended >&2"
    async with asyncio.timeout(30), service.client() as client, service.product() as second:
        await client.Run(script(name, text, service.work))
        before = client.FollowIO(messages.FollowIORequest(id=name))
        assert (await before.read()).stream == b"begun\n"
        (service.work / name).touch()
        assert streams in await end(before)
        assert log in await end(second.FollowLogs(product.FollowLogsRequest(id=name)))
        await second.Close(product.CloseRequest(id=name))
    assert not (service.root / name).exists()


async def end(call: Any) -> str:
    """What a stream ends with."""

    async def read() -> None:
        while await call.read() is not grpc.aio.EOF:
            pass

    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await read()
    assert refused.value.code() in {grpc.StatusCode.NOT_FOUND, grpc.StatusCode.INVALID_ARGUMENT}
    return str(refused.value.details())
