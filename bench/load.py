"""The load: creates pipelines by the API and plays runners by the runner protocol, as a process of its own.

    echo '{"port": ..., ...}' | python -m bench.load

The question on standard input has the fields of `Order`, the response on standard output those of `Outcome`. A runner
asks as a real one does: with the `last_update` it was given, so that the server holds the request until there is a job.
"""

import asyncio
import json
import sys
import time
import zlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any, Final

import orjson
import uvloop

from bench.http_connection import Answer, Connection

_CREATORS: Final = 5
"""So many callers create pipelines at the same time."""
_LOOK_EVERY: Final = 0.02
"""Seconds between two looks at the pipelines, once every job has ended."""
_DEADLINE: Final = 180.0
_LOG: Final = b"Running with perdure-bench\n$ true\nJob succeeded\n"
_JSON: Final = b"content-type: application/json"
_INFO: Final = {"name": "bench", "version": "18.0.0", "features": {"cancel_gracefully": True}}


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be done, and where."""

    port: int
    token: str
    project: int
    runners: list[str]
    pipelines: int
    jobs: int
    """Jobs of one pipeline."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Seconds from the first create to the last pipeline's `success`; medians of single calls in milliseconds."""

    seconds: float
    create_ms: float
    running_ms: float
    trace_ms: float
    final_ms: float
    cpu: float
    """Seconds of processor time that the load itself took."""


class Load:
    """One run of the load."""

    def __init__(self, order: Order) -> None:
        """Carry out `order`."""
        self._order = order
        self._left = order.pipelines * order.jobs
        self._waiting = 0
        self._all_wait = asyncio.Event()
        self._ended = asyncio.Event()
        self._took: defaultdict[str, list[float]] = defaultdict(list)

    async def run(self) -> Outcome:
        """Play it to its end. Raises `RuntimeError` when a call is not answered as it should be."""
        watch = Connection("127.0.0.1", self._order.port)
        before = await self._succeeded(watch)
        runners = [asyncio.create_task(self._runner(number)) for number in range(len(self._order.runners))]
        await self._first(runners, self._all_wait)
        start = time.perf_counter()
        creating = asyncio.gather(*(self._creator(number) for number in range(_CREATORS)))
        await self._first([creating, *runners], self._ended)
        await creating
        await self._until_succeeded(watch, before + self._order.pipelines)
        seconds = time.perf_counter() - start
        for runner in runners:
            runner.cancel()
        await asyncio.gather(*runners, return_exceptions=True)
        watch.close()
        medians = {f"{name}_ms": 1_000 * median(self._took[name]) for name in ("create", "running", "trace", "final")}
        return Outcome(seconds=seconds, cpu=time.process_time(), **medians)

    async def _until_succeeded(self, watch: Connection, wanted: int) -> None:
        deadline = time.perf_counter() + _DEADLINE
        while (there := await self._succeeded(watch)) < wanted:
            if time.perf_counter() > deadline:
                raise RuntimeError(f"only {there} of {wanted} pipelines are a success after {_DEADLINE:g} s")
            await asyncio.sleep(_LOOK_EVERY)

    @staticmethod
    async def _first(tasks: Sequence[asyncio.Future[Any]], event: asyncio.Event) -> None:
        """Wait for the event; a task that fails meanwhile says why it will never come."""
        pending: set[asyncio.Future[Any]] = {asyncio.ensure_future(event.wait()), *tasks}
        while not event.is_set():
            done, pending = await asyncio.wait(pending, timeout=_DEADLINE, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                raise RuntimeError(f"nothing came to an end for {_DEADLINE:g} s")
            for each in done:
                each.result()

    async def _creator(self, number: int) -> None:
        connection = Connection("127.0.0.1", self._order.port)
        path = f"/api/v4/projects/{self._order.project}/pipeline"
        headers = (_JSON, b"private-token: " + self._order.token.encode())
        for _ in range(number, self._order.pipelines, _CREATORS):
            await self._call("create", 201, connection, "POST", path, b'{"ref": "main"}', headers)
        connection.close()

    async def _succeeded(self, connection: Connection) -> int:
        path = f"/api/v4/projects/{self._order.project}/pipelines?status=success&per_page=1"
        token = (b"private-token: " + self._order.token.encode(),)
        response = await self._call("watch", 200, connection, "GET", path, b"", token)
        return int(response.headers[b"x-total"])

    async def _runner(self, number: int) -> None:
        connection = Connection("127.0.0.1", self._order.port)
        question = {"token": self._order.runners[number], "system_id": f"s_bench{number}", "info": _INFO}
        while True:
            response = await connection.request("POST", "/api/v4/jobs/request", orjson.dumps(question), (_JSON,))
            if response.status == 201:
                await self._play(connection, orjson.loads(response.body))
                continue
            if response.status != 204:
                raise RuntimeError(f"a request for a job was answered {response.status}: {bytes(response.body)!r}")
            if "last_update" not in question:
                self._waiting += 1
                if self._waiting == len(self._order.runners):
                    self._all_wait.set()
            question["last_update"] = response.headers[b"x-gitlab-last-update"].decode()

    async def _play(self, connection: Connection, job: dict[str, Any]) -> None:
        """A job as short as a job can be: running, one chunk of log, success."""
        path, token = f"/api/v4/jobs/{job['id']}", job["token"]
        running = orjson.dumps({"token": token, "state": "running"})
        await self._call("running", 200, connection, "PUT", path, running, (_JSON,))
        log = (b"job-token: " + token.encode(), b"content-range: 0-%d" % (len(_LOG) - 1))
        await self._call("trace", 202, connection, "PATCH", f"{path}/trace", _LOG, log)
        output = {"checksum": f"crc32:{zlib.crc32(_LOG):08x}", "bytesize": len(_LOG)}
        final = orjson.dumps({"token": token, "state": "success", "output": output})
        await self._call("final", 200, connection, "PUT", path, final, (_JSON,))
        self._left -= 1
        if self._left == 0:
            self._ended.set()

    async def _call(
        self,
        name: str,
        status: int,
        connection: Connection,
        method: str,
        path: str,
        body: bytes,
        headers: tuple[bytes, ...],
    ) -> Answer:
        start = time.perf_counter()
        response = await connection.request(method, path, body, headers)
        self._took[name].append(time.perf_counter() - start)
        if response.status != status:
            raise RuntimeError(f"{method} {path} was answered {response.status}: {bytes(response.body)!r}")
        return response


def main() -> None:
    """Read the order, carry it out, print the outcome."""
    order = Order(**json.load(sys.stdin))

    async def run() -> Outcome:
        return await Load(order).run()

    print(json.dumps(asdict(uvloop.run(run()))))


if __name__ == "__main__":
    main()
