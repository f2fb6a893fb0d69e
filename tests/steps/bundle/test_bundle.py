"""The step runner where there is busybox and a C library, and no Python: it serves, and its runs outlive it."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from steps.bundle.making import NAME
from steps.dialing import by_command, dialed
from steps.engine.run_folder import RunFolder
from steps.engine.run_process import MARK
from steps.grpc_library import grpc
from steps.proto import step_runner_pb2 as messages
from steps.proto.step_runner_pb2_grpc import StepRunnerStub
from tests.program import ROOT
from tests.steps.bundle.bare_root import BareRoot, bare_root
from tests.steps.oci.registries import RunningRegistry, running_registry
from tests.steps.service.serving import script, steps
from tests.waiting import eventually

pytestmark = [
    pytest.mark.slow,  # half a minute for a bundle; all else about it takes seconds
    pytest.mark.skipif(os.getuid() != 0, reason="not run: only root has a root of its own"),
]
ABSENT = ("temporalio", "sqlalchemy", "sqlmodel", "fastapi", "starlette", "uvicorn", "aiohttp", "cryptography", "boto3")
"""Of the server, or only of tests."""
MAX_SIZE = 40 * 1024 * 1024
RUNS = "var/lib/perdure/step-runner/runs"
CACHE = "root/.cache/perdure/step-runner"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made as users make it."""
    made = tmp_path_factory.mktemp("bundle") / "made"
    command = [sys.executable, "-m", "cli.main", "step-runner", "bundle", "--output", str(made)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{made}: ")
    return made


@pytest.fixture
def root(tmp_path: Path, bundle: Path) -> Iterator[BareRoot]:
    found = bare_root(tmp_path / "root", bundle)
    yield found
    for process in found.processes():
        process.kill()


@asynccontextmanager
async def client(root: BareRoot) -> AsyncIterator[StepRunnerStub]:
    """A client outside, over the proxy of the bundle inside."""
    proxy = by_command(root.command("/step-runner", "step-runner", "proxy"))
    async with dialed(proxy) as address, grpc.aio.insecure_channel(address) as channel:
        yield StepRunnerStub(channel)


async def output(stub: StepRunnerStub, run_id: str, stdout: int = 0, stderr: int = 0) -> tuple[bytes, bytes]:
    """What a run writes until it ends."""
    found = {messages.FollowIOResponse.stdout: b"", messages.FollowIOResponse.stderr: b""}
    request = messages.FollowIORequest(id=run_id, read_stdout=stdout, read_stderr=stderr)
    async for piece in stub.FollowIO(request, wait_for_ready=True):
        found[piece.stream_type] += piece.stream
    return found[messages.FollowIOResponse.stdout], found[messages.FollowIOResponse.stderr]


async def status(stub: StepRunnerStub, run_id: str) -> int:
    """How far a run is."""
    jobs = (await stub.List(messages.ListRequest(), wait_for_ready=True)).jobs
    return int(next(job.status for job in jobs if job.id == run_id))


def test_it_holds_the_step_runner_alone(root: BareRoot, bundle: Path) -> None:
    from PyInstaller.archive.readers import CArchiveReader

    assert root.call("/step-runner", "--help").returncode == 0
    assert bundle.stat().st_size < MAX_SIZE
    (place,) = (root.path / CACHE).iterdir()
    modules = CArchiveReader(str(place / NAME)).open_embedded_archive("PYZ.pyz").toc
    tops = {name.partition(".")[0] for name in modules}
    assert {"steps", "domain", "grpc", "oras", "cli"} <= tops
    assert not tops & set(ABSENT)
    assert not {"settings", "api", "application", "models", "workflows", "fleet", "tests"} & tops
    inner = place / "_internal"
    files = {str(path.relative_to(inner)) for path in inner.rglob("*") if path.is_file()}
    assert {"steps/builtin/script/step.yml", "steps/proto/step_runner.proto"} <= files
    assert not {name.partition("/")[0] for name in files} & set(ABSENT)


@pytest.mark.parametrize("word", [(), ("step-runner",)])
def test_its_commands_are_those_of_the_step_runner(root: BareRoot, word: tuple[str, ...]) -> None:
    (root.path / "work/step.yml").write_text("{}\n---\nexec: {command: [echo, ran]}\n")
    assert (done := root.call("/step-runner", *word, "lint", "/work")).returncode == 0, done.stderr
    assert (done := root.call("/step-runner", *word, "run", "/work")).stdout == "ran\n", done.stderr
    assert "No such command 'bundle'" in root.call("/step-runner", *word, "bundle", "--output", "/x").stderr
    assert root.call("/step-runner", *word, "list").stderr.startswith("Error: no step runner answers at /run/perdure/")
    assert root.call("/step-runner", *word, "proxy").stderr.startswith("Error: no step runner listens at /run/perdure/")


async def test_runs_are_followed_from_outside(root: BareRoot) -> None:
    service = await root.serve(LD_LIBRARY_PATH="/theirs", SECRET="kept")
    calls: list[dict[str, Any]] = [
        {"name": "a", "script": "printf 'a\\377\\000\\n\\n'; echo e >&2"},
        {"name": "b", "step": "builtin://script", "inputs": {"script": "seq 1 100000; pwd; env"}},
    ]
    async with client(root) as stub:
        await stub.Run(steps("r", json.dumps(calls), Path("/work")), wait_for_ready=True)
        out, error = await output(stub, "r")
        assert await status(stub, "r") == messages.Job.suceeded, error
        begin = b"a\xff\0\n\n" + b"".join(b"%d\n" % number for number in range(1, 100_001)) + b"/work\n"
        assert out.startswith(begin)
        assert error == b"e\n"
        env = dict(line.split("=", 1) for line in out[len(begin) :].decode().splitlines())
        assert (env["LD_LIBRARY_PATH"], env["SECRET"]) == ("/theirs", "kept"), "as they were before the bundle"
        assert not [
            name for name in env if name.startswith(("_PYI", "_MEI", "LD_LIBRARY_PATH_", "PYTHON", "PERDURE_BUNDLE"))
        ]
        assert await output(stub, "r", 100, 1) == (out[100:], error[1:])
    service.terminate()
    await service.wait()


async def test_a_run_goes_on_when_the_service_is_killed(root: BareRoot) -> None:
    """It is the service that is killed: the file has become it, and is not its parent."""
    service = await root.serve()
    wait = "echo begun; while [ ! -e {name} ]; do sleep 0.05; done; echo ended"
    runs = root.path / RUNS
    async with client(root) as stub:
        for name in ("one", "two"):
            await stub.Run(script(name, wait.format(name=name), Path("/work")), wait_for_ready=True)

            async def begun(name: str = name) -> bool:
                return (runs / name / "stdout").exists() and (runs / name / "stdout").stat().st_size > 0

            await eventually(begun, "the script has begun")
        following = asyncio.create_task(output(stub, "one"))
        assert psutil.Process(service.pid).cmdline()[-1] == "serve"
        service.send_signal(signal.SIGKILL)
        await service.wait()
        with pytest.raises(grpc.aio.AioRpcError):
            await following
    (root.path / "work/one").touch()

    async def has_ended() -> bool:
        return not RunFolder(runs / "one").is_held

    await eventually(has_ended, "the first run ends while there is no service")
    again = await root.serve()
    async with client(root) as stub:
        assert await status(stub, "one") == messages.Job.suceeded
        assert await status(stub, "two") == messages.Job.running
        (root.path / "work/two").touch()
        assert await output(stub, "two") == (b"begun\nended\n", b"")
        assert await output(stub, "one", 6) == (b"ended\n", b"")
    left = [process.cmdline() for process in root.processes() if process.environ().get(MARK)]
    assert left == [], "nothing of them is left"
    again.kill()
    await again.wait()


async def test_nothing_piles_up(root: BareRoot) -> None:
    first = await asyncio.gather(*(asyncio.to_thread(root.call, "/step-runner", "list") for _ in range(10)))
    assert all("no step runner answers" in one.stderr for one in first)
    service = await root.serve()
    for _ in range(10):
        command = root.command("/step-runner", "proxy")
        proxy = await asyncio.create_subprocess_exec(*command, env=root.environment(), stdin=asyncio.subprocess.PIPE)
        proxy.kill()
        await proxy.wait()
    service.kill()
    await service.wait()
    assert list((root.path / "tmp").iterdir()) == []
    assert len(list((root.path / CACHE).iterdir())) == 1


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[RunningRegistry]:
    with running_registry(tmp_path / "registry") as found:
        yield found


async def test_built_in_steps_need_no_python(root: BareRoot, registry: RunningRegistry) -> None:
    """They call the bundle."""
    (root.path / "work/say").mkdir()
    (root.path / "work/say/step.yml").write_text("{}\n---\nexec: {command: [cat, '${{ step_dir }}/text']}\n")
    (root.path / "work/say/text").write_text("said\n")
    image = {"registry": registry.address, "repository": "say", "tag": "1"}
    calls = [
        {"name": "publish", "step": "builtin://oci/publish", "inputs": {**image, "folder": "say"}},
        {"name": "use", "step": f"{registry.address}/say:1"},
        {"name": "fetch", "step": "builtin://oci/fetch", "inputs": image},
        {"name": "look", "script": "ls ${{ steps.fetch.outputs.folder }}"},
    ]
    definition = json.dumps({"run": calls})
    (root.path / "work/step.yml").write_text(f"{{}}\n---\n{definition}\n")
    done = await asyncio.to_thread(root.call, "/step-runner", "run", "/work/step.yml")
    assert done.returncode == 1, "it runs in the folder in which it is called"
    done = await asyncio.to_thread(root.call, "sh", "-c", "cd /work && exec /step-runner run step.yml")
    assert done.returncode == 0, done.stderr
    digest, said, *rest = done.stdout.splitlines()
    assert (said, rest) == ("said", [digest, "step.yml", "text"])
