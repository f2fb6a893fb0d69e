"""The servers that are measured: a real embedded stack in a temporary folder, each part a process of its own."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import psutil

from pods.child import Child, Ready
from pods.stack import stack
from rigs.ports import free_ports
from settings import Settings

START: Final = 60.0
"""Seconds that a process has to become ready."""
STOP: Final = 20.0

_PORTS: Final = ("front", "api", "temporal", "temporal_ui", "temporal_http", "temporal_metrics")


@dataclass(frozen=True, slots=True)
class Servers:
    """What runs: the settings in force, the administrator's token (empty without an API), and the processes by name."""

    settings: Settings
    token: str
    processes: Mapping[str, psutil.Process]

    @property
    def port(self) -> int:
        """Where clients go: the front's port when there is one, else the API's."""
        return self.settings.front_port if "front" in self.processes else self.settings.api_port

    def cpu(self) -> dict[str, float]:
        """Seconds of processor time that each server has used, the children it has (or had) included."""
        return {name: cpu_seconds(process) for name, process in self.processes.items()}


def cpu_seconds(process: psutil.Process) -> float:
    """Processor time of a process, of its living children and of those it has waited for."""
    own = process.cpu_times()
    total = own.user + own.system + own.children_user + own.children_system
    for child in process.children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            times = child.cpu_times()
            total += times.user + times.system
    return float(total)


def peak_mebibytes(process: psutil.Process) -> float:
    """The most memory that a process has had."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024


@asynccontextmanager
async def running(
    *, front: bool, worker: tuple[str, ...] = (), has_api: bool = True, **changes: object
) -> AsyncIterator[Servers]:
    """Temporal and our process (and the front), ready; all are stopped and their folder removed at the end.

    `worker` replaces the command of our process, for a run under a profiler. Without an API it has the role of a
    worker, and is ready when it listens on the API's port. `changes` are fields of `Settings`. Raises `RuntimeError`
    with the end of the log of a process that does not come up.
    """
    with tempfile.TemporaryDirectory(prefix="perdure-bench-") as folder:
        settings = _settings(Path(folder), front=front, role="all" if has_api else "worker").model_copy(update=changes)
        wanted = ("front", "temporal", "api") if front else ("temporal", "api")
        children = {child.name: child for child in stack(settings)}
        if worker:
            children["api"] = replace(children["api"], argv=worker)
        if not has_api:
            children["api"] = replace(children["api"], ready=Ready(settings.host, settings.api_port))
        async with started([children[name] for name in wanted], settings.home) as processes:
            yield Servers(settings, _token(settings) if has_api else "", processes)


@asynccontextmanager
async def started(children: Sequence[Child], home: Path) -> AsyncIterator[dict[str, psutil.Process]]:
    """These children by name, each started when those before it are ready; their logs are in `home`.

    Raises `RuntimeError` as `running` does.
    """
    running_now: list[subprocess.Popen[bytes]] = []
    processes = {}
    try:
        for child in children:
            process = _start(child, home)
            running_now.append(process)
            await _ready(child, process, home)
            processes[child.name] = psutil.Process(process.pid)
        yield processes
    finally:
        for process in reversed(running_now):
            _stop(process)


def _token(settings: Settings) -> str:
    return str(json.loads((settings.home / "credentials.json").read_text())["token"])


def _settings(home: Path, *, front: bool, role: str) -> Settings:
    ports = dict(zip(_PORTS, free_ports(len(_PORTS)), strict=True))
    entrance = ports["front"] if front else ports["api"]
    return Settings(
        home=home,
        external_url=f"http://127.0.0.1:{entrance}",
        temporal_address="",
        database_url="",
        object_store="",
        log_level="WARNING",
        api_role=role,
        **{f"{name}_port": number for name, number in ports.items()},  # type: ignore[arg-type]
    )


def log_path(home: Path, name: str) -> Path:
    """Where a process writes what it has to say."""
    return home / f"{name}.log"


def _start(child: Child, home: Path) -> subprocess.Popen[bytes]:
    with log_path(home, child.name).open("wb") as log:
        return subprocess.Popen(
            child.argv, env={**os.environ, **child.env}, cwd=home, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )


async def _ready(child: Child, process: subprocess.Popen[bytes], home: Path) -> None:
    assert child.ready is not None
    deadline = asyncio.get_running_loop().time() + START
    while not await asyncio.to_thread(child.ready.ask):
        if process.poll() is not None or asyncio.get_running_loop().time() > deadline:
            tail = log_path(home, child.name).read_text(errors="replace")[-2_000:]
            raise RuntimeError(f"{child.name} does not answer at {child.ready}. The end of its log:\n{tail}")
        await asyncio.sleep(0.1)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


async def ask_module(module: str, question: Mapping[str, object]) -> dict[str, float]:
    """Run `python -m module` with JSON on standard input; the JSON of its last line. Raises `RuntimeError`.

    What comes before that line are warnings of Temporal's SDK, which writes them to standard output.
    """
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", module, stdin=pipe, stdout=pipe, stderr=pipe)
    try:
        out, err = await process.communicate(json.dumps(question).encode())
    except BaseException:
        process.kill()
        await process.wait()
        raise
    if process.returncode != 0:
        raise RuntimeError(f"{module} ended with {process.returncode}:\n{err.decode(errors='replace')[-2_000:]}")
    response: dict[str, float] = json.loads(out.splitlines()[-1])
    return response
