"""The load of the latency: pipelines that are chains of jobs, each of which takes a second, as a process of its own.

    echo '{"port": ..., ...}' | python -m bench.chains

The question on standard input has the fields of `Order`, the answer on standard output those of `Outcome`. Runners hold
requests for jobs as real ones do. Every clock is this machine's.
"""

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final

import orjson
import uvloop
from sqlalchemy import select

from bench.http_connection import Answer, Connection
from models.columns import table_of
from models.session import Database
from models.tables.pipelines import Job
from settings import Settings

_DEADLINE: Final = 180.0
_JSON: Final = b"content-type: application/json"

_job = table_of(Job)


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be done, and where."""

    port: int
    home: str
    """The server's; when rows became pending is read from its database in the end."""
    token: str
    project: int
    runners: list[str]
    """Tokens; more than there are chains, so that a request is always held."""
    chains: int
    jobs: int
    """Jobs of one chain."""
    job_seconds: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """Milliseconds from the answer to a verdict until the next row of its chain."""

    verdicts: float
    """Verdicts per second."""
    pending_p50: float
    pending_p99: float
    """Until the row was `pending`: the time that the row has, which is that of the decision's transaction."""
    claimed_p50: float
    claimed_p99: float
    """Until a runner that holds a request has the job."""
    put_p50: float
    """What the verdict itself takes."""


class Chains:
    """One run."""

    def __init__(self, order: Order) -> None:
        """Carry out `order`."""
        self._order = order
        self._left = order.chains * order.jobs
        self._ended = asyncio.Event()
        self._answered: dict[int, float] = {}
        self._claimed: dict[int, float] = {}
        self._puts: list[float] = []

    async def run(self) -> Outcome:
        """Play the chains to their end. Raises `RuntimeError` when a call is not answered as it should be."""
        begin = time.perf_counter()
        players = [asyncio.create_task(self._runner(number)) for number in range(len(self._order.runners))]
        try:
            await self._create()
            await self._until_ended(players)
        finally:
            for player in players:
                player.cancel()
            await asyncio.gather(*players, return_exceptions=True)
        return self._outcome(await self._rows(), time.perf_counter() - begin)

    async def _until_ended(self, players: Sequence[asyncio.Task[None]]) -> None:
        """A player that fails meanwhile says why the end will never come."""
        ended = asyncio.create_task(self._ended.wait())
        done, _ = await asyncio.wait([ended, *players], timeout=_DEADLINE, return_when=asyncio.FIRST_COMPLETED)
        ended.cancel()
        for player in players:
            if player in done:
                await player
        if self._left:
            raise RuntimeError(f"{self._left} jobs are left after {_DEADLINE:g} s")

    async def _create(self) -> None:
        """Begin the chains one after the other within the time of a job, so that verdicts do not come in bursts."""
        connection = Connection("127.0.0.1", self._order.port)
        path = f"/api/v4/projects/{self._order.project}/pipeline"
        headers = (_JSON, b"private-token: " + self._order.token.encode())
        for _ in range(self._order.chains):
            pause = asyncio.create_task(asyncio.sleep(self._order.job_seconds / self._order.chains))
            _expect(201, await connection.request("POST", path, b'{"ref": "main"}', headers))
            await pause
        connection.close()

    async def _runner(self, number: int) -> None:
        connection = Connection("127.0.0.1", self._order.port)
        question = {"token": self._order.runners[number], "system_id": f"s_bench{number}"}
        while True:
            answer = await connection.request("POST", "/api/v4/jobs/request", orjson.dumps(question), (_JSON,))
            if answer.status == 204:
                question["last_update"] = answer.headers[b"x-gitlab-last-update"].decode()
                continue
            _expect(201, answer)
            await self._play(connection, orjson.loads(answer.body))

    async def _play(self, connection: Connection, job: dict[str, Any]) -> None:
        self._claimed[job["id"]] = time.time()
        path, token = f"/api/v4/jobs/{job['id']}", job["token"]
        running = orjson.dumps({"token": token, "state": "running"})
        _expect(200, await connection.request("PUT", path, running, (_JSON,)))
        await asyncio.sleep(self._order.job_seconds)
        begin = time.perf_counter()
        final = orjson.dumps({"token": token, "state": "success"})
        _expect(200, await connection.request("PUT", path, final, (_JSON,)))
        self._answered[job["id"]] = time.time()
        self._puts.append(time.perf_counter() - begin)
        self._left -= 1
        if self._left == 0:
            self._ended.set()

    async def _rows(self) -> Sequence[Any]:
        database = Database(Settings(home=Path(self._order.home), database_url="").database)
        try:
            async with database.read() as connection:
                wanted = select(_job.c.id, _job.c.pipeline_id, _job.c.position, _job.c.queued_at)
                return (await connection.execute(wanted.where(_job.c.id >= min(self._claimed)))).all()
        finally:
            await database.close()

    def _outcome(self, rows: Sequence[Any], seconds: float) -> Outcome:
        by_place = {(row.pipeline_id, row.position): row for row in rows}
        pairs = [
            (self._answered[row.id], following)
            for row in rows
            if (following := by_place.get((row.pipeline_id, row.position + 1))) is not None
        ]
        pending = [1_000 * (following.queued_at.timestamp() - answered) for answered, following in pairs]
        claimed = [1_000 * (self._claimed[following.id] - answered) for answered, following in pairs]
        return Outcome(
            verdicts=len(rows) / seconds,
            pending_p50=median(pending),
            pending_p99=quantiles(pending, n=100)[98],
            claimed_p50=median(claimed),
            claimed_p99=quantiles(claimed, n=100)[98],
            put_p50=1_000 * median(self._puts),
        )


def _expect(status: int, answer: Answer) -> None:
    if answer.status != status:
        raise RuntimeError(f"a call was answered {answer.status} instead of {status}: {bytes(answer.body)!r}")


async def _measure(order: Order) -> Outcome:
    return await Chains(order).run()


def main() -> None:
    """Read the order, carry it out, print the outcome."""
    print(json.dumps(asdict(uvloop.run(_measure(Order(**json.load(sys.stdin)))))))


if __name__ == "__main__":
    main()
