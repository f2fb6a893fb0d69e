"""`perdure step-runner`, as it is called."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from steps.proto import step_runner_pb2 as messages
from tests.steps.service.serving import Served, script, served
from tests.waiting import eventually

ROOT = Path(__file__).resolve().parents[2]
GREET = """\
spec:
  inputs: {who: {type: string}, times: {type: number, default: 1}}
  outputs: {line: {type: string, default: none}}
---
exec: {command: [sh, -c, 'echo "hi $0 $1"; echo warned >&2', '${{ inputs.who }}', '${{ str(inputs.times) }}']}
"""


def step_runner(
    *arguments: str, cwd: Path | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Call it."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **(env or {})}
    command: Sequence[str] = [sys.executable, "-m", "cli.main", "step-runner", *arguments]
    return subprocess.run(command, cwd=cwd or ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def greet(tmp_path: Path) -> Path:
    (tmp_path / "greet").mkdir()
    (tmp_path / "greet/step.yml").write_text(GREET)
    return tmp_path / "greet"


def test_a_step_is_run_at_once(greet: Path) -> None:
    results = greet.parent / "results.json"
    inputs = ("--input", "who=ada", "--input", "times=3")
    done = step_runner("run", "greet", *inputs, "--results", str(results), cwd=greet.parent)
    assert (done.returncode, done.stdout, done.stderr) == (0, "hi ada 3\n", "warned\n")
    document = json.loads(results.read_text())
    assert (document["status"], document["inputs"], document["outputs"]) == (
        "success",
        {"who": "ada", "times": 3},
        {"line": "none"},
    )
    assert results.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("run", "greet"), 1, "input who is missing: it has no default"),
        (("run", "greet", "--input", "whom=x"), 1, "there is no input whom; did you mean `who`?"),
        (("run", "greet", "--input", "times=x"), 2, "--input times is of type number, and 'x' is no JSON"),
        (("run", "nowhere"), 2, "there is no folder"),
        (("run", "greet", "--input", "who"), 2, "is not NAME=VALUE"),
        (("ci",), 2, "STEPS is empty"),
        (("list", "--socket", "/nowhere/s"), 5, "no step runner answers at /nowhere/s; `perdure step-runner serve`"),
        (("proxy", "--socket", "/nowhere/s"), 5, "no step runner listens at /nowhere/s"),
    ],
)
def test_what_is_wrong_says_what_to_do(greet: Path, arguments: tuple[str, ...], code: int, said: str) -> None:
    done = step_runner(*arguments, cwd=greet.parent)
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr
    assert "Traceback" not in done.stderr


SECRET = """\
spec:
  inputs: {token: {type: string, sensitive: true}}
  outputs: {key: {type: string, sensitive: true}}
---
exec: {command: [sh, -c, 'echo "got $0"; cat key.json >"$1"', '${{ inputs.token }}', '${{ output_file }}']}
"""


def test_what_is_sensitive_is_masked_wherever_steps_run(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/step.yml").write_text(SECRET)
    (tmp_path / "key.json").write_text('{"name": "key", "value": "open-sesame"}')
    done = step_runner("run", "secret", "--input", "token=swordfish", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "got [MASKED]\n"), done.stderr
    calls = [
        {"name": "s", "step": "./secret", "inputs": {"token": "swordfish"}},
        {"name": "t", "script": "echo ${{ steps.s.outputs.key }}; echo ${{ steps.s.outputs.key }} >&2"},
    ]
    done = step_runner("ci", env={"STEPS": json.dumps(calls), "CI_PROJECT_DIR": str(tmp_path)})
    assert (done.returncode, done.stdout) == (0, "got [MASKED]\n[MASKED]\n"), done.stderr
    assert "open-sesame" not in done.stderr


def test_the_steps_of_a_job(greet: Path) -> None:
    steps = [
        {"name": "one", "step": "./greet", "inputs": {"who": "${{ vars.CI_JOB_NAME }}"}},
        {"name": "two", "script": "echo ${CI_JOB_NAME}; exit 4"},
    ]
    env = {"STEPS": json.dumps(steps), "CI_PROJECT_DIR": str(greet.parent), "CI_JOB_NAME": "build"}
    done = step_runner("ci", env=env)
    assert done.returncode == 1
    assert done.stdout == "hi build 1\nbuild\n"
    assert done.stderr.splitlines() == [
        "step one",
        "warned",
        "step two",
        "step two: the command ended with exit code 4",
        "failure: step two has not succeeded",
    ]


def test_every_fault_of_step_files_has_its_place(greet: Path) -> None:
    assert step_runner("lint", str(greet)).returncode == 0
    wrong = greet.parent / "wrong.yml"
    wrong.write_text("spec: {inputs: {a: {}}}\n---\nexec: {command: []}\n")
    done = step_runner("lint", str(wrong), str(greet), "nowhere")
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        f"{wrong}:1:17: spec:inputs:a config missing required keys: type",
        f"{wrong}:3:8: exec command can't be blank",
        "nowhere: there is no folder nowhere",
    ]


def test_an_interrupt_ends_what_a_step_has_started(tmp_path: Path) -> None:
    (tmp_path / "slow").mkdir()
    text = "trap 'echo asked; exit 1' TERM; echo begun; sleep 600 & wait"
    (tmp_path / "slow/step.yml").write_text(f"{{}}\n---\nexec: {{command: [sh, -c, {json.dumps(text)}]}}\n")
    command = [sys.executable, "-m", "cli.main", "step-runner", "run", str(tmp_path / "slow")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=30)
    assert (process.returncode, out, error) == (130, "asked\n", "cancelled: it was cancelled\n")


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as found:
        yield found


async def test_runs_are_listed_and_cancelled(service: Served) -> None:
    async with service.client() as client:
        await client.Run(script("r1", "sleep 600", service.work))
    socket = ("--socket", str(service.path))
    assert step_runner("list", *socket).stdout == "r1  running\n"
    assert step_runner("cancel", "r1", *socket).returncode == 0
    assert await service.ended("r1") == messages.Job.cancelled

    async def is_told() -> bool:
        (row,) = json.loads(step_runner("list", "--json", *socket).stdout)
        return bool(row["status"] == "cancelled" and row["finished_at"])

    await eventually(is_told, "it is listed as cancelled")
    unknown = step_runner("cancel", "nobody", *socket)
    assert (unknown.returncode, "there is no run nobody" in unknown.stderr) == (3, True)


async def test_the_proxy_carries_bytes_and_nothing_else(service: Served) -> None:
    """The preface of HTTP/2 is answered by settings; when the input ends, so does the proxy."""
    preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"
    command = [sys.executable, "-m", "cli.main", "step-runner", "proxy", "--socket", str(service.path)]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe)
    out, error = await process.communicate(preface)
    assert process.returncode == 0
    assert out[3:4] == b"\x04", "a frame of settings comes first"
    assert error == b""
