"""The runners that ask for jobs, as a process of its own: `echo '{"kind": ..., ...}' | python -m bench.queue.load`.

The question on standard input has the fields of `Order`, what is written to standard output is figures by name.
Each runner has a connection of its own to one of the API processes.
"""

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median, quantiles
from typing import Any, Final

import orjson
import psutil
import uvloop

from bench.http_connection import Answer, Connection
from bench.servers import cpu_seconds

_JSON: Final = b"content-type: application/json"
_FEATURES: Final = (
    "cancel_gracefully",
    "artifacts",
    "cache",
    "variables",
    "refspecs",
    "masking",
    "two_phase_job_commit",
)
_INFO: Final = {
    "name": "bench",
    "version": "18.0.0",
    "revision": "0123abcd",
    "platform": "linux",
    "architecture": "amd64",
    "executor": "shell",
    "features": dict.fromkeys(_FEATURES, True),
}


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be done. `runners` are tokens, `seconds` how long, `jobs` what is rung for or drained."""

    kind: str
    ports: list[int]
    runners: list[str]
    seconds: float = 0.0
    bell: int = 0
    projects: int = 0
    watched: list[int] = field(default_factory=list)
    """Processes of which the processor time is measured."""
    jobs: list[int] = field(default_factory=list)


class Runner:
    """A runner and its connection. `ticket` is the last that it was given."""

    def __init__(self, order: Order, number: int) -> None:
        self._connection = Connection("127.0.0.1", order.ports[number % len(order.ports)])
        self._question = {"token": order.runners[number], "system_id": f"s_bench{number}", "info": _INFO}

    async def ask(self) -> dict[str, Any] | None:
        """Ask for a job, with the last ticket if there is one."""
        response = await self._call("POST", "/api/v4/jobs/request", self._question)
        if response.status == 201:
            job: dict[str, Any] = orjson.loads(response.body)
            return job
        if response.status != 204:
            raise RuntimeError(f"a request for a job was answered {response.status}: {bytes(response.body)!r}")
        self._question["last_update"] = response.headers[b"x-gitlab-last-update"].decode()
        return None

    def forget(self) -> None:
        """Ask without a ticket the next time."""
        self._question.pop("last_update", None)

    async def take_up(self, job: Mapping[str, Any]) -> None:
        """Say that the job runs."""
        response = await self._call("PUT", f"/api/v4/jobs/{job['id']}", {"token": job["token"], "state": "running"})
        if response.status != 200:
            raise RuntimeError(f"job {job['id']} was answered {response.status}: {bytes(response.body)!r}")

    async def _call(self, method: str, path: str, document: Mapping[str, Any]) -> Answer:
        return await self._connection.request(method, path, orjson.dumps(document), (_JSON,))


async def open_loop(order: Order, runners: list[Runner]) -> dict[str, float]:
    """Each runner asks every 3 s, whenever the response to the last request came, and is not held.

    The first round is told apart: nobody is connected or known then, and the server has just begun.
    """
    took: list[float] = []
    first: list[float] = []
    begin = time.perf_counter() + 0.5

    async def play(number: int, runner: Runner) -> None:
        due = begin + number * 3 / len(runners)
        while due < begin + 3.0 + order.seconds:
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            runner.forget()
            job = await runner.ask()
            (first if due < begin + 3.0 else took).append(time.perf_counter() - due)
            if job is not None:
                await runner.take_up(job)
            due += 3.0

    await asyncio.gather(*(play(number, runner) for number, runner in enumerate(runners)))
    return {"polls": len(took), **_milliseconds(took), "first": _milliseconds(first)["p99"]}


async def drain(order: Order, runners: list[Runner]) -> dict[str, float]:
    """All runners together take so many jobs as there are; `spread` is how far projects were apart at most."""
    taken: list[int] = []
    held: Counter[int] = Counter()
    spread = 0
    left = len(order.jobs)

    async def play(runner: Runner) -> None:
        nonlocal spread
        while len(taken) < left:
            job = await runner.ask()
            if job is None:
                continue
            taken.append(job["id"])
            held[job["job_info"]["project_id"]] += 1
            if len(taken) <= left - len(runners):
                spread = max(spread, max(held.values()) - (min(held.values()) if len(held) == order.projects else 0))
            await runner.take_up(job)

    begin = time.perf_counter()
    await _first([play(runner) for runner in runners], lambda: len(taken) >= left)
    seconds = time.perf_counter() - begin
    return {"claims": len(taken) / seconds, "once": float(sorted(taken) == sorted(order.jobs)), "spread": spread}


async def idle(order: Order, runners: list[Runner]) -> dict[str, float]:
    """Hold a request of each runner; measured when all of them are held. They come again when their time is over."""
    polls = 0
    watched = [psutil.Process(pid) for pid in order.watched]

    async def play(runner: Runner) -> None:
        nonlocal polls
        while await runner.ask() is None:
            polls += 1

    asking = [asyncio.create_task(play(runner)) for runner in runners]
    await _while_playing(asking, lambda: polls >= len(runners))
    await asyncio.sleep(2)
    before, spent = polls, [cpu_seconds(process) for process in watched]
    await asyncio.sleep(order.seconds)
    percent = [
        100 * (cpu_seconds(process) - then) / order.seconds for process, then in zip(watched, spent, strict=True)
    ]
    for task in asking:
        task.cancel()
    return {"polls": polls - before, "percent": sum(percent), "most": max(percent)}


async def ring(order: Order, runners: list[Runner]) -> dict[str, float]:
    """20 jobs a second become pending; from each commit to the runner that has it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", order.bell)
    committed: dict[int, float] = {}
    taken: dict[int, float] = {}
    held = 0

    async def play(runner: Runner) -> None:
        nonlocal held
        while len(taken) < len(order.jobs):
            job = await runner.ask()
            if job is None:
                held += 1
                continue
            taken[job["id"]] = time.time()
            await runner.take_up(job)

    async def pull() -> None:
        await _until(lambda: held >= len(runners))
        await asyncio.sleep(1)
        due = time.perf_counter()
        for job_id in order.jobs:
            due += order.seconds / len(order.jobs)
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            writer.write(orjson.dumps([job_id]) + b"\n")
            committed[job_id] = orjson.loads(await reader.readline())

    ringing = pull()
    await _first([ringing, *(play(runner) for runner in runners)], lambda: len(taken) >= len(order.jobs))
    writer.close()
    return _milliseconds([taken[job_id] - committed[job_id] for job_id in order.jobs])


async def _until(is_so: Callable[[], bool]) -> None:
    while not is_so():  # noqa: ASYNC110  # many callers count up to it
        await asyncio.sleep(0.05)


async def _first(players: list[Awaitable[None]], is_over: Callable[[], bool]) -> None:
    """Play until it is over. Raises what a player raises."""
    tasks = [asyncio.ensure_future(player) for player in players]
    await _while_playing(tasks, is_over)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _while_playing(tasks: Sequence[asyncio.Future[None]], is_over: Callable[[], bool]) -> None:
    """Wait until it is over. Raises what a player raises: who fails never gets there."""
    while not is_over():
        for task in tasks:
            if task.done():
                task.result()
        await asyncio.sleep(0.005)


def _milliseconds(took: list[float]) -> dict[str, float]:
    return {"p50": 1_000 * median(took), "p99": 1_000 * quantiles(took, n=100)[98]}


KINDS: Final = {"open_loop": open_loop, "drain": drain, "idle": idle, "ring": ring}


async def _play(order: Order) -> dict[str, float]:
    runners = [Runner(order, number) for number in range(len(order.runners))]
    return await KINDS[order.kind](order, runners)


def main() -> None:
    """Read the order, carry it out, print the figures."""
    order = Order(**json.load(sys.stdin))
    found = uvloop.run(_play(order))
    print(json.dumps({**found, "cpu": time.process_time()}))


if __name__ == "__main__":
    main()
