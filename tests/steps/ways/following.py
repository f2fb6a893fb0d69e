"""A run of a real service, followed over a way; and a way used without gRPC."""

import asyncio
import shlex
import sys
from pathlib import Path

from steps.attached import Offsets, output
from steps.dialing import ByteStream, Open, dialed
from steps.grpc_library import grpc
from steps.proto.step_runner_pb2_grpc import StepRunnerStub
from tests.steps.service.serving import ROOT, Served, script
from tests.steps.service.writes import content

WRITES = ROOT / "tests/steps/service/writes.py"
MEBIBYTE = 1024 * 1024
# `grpc.min_reconnect_backoff_ms` is not among them: gRPC gives up what takes longer to connect, as SSH does.
_QUICK = (
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 200),
    ("grpc.use_local_subchannel_pool", 1),
)


def proxy_to(service: Served) -> tuple[str, ...]:
    """The command that joins its ends with the socket of a service."""
    return ("env", f"PYTHONPATH={ROOT}", sys.executable, "-m", "steps.proxy", str(service.path))


async def follow(open_stream: Open, service: Served, size: int = MEBIBYTE) -> None:
    """Start a run over a way that writes so much to both streams, and see that all bytes come once, in order."""
    got = {False: bytearray(), True: bytearray()}
    async with dialed(open_stream) as address, grpc.aio.insecure_channel(address, options=_QUICK) as channel:
        command = shlex.join((sys.executable, str(WRITES), "way", str(size)))
        request = script("r", command, service.work)
        async with asyncio.timeout(30):
            while True:
                try:
                    await StepRunnerStub(channel).Run(request, wait_for_ready=True)
                    break
                except grpc.aio.AioRpcError as error:  # the connection was cut: the same request starts nothing anew
                    if error.code() is not grpc.StatusCode.UNAVAILABLE:
                        raise
            async for is_error, data in output(channel, "r", Offsets()):
                got[is_error] += data
    assert got[False] == content("out way", size)
    assert got[True] == content("err way", size)


async def exchanged(stream: ByteStream, data: bytes) -> bytes:
    """What comes back for this input, all of which is sent and then closed. Raises what reading raises."""

    async def send() -> None:
        await stream.write(data)
        await stream.end()

    sending = asyncio.create_task(send())
    try:
        async with asyncio.timeout(20):
            got = bytearray()
            while piece := await stream.read():
                got += piece
            await sending
            return bytes(got)
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        await stream.close()


def echo(folder: Path) -> tuple[str, ...]:
    """A command that copies its input to its output, and says something on its standard error beside."""
    code = folder / "echo.py"
    code.write_text(
        "import os\n"
        "count = 0\n"
        "while data := os.read(0, 50_000):\n"
        "    while data:\n"
        "        data = data[os.write(1, data):]\n"
        "    os.write(2, b'line %d\\n' % count)\n"
        "    count += 1\n"
        "os.write(1, b'end')\n"
    )
    return (sys.executable, str(code))
