"""What jobs that have not ended wait for: a runner that fits, or a sign of life of the one that they have."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pipelines.status import HELD_BY_RUNNER
from models.repositories.queue import leases, waiting_jobs
from models.repositories.queue.waiting_jobs import AwaitedJob
from settings import TimeLimits


@dataclass(frozen=True, slots=True)
class Standings:
    """Of a list of jobs: why no runner can take them, by id, and those whose runner is silent."""

    stuck: Mapping[int, str]
    unresponsive: frozenset[int]


async def of_jobs(
    connection: AsyncConnection, rows: Sequence[AwaitedJob], now: datetime, times: TimeLimits
) -> Standings:
    """How these jobs stand; costs nothing where all of them have ended."""
    held = [row.id for row in rows if row.status in HELD_BY_RUNNER]
    return Standings(
        stuck=await waiting_jobs.reasons(connection, rows, now, times.runner_online),
        unresponsive=frozenset(await leases.unresponsive(connection, held, times.ticks_until_unresponsive)),
    )
