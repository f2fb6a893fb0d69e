"""A service of its own process, which may be killed and started again, and clients of it."""

import asyncio
import resource
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from steps.grpc_library import grpc
from steps.proto import step_runner_pb2 as messages
from steps.proto.runs_pb2_grpc import RunsStub
from steps.proto.step_runner_pb2_grpc import StepRunnerStub
from tests.steps.marked_processes import marked
from tests.waiting import eventually

ROOT = Path(__file__).resolve().parents[3]
HEADER = "{}\n---\n"


def script(run_id: str, text: str, folder: Path, **more: Any) -> messages.RunRequest:
    """A request to run a script."""
    return messages.RunRequest(id=run_id, work_dir=str(folder), type=messages.RunRequest.script, ci_script=text, **more)


def steps(run_id: str, text: str, folder: Path, **more: Any) -> messages.RunRequest:
    """A request to run steps, as a list."""
    return messages.RunRequest(
        id=run_id, work_dir=str(folder), type=messages.RunRequest.step, steps_yaml=f"{HEADER}run: {text}\n", **more
    )


@dataclass
class Served:
    """A service, and where its things are."""

    folder: Path
    kept: float = 3600.0
    descriptors: int = 0
    """How many the service may have open; 0 for as many as this process."""
    process: asyncio.subprocess.Process | None = None
    errors: list[str] = field(default_factory=list)

    @property
    def path(self) -> Path:
        """Its socket."""
        return self.folder / "private/s.sock"

    @property
    def root(self) -> Path:
        """Where its runs are."""
        return self.folder / "state/runs"

    @property
    def work(self) -> Path:
        """A folder for jobs."""
        return self.folder / "build"

    async def start(self) -> None:
        """Start it; it answers when this returns."""
        code = (
            "import asyncio, sys; from pathlib import Path; from steps.service.serve import serve\n"
            "asyncio.run(serve(Path(sys.argv[1]), Path(sys.argv[2]), kept=float(sys.argv[3])))"
        )
        self.process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", code, str(self.path), str(self.root.parent), str(self.kept),
            cwd=ROOT, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        if self.descriptors:
            resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE, (self.descriptors, self.descriptors))
        assert self.process.stderr is not None
        while line := (await self.process.stderr.readline()).decode():
            self.errors.append(line)
            if "is listening on socket" in line:
                return
        raise AssertionError("".join(self.errors))

    async def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """End it."""
        assert self.process is not None
        self.process.send_signal(number)
        await self.process.wait()

    @asynccontextmanager
    async def channel(self) -> AsyncIterator[grpc.aio.Channel]:
        """A connection."""
        async with grpc.aio.insecure_channel(f"unix:{self.path}") as found:
            yield found

    @asynccontextmanager
    async def client(self) -> AsyncIterator[StepRunnerStub]:
        """The five calls."""
        async with self.channel() as channel:
            yield StepRunnerStub(channel)

    @asynccontextmanager
    async def product(self) -> AsyncIterator[RunsStub]:
        """The calls of the second service."""
        async with self.channel() as channel:
            yield RunsStub(channel)

    async def status(self, run_id: str) -> int:
        """How far a run is."""
        async with self.client() as client:
            found = await client.List(messages.ListRequest())
        return int(next(job.status for job in found.jobs if job.id == run_id))

    async def ended(self, run_id: str) -> int:
        """How a run has ended."""

        async def end() -> int | None:
            found = await self.status(run_id)
            return found if found != messages.Job.running else None

        return await eventually(end, f"run {run_id} has ended")

    async def output(self, run_id: str, stdout: int = 0, stderr: int = 0) -> tuple[bytes, bytes]:
        """What a run writes to both streams until it ends."""
        found = {messages.FollowIOResponse.stdout: b"", messages.FollowIOResponse.stderr: b""}
        async with self.client() as client:
            request = messages.FollowIORequest(id=run_id, read_stdout=stdout, read_stderr=stderr)
            async for piece in client.FollowIO(request):
                found[piece.stream_type] += piece.stream
        return found[messages.FollowIOResponse.stdout], found[messages.FollowIOResponse.stderr]

    def left(self) -> list[psutil.Process]:
        """Processes of runs of this service."""
        return marked(self.root)


@asynccontextmanager
async def served(folder: Path, **options: Any) -> AsyncIterator[Served]:
    """A service that is there until the block ends; its runs end then, too."""
    found = Served(folder, **options)
    await found.start()
    try:
        yield found
    finally:
        if found.process is not None and found.process.returncode is None:
            await found.kill(signal.SIGTERM)
        for process in psutil.process_iter():
            try:
                if str(found.root) in " ".join(process.cmdline()) or process in found.left():
                    process.kill()
            except psutil.Error:
                continue
