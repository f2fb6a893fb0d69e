"""One of three pods and the directory are killed for five minutes of load: what others see, and when work goes on."""

import asyncio
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Final

import orjson

from bench.options import Options
from bench.outage.cluster import LOST, Cluster, cluster
from bench.outage.load import Order, Pod, question_of
from bench.rows import Row, Side
from bench.servers import ask_module

WARM, BEFORE, AWAY, AFTER = 20.0, 300.0, 300.0, 60.0
"""Seconds: unmeasured, with all pods, without one, and with it again."""
JOBS, RUNNERS = 10, 5
"""Of a pipeline, and of a pod."""
PIPELINES, QUESTIONS = 0.3, 20.0
"""A second, at each pod."""
MAX_WORSE: Final = 1.1
"""So many times its p99 with all pods may the p99 of the others be while one is away."""
MAX_RETURN: Final = 10.0
"""Seconds from the pod's return to the first job that is handed out."""
MAX_REFUSAL: Final = 3.0
"""Seconds until the 503 of a pod that is away."""
_HELD: Final = "poll"
"""What the server holds back: it takes as long as there is no job."""


@dataclass(frozen=True, slots=True)
class Told:
    """A response: when (s), to what, with which status, after how long (ms); the job that it handed out, or 0."""

    pod: str
    at: float
    kind: str
    status: int
    took: float
    job: int


def rows(_: Options) -> list[Row]:
    """Measure once: it takes twelve minutes."""
    told, back = asyncio.run(measure())
    return figures(told, back)


async def measure() -> tuple[list[Told], float]:
    """All responses, and when the pod was ready again."""
    with tempfile.NamedTemporaryFile(prefix="perdure-outage-") as file:
        return await _measured(Path(file.name))


async def _measured(responses: Path) -> tuple[list[Told], float]:
    async with cluster(JOBS, RUNNERS) as there:
        begin = time.time() + 1.0
        load = asyncio.create_task(ask_module("bench.outage.load", question_of(_order(there, begin, responses))))
        await _until(begin + WARM + BEFORE)
        await there.dying.kill()
        await _until(begin + WARM + BEFORE + AWAY)
        await there.dying.start()
        back = time.time() - begin
        await load
    return [Told(*one) for one in orjson.loads(await asyncio.to_thread(responses.read_bytes))], back


def _order(there: Cluster, begin: float, responses: Path) -> Order:
    pods = tuple(
        Pod(name, token, there.targets[name].project, there.targets[name].runners)
        for name, token in there.tokens.items()
    )
    return Order(there.port, pods, begin, WARM + BEFORE + AWAY + AFTER, PIPELINES, QUESTIONS, str(responses))


async def _until(moment: float) -> None:
    await asyncio.sleep(moment - time.time())


def figures(told: Sequence[Told], back: float) -> list[Row]:
    """The figures of one run; `back` is when the pod was ready again."""
    killed = WARM + BEFORE
    others = [one for one in told if one.pod != LOST and one.at >= WARM]
    lost = [one for one in told if one.pod == LOST and one.at >= WARM]
    before = [one.took for one in others if one.at < killed and one.kind != _HELD]
    meanwhile = [one.took for one in others if killed <= one.at < killed + AWAY and one.kind != _HELD]
    jobs = [one.job for one in told if one.job]
    first = min((one.at for one in lost if one.job and one.at > killed + AWAY), default=float("nan"))
    # What was under way when the pod was killed had waited for the pod until then.
    refusals = [
        min(one.took / 1_000, one.at - killed) for one in lost if killed <= one.at < killed + AWAY and one.status == 503
    ]
    slowest = max(refusals, default=float("nan"))
    name = "one of three pods away for five minutes"
    return [
        Row(f"{name}: responses of the others meanwhile", len(meanwhile), ""),
        Row(f"{name}: errors of the others", sum(not 200 <= one.status < 300 for one in others), "", 0, Side.AT_MOST),
        Row(f"{name}: others' p50 before", median(before), "ms"),
        Row(f"{name}: others' p50 meanwhile", median(meanwhile), "ms"),
        Row(f"{name}: others' p99 before", _p99(before), "ms"),
        Row(f"{name}: others' p99 meanwhile", _p99(meanwhile), "ms"),
        Row(f"{name}: others' p99, meanwhile / before", _p99(meanwhile) / _p99(before), "", MAX_WORSE, Side.AT_MOST),
        Row(f"{name}: its own 503s", len(refusals), ""),
        Row(f"{name}: the slowest of them", slowest, "s", MAX_REFUSAL, Side.AT_MOST),
        Row(f"{name}: its own other errors", len(_strange(lost)), "", 0, Side.AT_MOST),
        Row(f"{name}: from its return to a job handed out", max(first - back, 0.0), "s", MAX_RETURN, Side.AT_MOST),
        Row(f"{name}: jobs handed out", len(jobs), ""),
        Row(f"{name}: of these twice", len(jobs) - len(set(jobs)), "", 0, Side.AT_MOST),
    ]


def _strange(lost: Sequence[Told]) -> list[Told]:
    return [one for one in lost if not 200 <= one.status < 300 and one.status != 503]


def _p99(took: Sequence[float]) -> float:
    return quantiles(took, n=100)[98]
