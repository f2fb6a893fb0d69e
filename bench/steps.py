"""Steps: what one costs beside the command that it runs, how quickly output is followed, and what a follower weighs.

Output is followed of a command that makes lines, as those of jobs do, and of one whose bytes cost nothing to make. The
second one shows what copying costs, and has no bar: a pipe hands over pages, and gRPC carries messages.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
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
from steps.engine.run_folder import RESULTS
from steps.engine.run_process import Results
from steps.engine.running import StepRun
from steps.grpc_library import grpc
from steps.proto import step_runner_pb2 as messages
from steps.proto.step_runner_pb2_grpc import StepRunnerStub

STEPS: Final = 300
FOLLOWERS: Final = 1_000
MAX_STEP: Final = 1.5
MIN_FOLLOWED: Final = 0.3
_ROOT: Final = Path(__file__).resolve().parents[1]
_SERVICE: Final = (
    "import asyncio, sys; from pathlib import Path; from steps.service.serve import serve\n"
    "asyncio.run(serve(Path(sys.argv[1]), Path(sys.argv[2])))"
)
_WRITERS: Final = {"lines": "seq 60000000", "zeros": "head -c 536870912 /dev/zero"}
"""Half a GiB each."""


def rows(options: Options) -> list[Row]:
    """Medians of interleaved runs."""
    spawned = [(_bare_spawns(), _steps()) for _ in range(options.runs)]
    followed = {name: asyncio.run(_followed(text, options.runs)) for name, text in _WRITERS.items()}
    idle = asyncio.run(_idle_followers())
    return [
        Row("command alone", 1_000 * median(bare for bare, _ in spawned) / STEPS, "ms"),
        Row("step that does nothing", 1_000 * median(step for _, step in spawned) / STEPS, "ms"),
        Row("step / command", median(step / bare for bare, step in spawned), "ratio", MAX_STEP, Side.AT_MOST),
        *(row for name, rates in followed.items() for row in _rates(name, rates)),
        Row(f"idle followers, {FOLLOWERS:,}: memory of the service each", idle / FOLLOWERS / 1024, "KiB"),
    ]


def _rates(name: str, rates: Sequence[tuple[float, float]]) -> list[Row]:
    """Rows of one writer."""
    ratio = median(follow / pipe for pipe, follow in rates)
    return [
        Row(f"{name} by a pipe", median(pipe for pipe, _ in rates), "MiB/s"),
        Row(f"{name} by FollowIO", median(follow for _, follow in rates), "MiB/s"),
        Row(f"{name}: FollowIO / pipe", ratio, "ratio", MIN_FOLLOWED if name == "lines" else None),
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
        with (folder / RESULTS).open("wb") as file:
            tell = Results(file.fileno(), folder).tell
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
        try:
            await process.stderr.readline()
            async with grpc.aio.insecure_channel(f"unix:{path}") as channel:
                yield StepRunnerStub(channel), psutil.Process(process.pid), Path(name)
        finally:
            process.send_signal(signal.SIGTERM)
            await process.wait()


async def _followed(text: str, runs: int) -> list[tuple[float, float]]:
    """MiB a second of the same bytes by a pipe and by the service, from the start of the command to its end."""
    found = []
    async with _service() as (stub, _, folder):
        for number in range(runs):
            expected, by_pipe = _by_pipe(text)
            begun = time.perf_counter()
            await stub.Run(_script(f"r{number}", text, folder))
            size = 0
            async for piece in stub.FollowIO(messages.FollowIORequest(id=f"r{number}")):
                size += len(piece.stream)
            if size != expected:
                raise RuntimeError(f"{size:,} of {expected:,} bytes came")
            found.append((by_pipe, size / 1024**2 / (time.perf_counter() - begun)))
    return found


def _by_pipe(text: str) -> tuple[int, float]:
    begun, size = time.perf_counter(), 0
    with subprocess.Popen(["sh", "-c", text], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        while data := process.stdout.read(65_536):
            size += len(data)
    return size, size / 1024**2 / (time.perf_counter() - begun)


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
