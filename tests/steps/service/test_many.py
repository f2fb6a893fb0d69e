"""Many runs at once, many followers that are cut, many proxies that are killed: each byte comes once, in its order."""

import asyncio
import contextlib
import random
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from steps.attached import Offsets, output, results
from steps.dialing import ByteStream, ProcessStream, by_command, dialed
from steps.grpc_library import grpc
from steps.proto import step_runner_pb2 as messages
from steps.proto.step_runner_pb2_grpc import StepRunnerStub
from tests.steps.service.serving import Served, script, served, steps
from tests.steps.service.writes import content

pytestmark = pytest.mark.slow  # fifty processes at once, and two hundred deaths

RUNS = 50
FOLLOWERS = 10
WRITES = Path(__file__).parent / "writes.py"


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as found:
        yield found


async def test_fifty_runs_at_once_whose_followers_are_cut(service: Served) -> None:
    """Three steps each, of a MiB on both streams."""
    size = 1024 * 1024
    calls = [f"{{name: s{step}, script: '{sys.executable} {WRITES} $RUN-{step} {size}'}}" for step in range(3)]
    text = f"[{', '.join(calls)}]"
    async with service.client() as client:
        requests = [steps(f"r{run}", text, service.work, env={"RUN": f"r{run}"}) for run in range(RUNS)]
        await asyncio.gather(*(client.Run(request) for request in requests))
    chance = random.Random(11)
    follows = [_followed(service, f"r{run}", chance.random()) for run in range(RUNS)]
    follows += [_followed(service, f"r{chance.randrange(RUNS)}", chance.random()) for _ in range(FOLLOWERS - 1)]
    for run_id, out, error in await asyncio.gather(*follows):
        assert out == b"".join(content(f"out {run_id}-{step}", size) for step in range(3)), run_id
        assert error == b"".join(content(f"err {run_id}-{step}", size) for step in range(3)), run_id
    async with service.client() as client:
        jobs = (await client.List(messages.ListRequest())).jobs
    assert {job.status for job in jobs} == {messages.Job.suceeded}
    assert not service.left()


async def _followed(service: Served, run_id: str, seed: float) -> tuple[str, bytes, bytes]:
    """Follow a run by several connections, each cut at a random place."""
    chance, got = random.Random(seed), {0: bytearray(), 1: bytearray()}
    while True:
        cut = chance.randrange(1, 40)
        request = messages.FollowIORequest(id=run_id, read_stdout=len(got[0]), read_stderr=len(got[1]))
        async with service.client() as client:
            call = client.FollowIO(request)
            async for piece in call:
                got[piece.stream_type] += piece.stream
                cut -= 1
                if not cut:
                    call.cancel()
                    break
            else:
                return run_id, bytes(got[0]), bytes(got[1])


async def test_two_hundred_proxies_are_killed_in_the_middle(service: Served) -> None:
    """The run writes until the last one is dead: each is killed while bytes come through it."""
    dead, streams = 0, []
    proxy = by_command((sys.executable, "-m", "steps.proxy", str(service.path)))

    async def opened() -> ByteStream:
        stream = await proxy()
        assert isinstance(stream, ProcessStream)
        streams.append(stream)
        return stream

    async with service.client() as client:
        both = "echo line $n; echo error $n >&2; n=$((n+1)); sleep 0.002"
        text = f"n=0; while [ ! -e {service.work}/stop ]; do {both}; done"
        await client.Run(script("r", text, service.work))
    got = {False: bytearray(), True: bytearray()}
    async with dialed(opened) as address, grpc.aio.insecure_channel(address, options=_QUICK) as channel:
        async for is_error, data in output(channel, "r", Offsets()):
            got[is_error] += data
            if dead < 200 and streams[-1].process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    streams[-1].process.kill()
                await streams[-1].process.wait()
                dead += 1
                if dead == 200:
                    (service.work / "stop").touch()
        told = [result.status async for result in results(channel, "r", Offsets())]
        (job,) = (await StepRunnerStub(channel).List(messages.ListRequest())).jobs
    count = got[False].count(b"\n")
    assert got[False] == b"".join(b"line %d\n" % number for number in range(count))
    assert got[True] == b"".join(b"error %d\n" % number for number in range(count))
    assert (dead, job.status) == (200, messages.Job.suceeded)
    assert len(streams) >= 200
    assert told[-1] == messages.StepResult.success


# `grpc.min_reconnect_backoff_ms` is not among them: gRPC gives up what takes longer to connect, as a process may.
_QUICK = (
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 200),
)
