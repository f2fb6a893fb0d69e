"""Whole jobs with `run`: what the server gets, whoever runs them."""

import asyncio
import json
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from fleet.executors.hidden_folders import HiddenFolders
from fleet.executors.survivors import find_survivors
from fleet.executors.workspace import Slot
from fleet.job_run import JobRun
from fleet.state import JobStore
from fleet.stop import Cause
from tests.fleet.jobs import payload
from tests.fleet.server import ProtocolServer

MakeRun = Callable[..., JobRun]

GREET = """\
spec:
  inputs: {who: {type: string}, token: {type: string, sensitive: true, default: ""}}
  outputs: {line: {type: string}, key: {type: string, sensitive: true, default: none}}
---
exec:
  command:
    - sh
    - -c
    - 'echo "hi $0"; printf "{\\"name\\":\\"line\\",\\"value\\":\\"hi $0\\"}" >"$1"'
    - ${{ inputs.who }}
    - ${{ output_file }}
"""


def job(calls: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    """A job with steps, on a server that keeps what they gave."""
    features = {"trace_sections": True, "failure_reasons": ["job_canceled"], "steps_artifact": True}
    return payload(steps=[], run=json.dumps(calls), **{"features": features, **changes})


def script(name: str, text: str, **more: Any) -> dict[str, Any]:
    """A step that is a script."""
    return {"name": name, "script": text, **more}


def step_file(text: str, folder: str = "greet") -> dict[str, Any]:
    """A step that writes the file of another one into the folder of the job, which is empty."""
    return script("write", f"mkdir -p {folder}; printf %s '{_quoted(text)}' >{folder}/step.yml")


def _quoted(text: str) -> str:
    return text.replace("${{", "\\${{").replace("'", "'\\''")


def log(server: ProtocolServer, job_id: int = 1) -> str:
    """The log without times."""
    return re.sub(r"(section_\w+:)\d+:", r"\1", server.logs[job_id].decode())


def section(text: str, name: str) -> str:
    """What stands within a section, without its title."""
    return text.partition(f"section_start:{name}\r")[2].partition("\n")[2].partition(f"section_end:{name}\r")[0]


async def test_each_step_is_a_section(server: ProtocolServer, make_run: MakeRun, store: JobStore) -> None:
    calls = [
        step_file(GREET),
        {"name": "hello", "step": "./greet", "inputs": {"who": "${{ vars.CI_JOB_NAME }}"}},
        script("shout", 'echo "${{ steps.hello.outputs.line }}!"; echo oops >&2'),
    ]
    run = make_run(job(calls, variables={"CI_JOB_NAME": "ada"}))
    await run.run()
    text = log(server)
    assert server.finals[1]["state"] == "success", text
    assert section(text, "step_hello") == "hi ada\n"
    assert sorted(section(text, "step_shout").splitlines()) == ["hi ada!", "oops"]
    assert "Step hello (./greet)" in text
    assert text.count("section_start:step_") == text.count("section_end:step_") == 3
    (upload,) = server.uploads[1]
    assert (upload.filename, upload.query["artifact_type"], upload.query["artifact_format"]) == (
        "steps.json",
        "steps",
        "raw",
    )
    kept = json.loads(upload.content)["steps"]
    assert [(one["name"], one["status"], one["is_kept"]) for one in kept] == [
        ("write", "success", True),
        ("hello", "success", False),
        ("shout", "success", True),
    ]
    assert store.load() == []
    assert find_survivors(run._record.mark) == []


async def test_a_step_that_fails_ends_the_job(server: ProtocolServer, make_run: MakeRun) -> None:
    await make_run(job([script("a", "echo a; exit 7"), script("b", "echo never")])).run()
    final = server.finals[1]
    assert (final["state"], final["failure_reason"], final["exit_code"]) == ("failed", "script_failure", 7)
    text = log(server)
    assert section(text, "step_a") == "a\nstep a: the command ended with exit code 7\n"
    assert "never" not in text
    assert "Job failed: exit status 7" in text
    assert json.loads(server.uploads[1][0].content)["steps"] == [
        {"name": "a", "status": "failed", "is_kept": False, "outputs": {}, "exports": {}}
    ]


async def test_what_is_sensitive_is_masked(server: ProtocolServer, make_run: MakeRun) -> None:
    secret = """\
spec: {outputs: {key: {type: string, sensitive: true}}}
---
exec: {command: [sh, -c, 'cat key.json >"$0"', "${{ output_file }}"]}
"""
    calls = [
        step_file(secret, "secret"),
        script("make", """printf '{"name":"key","value":"%s"}' "$(echo open-sesame | tr a-y b-z)" >key.json"""),
        {"name": "key", "step": "./secret"},
        script("leak", "echo the key is ${{ steps.key.outputs.key }} and ${{ vars.PASSWORD }}"),
    ]
    masked = [{"key": "PASSWORD", "value": "swordfish-12", "masked": True, "public": False}]
    await make_run(job(calls, extra_variables=masked)).run()
    text = log(server)
    assert server.finals[1]["state"] == "success", text
    assert section(text, "step_leak") == "the key is [MASKED] and [MASKED]\n"
    assert "pqfo-tftbnf" not in text
    assert b"pqfo" not in server.uploads[1][0].content


async def test_steps_that_an_earlier_attempt_has_done_are_not_run(server: ProtocolServer, make_run: MakeRun) -> None:
    calls = [script("a", "echo never"), script("b", "echo ${{ steps.a.outputs.x }} $E")]
    resume = {"from": "b", "done": {"a": {"outputs": {"x": "from before"}, "exports": {"E": "too"}}}}
    await make_run(job(calls, steps_resume=resume)).run()
    text = log(server)
    assert server.finals[1]["state"] == "success", text
    assert section(text, "step_b") == "from before too\n"
    assert "Step a: done by an earlier attempt" in text
    assert "never" not in text
    (kept, _) = json.loads(server.uploads[1][0].content)["steps"]
    assert kept == {
        "name": "a",
        "status": "success",
        "is_kept": True,
        "outputs": {"x": "from before"},
        "exports": {"E": "too"},
    }


async def test_steps_that_nobody_can_run(server: ProtocolServer, make_run: MakeRun) -> None:
    await make_run(job([{"name": "a", "stepp": "./x"}])).run()
    final = server.finals[1]
    assert (final["state"], final["failure_reason"]) == ("failed", "script_failure")
    assert "stepp" in log(server)


async def test_a_canceled_job_says_its_last_words(server: ProtocolServer, make_run: MakeRun) -> None:
    text = "trap 'echo cleaned; exit 1' TERM; echo waiting; while :; do sleep 0.02; done"
    run = make_run(job([script("a", text), script("b", "echo never")]))
    running = asyncio.create_task(run.run())
    await server.until(lambda: b"waiting\n" in server.logs[1])
    server.status[1] = "canceling"
    await running
    lines = section(log(server), "step_a").splitlines()
    assert (lines[0], lines[-1]) == ("waiting", "cleaned")
    assert (server.finals[1]["state"], server.finals[1]["failure_reason"]) == ("failed", "job_canceled")
    assert find_survivors(run._record.mark) == []


async def test_a_job_that_takes_too_long(server: ProtocolServer, make_run: MakeRun) -> None:
    run = make_run(job([script("a", "echo waiting; exec sleep 600")], runner_info={"timeout": 1}))
    await run.run()
    assert server.finals[1]["failure_reason"] == "job_execution_timeout"
    assert run.stop.cause is Cause.TIMEOUT
    assert "longer than 1 seconds" in log(server)
    assert find_survivors(run._record.mark) == []


WAITS = "echo in; pwd; echo waits; while [ ! -e go ]; do sleep 0.02; done; echo gone on"
"""A script that says where it is, and waits there for a file."""


async def test_a_service_that_is_killed_is_started_again(server: ProtocolServer, make_run: MakeRun, slot: Slot) -> None:
    run = make_run(job([script("a", WAITS), script("b", "echo b")]))
    running = asyncio.create_task(run.run())
    await server.until(lambda: b"waits\n" in server.logs[1])
    services = [one for one in find_survivors(run._record.mark) if is_service(one)]
    assert services
    for service in services:
        with suppress(psutil.NoSuchProcess):  # in namespaces one ends the others
            service.kill()
    if not isinstance(slot.rights, HiddenFolders):
        (Path(section_lines(server, "step_a")[1]) / "go").touch()
    await running
    text = log(server)
    assert section(text, "step_a").startswith("in\n")
    if isinstance(slot.rights, HiddenFolders):  # all of its namespace ends with it
        assert server.finals[1]["failure_reason"] == "runner_system_failure"
        assert "The run of the steps is lost" in text or "was killed" in text
    else:
        assert server.finals[1]["state"] == "success", text
        assert section(text, "step_a").endswith("waits\ngone on\n")
        assert section(text, "step_b") == "b\n"
    assert find_survivors(run._record.mark) == []


def is_service(process: psutil.Process) -> bool:
    """Whether it is a step runner; proxies come and go."""
    try:
        return "steps.service" in process.cmdline()
    except psutil.NoSuchProcess:
        return False


def section_lines(server: ProtocolServer, name: str) -> list[str]:
    """The lines of a section that is open still."""
    return log(server).partition(f"section_start:{name}\r")[2].splitlines()[1:]
