"""A runner that is killed in the middle of steps, and goes on with them when it is started again."""

import json
import random
import re
import shutil
import signal
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from fleet.executors.survivors import find_survivors
from tests.fleet.job_steps.test_stage import job, log, script, section
from tests.fleet.job_users import needs_namespaces
from tests.fleet.jobs import archive, payload
from tests.fleet.runner_process import Start, records
from tests.fleet.server import ProtocolServer
from tests.waiting import comes_true


def waits(go: Path, name: str) -> str:
    """A script that waits for a file, and says so in a second one."""
    return f"echo {name} began; touch {go}.waits; while [ ! -e {go} ]; do sleep 0.02; done; echo {name} went on >&2"


async def killed(runner: Any) -> None:
    """Kill it."""
    runner.kill()
    await runner.wait()


def shape(text: str) -> list[str]:
    """The log without colours."""
    return re.sub(r"\x1b\[[\d;]*[mK]", "", text).replace("\r", "\n").splitlines()


async def test_steps_go_on_and_are_found_again(server: ProtocolServer, start: Start, tmp_path: Path) -> None:
    go, runs = tmp_path / "go", tmp_path / "runs"
    calls = [script("a", f"echo a >>{runs}; {waits(go, 'a')}"), script("b", f"echo b >>{runs}; echo b; echo b >f")]
    server.queue.append(job(calls, artifacts=[archive("f")]))
    first = await start()
    await server.until(lambda: b"a began\n" in server.logs[1])
    await killed(first)
    (record,) = records(tmp_path)
    assert record["steps"]["is_begun"] is True
    go.touch()
    await comes_true(lambda: runs.read_text() == "a\nb\n")  # without any runner

    second = await start()
    server.queue.append(payload(job_id=2))
    await server.until(lambda: 1 in server.finals and 2 in server.finals)
    text = log(server)
    assert server.finals[1]["state"] == "success", text
    assert section(text, "step_a") == "a began\na went on\n"
    assert section(text, "step_b") == "b\n"
    assert runs.read_text() == "a\nb\n"
    assert [upload.filename for upload in server.uploads[1]] == ["steps.json", "artifacts.zip"]
    await comes_true(lambda: records(tmp_path) == [])
    assert find_survivors(record["mark"]) == []
    second.send_signal(signal.SIGTERM)
    assert await second.wait() == 0


@needs_namespaces
@pytest.mark.slow  # two runners are started, as in `test_steps_go_on_and_are_found_again`
async def test_steps_in_namespaces_go_on_too(server: ProtocolServer, start: Start, tmp_path: Path) -> None:
    """What the job wrote is not seen from outside: the log tells."""
    go = Path(tempfile.mkdtemp()) / "go"
    try:
        server.queue.append(job([script("a", waits(go, "a")), script("b", "echo b")]))
        first = await start("--hide", str(tmp_path))
        await server.until(lambda: b"a began\n" in server.logs[1])
        await killed(first)
        go.touch()
        await start("--hide", str(tmp_path))
        await server.until(lambda: 1 in server.finals)
        text = log(server)
        assert server.finals[1]["state"] == "success", text
        assert section(text, "step_a") == "a began\na went on\n"
        assert section(text, "step_b") == "b\n"
    finally:
        shutil.rmtree(go.parent)


@pytest.mark.slow  # two runners are started, as in `test_steps_go_on_and_are_found_again`
async def test_a_run_that_was_lost_too_fails(server: ProtocolServer, start: Start, tmp_path: Path) -> None:
    """As when the machine starts anew."""
    go = tmp_path / "go"
    server.queue.append(job([script("a", waits(go, "a"))]))
    first = await start()
    await comes_true((go.parent / "go.waits").exists)
    await killed(first)
    (record,) = records(tmp_path)
    for process in find_survivors(record["mark"]):
        with suppress(psutil.NoSuchProcess):
            process.kill()
    await start()
    await server.until(lambda: 1 in server.finals)
    assert server.finals[1]["failure_reason"] == "runner_system_failure"
    assert "the process of the run was killed" in log(server)
    assert find_survivors(record["mark"]) == []


@pytest.mark.slow  # two runners are started, as in `test_steps_go_on_and_are_found_again`
async def test_a_job_that_was_taken_away_meanwhile_is_ended(
    server: ProtocolServer, start: Start, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    server.queue.append(job([script("a", waits(go, "a"))]))
    first = await start()
    await comes_true((go.parent / "go.waits").exists)
    await killed(first)
    (record,) = records(tmp_path)
    server.status[1] = "failed"
    await start()
    await comes_true(lambda: records(tmp_path) == [])
    assert find_survivors(record["mark"]) == []
    assert 1 not in server.finals


@pytest.mark.slow  # two runners are started, as in `test_steps_go_on_and_are_found_again`
async def test_no_secret_stays_when_the_job_is_over(server: ProtocolServer, start: Start, tmp_path: Path) -> None:
    go = tmp_path / "go"
    masked = [{"key": "PASSWORD", "value": "swordfish-12", "masked": True, "public": False}]
    calls = [script("a", f"{waits(go, 'a')}; echo ${{{{ vars.PASSWORD }}}}")]
    server.queue.append(job(calls, extra_variables=masked))
    first = await start()
    await comes_true((go.parent / "go.waits").exists)
    await killed(first)
    assert all(oct(file.stat().st_mode & 0o777) == "0o600" for file in (tmp_path / "state/jobs").iterdir())
    await start()
    go.touch()
    await server.until(lambda: 1 in server.finals)
    assert section(log(server), "step_a").endswith("[MASKED]\n")
    await comes_true(lambda: records(tmp_path) == [])
    left = [file for file in (tmp_path / "state").rglob("*") if file.is_file() and b"swordfish" in file.read_bytes()]
    assert left == []


@pytest.mark.slow  # twelve runners are started
@pytest.mark.parametrize("seed", [3, 4])
async def test_killed_at_random_moments(server: ProtocolServer, start: Start, tmp_path: Path, seed: int) -> None:
    """Each line comes once and in its step, and each step is run once, whenever runners die."""
    chance, runs = random.Random(seed), tmp_path / "runs"
    text = f"echo s >>{runs}; for i in $(seq 250); do echo NAME $i; sleep 0.01; done; echo 'long {'x' * 3000}'"
    calls = [script(name, text.replace("NAME", name)) for name in ("a", "b", "c")]
    server.queue.append(job(calls))
    for _ in range(6):
        runner = await start()
        # What was handed out and never written down is the server's to give again.
        await comes_true(lambda: 1 in server.finals or records(tmp_path) != [])
        began, limit = time.monotonic(), chance.uniform(0.3, 2.0)
        await comes_true(lambda: time.monotonic() - began > limit or 1 in server.finals)  # noqa: B023
        await killed(runner)
    await start()
    await server.until(lambda: 1 in server.finals, 90)  # the script alone takes eight seconds
    found = log(server)
    assert server.finals[1]["state"] == "success", shape(found)
    for name in ("a", "b", "c"):
        lines = [f"{name} {number}" for number in range(1, 251)]
        assert section(found, f"step_{name}").splitlines() == [*lines, "long " + "x" * 3000], (seed, name)
    assert runs.read_text() == "s\ns\ns\n"
    names = re.findall(r"section_(start|end):(step_\w+)", found)
    assert names == [(what, f"step_{name}") for name in "abc" for what in ("start", "end")]
    assert len([upload for upload in server.uploads[1] if upload.filename == "steps.json"]) >= 1
    assert json.loads(server.uploads[1][-1].content)["steps"][2]["name"] == "c"


@pytest.mark.slow  # two runners are started, as in `test_steps_go_on_and_are_found_again`
async def test_a_job_that_goes_on_counts(server: ProtocolServer, start: Start, tmp_path: Path) -> None:
    """Its slot is taken, and the limit of its entry holds for it."""
    go = tmp_path / "go"
    ticks = f"echo a began; while [ ! -e {go} ]; do echo tick; sleep 0.05; done"
    server.queue.append(job([script("a", ticks)]))
    config = tmp_path / "config.toml"
    config.write_text("concurrent = 2\n" + config.read_text() + "limit = 1\n")
    first = await start()
    await server.until(lambda: b"a began\n" in server.logs[1])
    await killed(first)
    server.queue.append(payload(["pwd"], job_id=2))
    asked, heard = len(server.calls("POST", "jobs/request")), len(server.seen)
    await start()
    await server.until(lambda: any(seen.method == "PATCH" for seen in server.seen[heard:]))  # it goes on
    assert len(server.calls("POST", "jobs/request")) == asked
    go.touch()
    await server.until(lambda: 1 in server.finals and 2 in server.finals)
    assert server.finals[2]["state"] == "success"
