"""The runner process: how many jobs at once, and how it ends."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from domain.errors import Refused
from fleet.config import FleetConfig, RunnerEntry
from fleet.loop import RunnerProcess
from tests.fleet.conftest import LIMITS, SHORT
from tests.fleet.jobs import payload
from tests.fleet.server import ProtocolServer, answer

START = Callable[..., AbstractAsyncContextManager[RunnerProcess]]
WAIT = "echo waiting; while [ ! -e {} ]; do sleep 0.02; done; echo done"


class Running(RunnerProcess):
    """A runner process with the task that it runs in."""

    task: asyncio.Task[None]


def entry(server: ProtocolServer, tmp_path: Path, **changes: Any) -> RunnerEntry:
    return RunnerEntry("n", changes.pop("url", server.url), "glrt-abcdefghi", builds_dir=tmp_path / "builds", **changes)


@asynccontextmanager
async def running(tmp_path: Path, *entries: RunnerEntry, **changes: Any) -> AsyncIterator[Running]:
    """A runner process that is aborted at the end, if it did not end before."""
    settings: dict[str, Any] = {
        "concurrent": 1,
        "check_interval": 0.02,
        "shutdown_timeout": 5.0,
        "backoff": SHORT,
        **changes,
    }
    process = Running(FleetConfig(entries, tmp_path / "state", **settings), tmp_path, LIMITS)
    process.task = task = asyncio.create_task(process.run())
    try:
        yield process
        if not task.done():
            process.abort()
        await asyncio.wait_for(task, 20)
    finally:
        task.cancel()


async def test_jobs_run_one_after_the_other(server: ProtocolServer, tmp_path: Path) -> None:
    server.queue.extend(payload(job_id=number) for number in (1, 2, 3))
    async with running(tmp_path, entry(server, tmp_path)):
        await server.until(lambda: len(server.finals) == 3)
    assert {final["state"] for final in server.finals.values()} == {"success"}
    assert list((tmp_path / "state/jobs").iterdir()) == []


async def test_as_many_at_once_as_allowed(server: ProtocolServer, tmp_path: Path) -> None:
    go = tmp_path / "go"
    server.queue.extend(payload([f"echo slot $CI_CONCURRENT_ID; {WAIT.format(go)}"], number) for number in (1, 2, 3))
    async with running(tmp_path, entry(server, tmp_path), concurrent=2):
        await server.until(lambda: sum(b"waiting" in log for log in server.logs.values()) == 2)
        assert len(server.queue) == 1
        go.touch()
        await server.until(lambda: len(server.finals) == 3)
    slots = {bytes(log.split(b"slot ")[-1][:1]) for log in server.logs.values()}
    assert slots == {b"0", b"1"}


async def test_limit_of_an_entry(server: ProtocolServer, tmp_path: Path) -> None:
    go = tmp_path / "go"
    server.queue.extend(payload([WAIT.format(go)], number) for number in (1, 2))
    async with running(tmp_path, entry(server, tmp_path, limit=1), concurrent=4):
        await server.until(lambda: b"waiting" in server.logs[1])
        requests = len(server.calls("POST", "jobs/request"))
        go.touch()
        await server.until(lambda: len(server.finals) == 2)
    assert requests == 1


async def test_first_queue_value_is_used_at_once(server: ProtocolServer, tmp_path: Path) -> None:
    async with running(tmp_path, entry(server, tmp_path), check_interval=60.0):
        await server.until(lambda: len(server.calls("POST", "jobs/request")) == 2)
    assert server.seen[1].body["last_update"] == "v1"


async def test_finish_waits_for_running_jobs_and_gives_up_the_request_in_hand(
    server: ProtocolServer, tmp_path: Path
) -> None:
    go, asked, ended = tmp_path / "go", asyncio.Event(), asyncio.Event()

    async def held(request: web.Request) -> web.Response:
        asked.set()
        await ended.wait()
        return web.Response(status=204)

    server.queue.append(payload([WAIT.format(go)]))
    server.faults["request"].extend([passed, held])
    async with running(tmp_path, entry(server, tmp_path), concurrent=2) as process:
        await server.until(lambda: b"waiting" in server.logs[1])
        await asyncio.wait_for(asked.wait(), 20)
        process.finish()
        server.queue.append(payload(job_id=2))
        go.touch()
        await asyncio.wait_for(process.task, 20)
    ended.set()
    assert server.finals[1]["state"] == "success"
    assert len(server.queue) == 1


async def test_abort_reports_the_jobs(server: ProtocolServer, tmp_path: Path) -> None:
    server.queue.append(payload([WAIT.format("/nowhere/go")]))
    async with running(tmp_path, entry(server, tmp_path)) as process:
        await server.until(lambda: b"waiting" in server.logs[1])
        process.abort()
        await asyncio.wait_for(process.task, 20)
    assert (server.finals[1]["state"], server.finals[1]["failure_reason"]) == ("failed", "unknown_failure")


async def test_abort_while_the_server_is_away_keeps_the_verdict(server: ProtocolServer, tmp_path: Path) -> None:
    server.queue.append(payload(["exit 4"]))
    server.faults["update"].extend([passed, *[answer(503)] * 1000])
    async with running(tmp_path, entry(server, tmp_path), shutdown_timeout=0.1) as process:
        await server.until(lambda: len(server.calls("PUT")) > 3)
        process.abort()
        await asyncio.wait_for(process.task, 20)
    assert 1 not in server.finals
    server.faults.clear()
    async with running(tmp_path, entry(server, tmp_path)):
        await server.until(lambda: 1 in server.finals)
    assert server.finals[1]["exit_code"] == 4


async def passed(_: object) -> None:
    """A fault that is none."""


async def test_a_dead_server_does_not_hold_the_others_up(
    server: ProtocolServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fleet.loop.PATIENCE", 0.02)
    dead = entry(server, tmp_path, url="http://127.0.0.1:9")
    server.queue.append(payload())
    async with running(tmp_path, dead, entry(server, tmp_path)):
        await server.until(lambda: 1 in server.finals)


async def test_a_refused_token_is_tried_again(
    server: ProtocolServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server.faults["request"].extend([answer(403), answer(403)])
    server.queue.append(payload())
    async with running(tmp_path, entry(server, tmp_path)):
        await server.until(lambda: 1 in server.finals)
    assert "refuses the runner token" in caplog.text


async def test_a_job_that_cannot_be_read_does_not_end_the_runner(server: ProtocolServer, tmp_path: Path) -> None:
    server.queue.extend([{"id": 0}, payload(job_id=2)])
    async with running(tmp_path, entry(server, tmp_path)):
        await server.until(lambda: 2 in server.finals)


async def test_two_processes_do_not_share_a_state_folder(server: ProtocolServer, tmp_path: Path) -> None:
    async with running(tmp_path, entry(server, tmp_path)):
        await server.until(lambda: len(server.seen) > 0)
        second = RunnerProcess(FleetConfig((), tmp_path / "state"), tmp_path, LIMITS)
        with pytest.raises(Refused):
            await second.run()


async def test_what_becomes_of_unsupported_jobs_is_in_the_configuration(server: ProtocolServer, tmp_path: Path) -> None:
    features = {"failure_reasons": ["runner_unsupported"]}
    server.queue.append(payload(image={"name": "ruby"}, features=features))
    async with running(tmp_path, entry(server, tmp_path), unsupported_keywords="refuse"):
        await server.until(lambda: 1 in server.finals)
    assert server.finals[1]["failure_reason"] == "runner_unsupported"
