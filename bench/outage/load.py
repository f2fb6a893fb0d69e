"""The load on several pods, as a process of its own: `echo '{"port": ..., ...}' | python -m bench.outage.load`.

Each pod has somebody who makes pipelines at a steady rate, runners who play their jobs, and somebody who asks who they
are. Whoever is told 503 comes back, as runners do. The question is an `Order`; the last line of the output is JSON: a
list of `[pod, second, kind, status, milliseconds, job]`, the job 0 where none was handed out.
"""

import asyncio
import json
import sys
import time
import zlib
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final, TypeAlias

import orjson
import uvloop

from bench.http_connection import Answer, Connection

LOCAL: Final = "127.0.0.1"
_LOG: Final = b"Running with perdure-bench\n$ true\nJob succeeded\n"
_JSON: Final = b"content-type: application/json"
_BACK: Final = 1.0
"""Seconds after which somebody comes back who was told 503."""
_AWAY: Final = 503

_Call: TypeAlias = tuple[str, str, bytes, tuple[bytes, ...]]
"""Method, path, body and headers."""


@dataclass(frozen=True, slots=True)
class Pod:
    """Where one pod's load goes."""

    name: str
    token: str
    project: int
    runners: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Order:
    """For `seconds`, at each pod: `pipelines` and `questions` a second; time counts from `begin` (unix seconds).

    `responses` is the file for what was answered: megabytes, which are not for a pipe.
    """

    port: int
    pods: tuple[Pod, ...]
    begin: float
    seconds: float
    pipelines: float
    questions: float
    responses: str


class Load:
    """One run of the load."""

    def __init__(self, order: Order) -> None:
        """Carry out `order`."""
        self._order = order
        self._told: list[tuple[str, float, str, int, float, int]] = []

    async def run(self) -> list[tuple[str, float, str, int, float, int]]:
        """All responses, until the time is over."""
        parts = []
        for pod in self._order.pods:
            private = (b"private-token: " + pod.token.encode(),)
            create = ("create", "POST", f"/api/v4/projects/{pod.project}/pipeline", b'{"ref": "main"}')
            parts += [self._paced(pod, self._order.pipelines, create, (_JSON, *private))]
            parts += [self._paced(pod, self._order.questions, ("ask", "GET", "/api/v4/user", b""), private)]
            parts += [self._runner(pod, number) for number in range(len(pod.runners))]
        tasks = [asyncio.create_task(part) for part in parts]
        done, pending = await asyncio.wait(tasks, timeout=self._left(), return_when=asyncio.FIRST_EXCEPTION)
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
        for task in done:
            task.result()
        return self._told

    def _left(self) -> float:
        return self._order.begin + self._order.seconds - time.time()

    async def _paced(
        self, pod: Pod, rate: float, call: tuple[str, str, str, bytes], headers: tuple[bytes, ...]
    ) -> None:
        """The same call so many times a second, whatever becomes of it; time counts from when it was due."""
        free: list[Connection] = []
        running: set[asyncio.Task[None]] = set()
        name, method, path, body = call

        async def ask(due: float) -> None:
            connection = free.pop() if free else Connection(LOCAL, self._order.port)
            await self._call(pod, name, connection, (method, path, body, headers), due)
            free.append(connection)

        for number in range(int(rate * self._order.seconds)):
            due = self._order.begin + number / rate
            await asyncio.sleep(due - time.time())
            task = asyncio.create_task(ask(due))
            running.add(task)
            task.add_done_callback(running.discard)

    async def _runner(self, pod: Pod, number: int) -> None:
        connection = Connection(LOCAL, self._order.port)
        token = pod.runners[number]
        question: dict[str, Any] = {"token": token, "system_id": f"s_bench{number}"}
        headers = (_JSON, b"runner-token: " + token.encode())
        while True:
            call = ("POST", "/api/v4/jobs/request", orjson.dumps(question), headers)
            response = await self._call(pod, "poll", connection, call)
            if response.status == 201:
                await self._play(pod, connection, orjson.loads(response.body))
            elif response.status == 204:
                question["last_update"] = response.headers[b"x-gitlab-last-update"].decode()
            else:
                await asyncio.sleep(_BACK)

    async def _play(self, pod: Pod, connection: Connection, job: dict[str, Any]) -> None:
        """A job as short as a job can be: running, one chunk of log, success."""
        path, token = f"/api/v4/jobs/{job['id']}", job["token"]
        put = (_JSON, b"job-token: " + token.encode())
        log = (put[1], b"content-range: 0-%d" % (len(_LOG) - 1))
        output = {"checksum": f"crc32:{zlib.crc32(_LOG):08x}", "bytesize": len(_LOG)}
        for name, call in (
            ("running", ("PUT", path, orjson.dumps({"token": token, "state": "running"}), put)),
            ("trace", ("PATCH", f"{path}/trace", _LOG, log)),
            ("final", ("PUT", path, orjson.dumps({"token": token, "state": "success", "output": output}), put)),
        ):
            await self._insist(pod, name, connection, call)

    async def _insist(self, pod: Pod, name: str, connection: Connection, call: _Call) -> None:
        """Call until the pod is there."""
        for _ in count():
            if (await self._call(pod, name, connection, call)).status != _AWAY:
                return
            await asyncio.sleep(_BACK)

    async def _call(
        self,
        pod: Pod,
        name: str,
        connection: Connection,
        call: _Call,
        due: float = 0.0,
    ) -> Answer:
        """Call; a connection that is cut counts as status 0."""
        method, path, body, headers = call
        begun = due or time.time()
        try:
            response = await connection.request(method, path, body, headers)
        except OSError:
            response = Answer()
        now = time.time()
        job = orjson.loads(response.body)["id"] if name == "poll" and response.status == 201 else 0
        self._told.append((pod.name, now - self._order.begin, name, response.status, 1_000 * (now - begun), job))
        return response


def main() -> None:
    """Read the order, carry it out, write what was answered into the file that it names."""
    document = json.load(sys.stdin)
    pods = tuple(Pod(**{**pod, "runners": tuple(pod["runners"])}) for pod in document.pop("pods"))
    order = Order(pods=pods, **document)

    async def run() -> list[tuple[str, float, str, int, float, int]]:
        return await Load(order).run()

    Path(order.responses).write_bytes(orjson.dumps(uvloop.run(run())))
    print("{}")


def question_of(order: Order) -> dict[str, Any]:
    """The order as `main` reads it."""
    return asdict(order)


if __name__ == "__main__":
    main()
