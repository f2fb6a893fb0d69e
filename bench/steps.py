"""Steps: what one costs beside the command that it runs, how quickly output is followed, and what a follower weighs."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Any, Final

import psutil

from bench.options import Options
from bench.rows import Row, Side
from domain.steps.definition import Definition, Spec
from domain.steps.environment import Environment, Exports
from domain.steps.reading import read_calls
from domain.steps.results import StepStatus
from steps.engine.ending import Ending
from steps.engine.every_finder import every_finder
from steps.engine.finding import Found
from steps.engine.log_files import open_log
from steps.engine.result_files import ResultFiles
from steps.engine.running import StepRun
from steps.grpc_library import grpc
from steps.proto import step_runner_pb2 as messages
from steps.proto.step_runner_pb2_grpc import StepRunnerStub

STEPS: Final = 300
BYTES: Final = 512 * 1024 * 1024
FOLLOWERS: Final = 1_000
MAX_STEP: Final = 1.5
MIN_FOLLOWED: Final = 0.3
_ROOT: Final = Path(__file__).resolve().parents[1]
_SERVICE: Final = (
    "import asyncio, sys; from pathlib import Path; from steps.service.serve import serve\n"
    "asyncio.run(serve(Path(sys.argv[1]), Path(sys.argv[2])))"
)
_WRITE: Final = f"head -c {BYTES} /dev/zero"


def rows(options: Options) -> list[Row]:
    """Medians of interleaved runs."""
    spawned = [(_bare_spawns(), _steps()) for _ in range(options.runs)]
    followed = asyncio.run(_followed(options.runs))
    idle = asyncio.run(_idle_followers())
    megabytes = BYTES / 1024**2
    return [
        Row("command alone", 1_000 * median(bare for bare, _ in spawned) / STEPS, "ms"),
        Row("step that does nothing", 1_000 * median(step for _, step in spawned) / STEPS, "ms"),
        Row("step / command", median(step / bare for bare, step in spawned), "ratio", MAX_STEP, Side.AT_MOST),
        Row("pipe", megabytes / median(pipe for pipe, _ in followed), "MiB/s"),
        Row("FollowIO", megabytes / median(follow for _, follow in followed), "MiB/s"),
        Row("FollowIO / pipe", median(pipe / follow for pipe, follow in followed), "ratio", MIN_FOLLOWED),
        Row(f"idle followers, {FOLLOWERS:,}: memory of the service each", idle / FOLLOWERS / 1024, "KiB"),
    ]


def _bare_spawns() -> float:
    """Seconds for as many processes of their own session, with pipes, one after another."""
    begun = time.perf_counter()
    for _ in range(STEPS):
        with subprocess.Popen(
            ["true"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        ) as process:
            process.communicate()
    return time.perf_counter() - begun


def _steps() -> float:
    """Seconds for as many steps of one run, each with its files and results."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "nothing").mkdir()
        (folder / "nothing/step.yml").write_text("{}\n---\nexec: {command: ['true']}\n")
        calls = json.dumps([{"name": f"s{number}", "step": "./nothing"} for number in range(STEPS)])
        ending = Ending()
        log = open_log(folder, ending)
        with (folder / "results").open("wb") as results:

            def tell(path: tuple[str, ...], result: object) -> None:
                results.write(repr((path, result)).encode())

            finder = every_finder(folder / "cache", ending, {})
            run = StepRun(folder, ResultFiles(folder), log, ending, finder, {}, dict(os.environ), tell)
            found = Found(Definition(Spec(), read_calls(calls, "steps")), folder)
            begun = time.perf_counter()
            result = run.run(found, Environment(Exports(), {}))
            took = time.perf_counter() - begun
        log.close()
    if result.status is not StepStatus.SUCCESS:
        raise RuntimeError(result.failure)
    return took


@asynccontextmanager
async def _service() -> AsyncIterator[tuple[StepRunnerStub, psutil.Process, Path]]:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "private/s"
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", _SERVICE, str(path), f"{name}/state", cwd=_ROOT, stderr=asyncio.subprocess.PIPE
        )
        assert process.stderr is not None
        await process.stderr.readline()
        async with grpc.aio.insecure_channel(f"unix:{path}") as channel:
            yield StepRunnerStub(channel), psutil.Process(process.pid), Path(name)
        process.send_signal(signal.SIGTERM)
        await process.wait()


async def _followed(runs: int) -> list[tuple[float, float]]:
    """Seconds for the same bytes by a pipe and by the service."""
    found = []
    async with _service() as (stub, _, folder):
        for number in range(runs):
            pipe = _by_pipe()
            begun = time.perf_counter()
            await stub.Run(_script(f"r{number}", _WRITE, folder))
            size = 0
            async for piece in stub.FollowIO(messages.FollowIORequest(id=f"r{number}")):
                size += len(piece.stream)
            if size != BYTES:
                raise RuntimeError(f"{size:,} of {BYTES:,} bytes came")
            found.append((pipe, time.perf_counter() - begun))
    return found


def _by_pipe() -> float:
    begun = time.perf_counter()
    with subprocess.Popen(["sh", "-c", _WRITE], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        while process.stdout.read(65_536):
            pass
    return time.perf_counter() - begun


async def _idle_followers() -> float:
    """Bytes by which the service grows while followers wait for a run that says nothing."""
    async with _service() as (stub, process, folder):
        await stub.Run(_script("idle", "echo begun; exec sleep 600", folder))
        first = stub.FollowIO(messages.FollowIORequest(id="idle"))
        await first.read()
        before = process.memory_info().rss
        calls = [stub.FollowIO(messages.FollowIORequest(id="idle")) for _ in range(FOLLOWERS)]
        await asyncio.gather(*(call.read() for call in calls))
        grown = process.memory_info().rss - before
        for call in (first, *calls):
            call.cancel()
        await stub.Cancel(messages.CancelRequest(id="idle"))
    return float(grown)


def _script(run_id: str, text: str, folder: Path) -> Any:
    return messages.RunRequest(id=run_id, work_dir=str(folder), type=messages.RunRequest.script, ci_script=text)
