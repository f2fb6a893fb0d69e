"""The load of the log benchmark: many jobs send their logs at the same time, as a process of its own.

    echo '{"port": ..., ...}' | python -m bench.log_load

The question on standard input has the fields of `Order`, the answer on standard output those of `Outcome`.
"""

import asyncio
import json
import random
import sys
import time
from dataclasses import asdict, dataclass
from statistics import quantiles
from typing import Final

import uvloop

from bench.http_connection import Connection

CHUNK: Final = 16 * 1024
LINE: Final = 80


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be sent, and where. `jobs` are (id, token); the log of each goes on at byte `start`.

    With a `pace` each job sends a chunk in so many seconds, without one as soon as the one before is answered.
    """

    port: int
    jobs: list[tuple[int, str]]
    start: int
    chunks: int
    pace: float = 0.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """Seconds from the first chunk to the last answer, milliseconds of single PATCHes, seconds of our own processor."""

    seconds: float
    p50: float
    p99: float
    cpu: float


def chunk() -> bytes:
    """A piece of log: lines of letters that do not compress to nothing, always the same."""
    letters = random.Random(1).choices("abcdefghijklmnopqrstuvwxyz 0123456789", k=CHUNK)
    letters[LINE - 1 :: LINE] = "\n" * len(letters[LINE - 1 :: LINE])
    return "".join(letters).encode()


async def run(order: Order) -> Outcome:
    """Send it all. Raises `RuntimeError` when a chunk is not taken."""
    took: list[float] = []
    begin = time.perf_counter()
    await asyncio.gather(*(_job(order, number, took) for number in range(len(order.jobs))))
    cuts = quantiles(took, n=100)
    return Outcome(time.perf_counter() - begin, 1_000 * cuts[49], 1_000 * cuts[98], time.process_time())


async def _job(order: Order, number: int, took: list[float]) -> None:
    job, token = order.jobs[number]
    connection, content = Connection("127.0.0.1", order.port), chunk()
    begin = time.perf_counter() + order.pace * number / len(order.jobs)
    for turn in range(order.chunks):
        if order.pace:
            await asyncio.sleep(max(0.0, begin + turn * order.pace - time.perf_counter()))
        place = order.start + turn * CHUNK
        headers = (b"job-token: " + token.encode(), b"content-range: %d-%d" % (place, place + CHUNK - 1))
        sent = time.perf_counter()
        answer = await connection.request("PATCH", f"/api/v4/jobs/{job}/trace?debug_trace=false", content, headers)
        took.append(time.perf_counter() - sent)
        if answer.status != 202:
            raise RuntimeError(f"a chunk of job {job} was answered {answer.status}: {bytes(answer.body)!r}")
    connection.close()


if __name__ == "__main__":
    print(json.dumps(asdict(uvloop.run(run(Order(**json.load(sys.stdin)))))))
