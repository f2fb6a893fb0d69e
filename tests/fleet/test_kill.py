"""A runner process that is killed with -9 and started again."""

import asyncio
import json
import os
import signal
import time
from pathlib import Path

import pytest

from files.process_start import process_start
from tests.fleet.jobs import payload
from tests.fleet.runner_process import Start, records
from tests.fleet.server import ProtocolServer, answer
from tests.waiting import comes_true


async def test_killed_in_the_script(server: ProtocolServer, start: Start, tmp_path: Path) -> None:
    runs, pid = tmp_path / "runs", tmp_path / "pid"
    server.queue.append(payload([f"echo run >> {runs}", f"echo before; sleep 1000 & echo $! > {pid}; wait"]))
    first = await start()
    await server.until(lambda: b"before\n" in server.logs[1])
    await comes_true(lambda: pid.exists() and pid.read_text().endswith("\n"))
    first.kill()
    await first.wait()
    sleeper = int(pid.read_text())
    assert process_start(sleeper)

    second = await start()
    server.queue.append(payload(job_id=2))
    await server.until(lambda: 1 in server.finals and 2 in server.finals)
    final = server.finals[1]
    assert (final["state"], final["failure_reason"]) == ("failed", "runner_system_failure")
    assert b"before\n" in server.logs[1]
    assert b"the runner was killed" in server.logs[1]
    assert server.finals[2]["state"] == "success"
    assert runs.read_text() == "run\n"
    assert not process_start(sleeper)
    await comes_true(lambda: records(tmp_path) == [])
    second.send_signal(signal.SIGTERM)
    assert await asyncio.wait_for(second.wait(), 20) == 0


async def test_killed_before_the_result_was_confirmed(server: ProtocolServer, start: Start, tmp_path: Path) -> None:
    runs = tmp_path / "runs"

    async def accept(_: object) -> None:
        """The acceptance passes, every result is turned away."""

    server.faults["update"].extend([accept, *[answer(503)] * 10000])
    server.queue.append(payload([f"echo run >> {runs}", "echo output", "exit 3"]))
    first = await start()
    await comes_true(lambda: any(record["phase"] == "finished" for record in records(tmp_path)))
    first.kill()
    await first.wait()
    assert 1 not in server.finals

    server.faults.clear()
    second = await start()
    await server.until(lambda: 1 in server.finals)
    final = server.finals[1]
    assert (final["failure_reason"], final["exit_code"]) == ("script_failure", 3)
    assert server.logs[1].count(b"output\n") == 1
    assert b"the runner was killed" not in server.logs[1]
    assert runs.read_text() == "run\n"
    await comes_true(lambda: records(tmp_path) == [])
    second.send_signal(signal.SIGQUIT)
    assert await asyncio.wait_for(second.wait(), 20) == 0


async def test_killed_again_during_the_recovery(server: ProtocolServer, start: Start, tmp_path: Path) -> None:
    server.queue.append(payload(["echo before; sleep 1000"]))
    first = await start()
    await server.until(lambda: b"before\n" in server.logs[1])
    first.kill()
    await first.wait()
    server.faults["update"].extend([answer(503)] * 10000)
    second = await start()
    await comes_true(lambda: any(record["phase"] == "finished" for record in records(tmp_path)))
    second.kill()
    await second.wait()
    server.faults.clear()
    await start()
    await server.until(lambda: 1 in server.finals)
    assert server.logs[1].count(b"the runner was killed") == 1
    assert server.finals[1]["failure_reason"] == "runner_system_failure"


@pytest.mark.parametrize("key", ["group_start", "group_started"])
async def test_a_stranger_with_the_recorded_id_lives(
    key: str, server: ProtocolServer, start: Start, tmp_path: Path
) -> None:
    stranger = await asyncio.create_subprocess_exec("sleep", "1000", start_new_session=True)
    noted = {"group_start": f"{process_start(stranger.pid)}0", "group_started": time.time() - 1000}
    (tmp_path / "state/jobs").mkdir(parents=True)
    (tmp_path / "state/jobs/1.json").write_text(
        json.dumps(
            {
                "job_id": 1,
                "token": "glcbt-1-secret",
                "url": server.url,
                "log": str(tmp_path / "state/logs/1.log"),
                "mark": "no such mark",
                "group": stranger.pid,
                key: noted[key],
            }
        )
    )
    server.status[1] = "running"
    await start()
    await server.until(lambda: 1 in server.finals)
    assert stranger.returncode is None
    os.kill(stranger.pid, 0)
    stranger.kill()
    await stranger.wait()
