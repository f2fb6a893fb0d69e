"""The service is killed and started again, and so are processes of runs: nothing is lost or left over."""

import asyncio
import contextlib
import os
import random
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from steps.engine.run_folder import RunFolder
from steps.grpc_library import grpc
from steps.proto import step_runner_pb2 as messages
from tests.steps.service.serving import Served, script, served
from tests.waiting import eventually


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as found:
        yield found


async def has_begun(service: Served, run_id: str) -> None:
    """Wait until a script has written something."""

    async def written() -> bool:
        path = service.root / run_id / "stdout"
        return path.exists() and path.stat().st_size > 0

    await eventually(written, "the script has begun")


async def test_runs_go_on_while_the_service_is_dead(service: Served) -> None:
    """One ends meanwhile, one is at work when it comes back."""
    wait = "echo begun; while [ ! -e {name} ]; do sleep 0.05; done; echo ended"
    async with service.client() as client:
        for name in ("one", "two"):
            await client.Run(script(name, wait.format(name=name), service.work))
            await has_begun(service, name)
    await service.kill()
    (service.work / "one").touch()

    async def has_ended() -> bool:
        return not RunFolder(service.root / "one").is_held

    await eventually(has_ended, "the first one ends")
    await service.start()
    assert await service.status("one") == messages.Job.suceeded
    assert await service.status("two") == messages.Job.running
    following = asyncio.create_task(service.output("two"))
    (service.work / "two").touch()
    assert await following == (b"begun\nended\n", b"")
    assert await service.output("one", 6) == (b"ended\n", b"")


async def test_of_a_run_whose_process_is_killed_nothing_is_left(service: Served) -> None:
    async with service.client() as client:
        await client.Run(script("r", "echo begun; (setsid sleep 600 &); sleep 600", service.work))
        await has_begun(service, "r")
        os.kill(RunFolder(service.root / "r").state().pid, signal.SIGKILL)
        assert await service.ended("r") == messages.Job.lost
        (job,) = (await client.List(messages.ListRequest())).jobs
    assert job.message == "the process of the run was killed, or the machine has started anew"
    assert not service.left()
    assert await service.output("r") == (b"begun\n", b""), "what it wrote is there, and its followers come to an end"


async def test_what_was_lost_while_the_service_was_dead_is_ended_when_it_comes_back(service: Served) -> None:
    async with service.client() as client:
        await client.Run(script("r", "echo begun; sleep 600", service.work))
    await has_begun(service, "r")
    await service.kill()
    os.kill(RunFolder(service.root / "r").state().pid, signal.SIGKILL)
    assert len(service.left()) >= 1
    await service.start()
    assert await service.ended("r") == messages.Job.lost
    assert not service.left()


async def test_a_living_socket_is_not_taken_and_a_dead_one_is(service: Served) -> None:
    other = Served(service.folder)
    with pytest.raises(AssertionError, match=r"listens at .* already"):
        await other.start()
    async with service.client() as client:
        await client.List(messages.ListRequest())
    await service.kill()
    assert service.path.exists(), "it was killed, and has taken nothing away"
    await service.start()
    async with service.client() as client:
        await client.List(messages.ListRequest())
    await service.kill(signal.SIGTERM)
    assert not service.path.exists()


@pytest.mark.slow  # 12 deaths of the service under followers
async def test_a_follower_gets_every_byte_once_whatever_dies(service: Served) -> None:
    text = "for n in $(seq 20000); do echo $n; echo e$n >&2; done"
    async with service.client() as client:
        await client.Run(script("r", text, service.work))
    chance, got = random.Random(7), {0: b"", 1: b""}
    for death in range(13):
        with contextlib.suppress(grpc.aio.AioRpcError):
            async with service.client() as client:
                request = messages.FollowIORequest(id="r", read_stdout=len(got[0]), read_stderr=len(got[1]))
                pieces = 0
                async for piece in client.FollowIO(request):
                    got[piece.stream_type] += piece.stream
                    pieces += 1
                    if death < 12 and pieces == chance.randint(1, 3):
                        await service.kill()
                        break
        if death < 12:
            if service.process is not None and service.process.returncode is None:
                await service.kill()
            await service.start()
    assert got[0] == b"".join(b"%d\n" % n for n in range(1, 20001))
    assert got[1] == b"".join(b"e%d\n" % n for n in range(1, 20001))
