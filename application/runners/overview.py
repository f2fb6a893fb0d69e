"""Runners as somebody may know of them, and the queue by tag set with those of them that serve it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from application.runners.queue import queue_for
from application.services import Services
from auth.permissions import MAINTAINER, Caller
from domain.runners.status import Connection, Holds, connection_of
from domain.runners.tag_set_queues import TagSetQueue
from models.repositories import database_time
from models.repositories.paging import slice_of
from models.repositories.runners import runner_listings
from models.rows.runners import RunnerRow


@dataclass(frozen=True, slots=True)
class SeenRunner:
    """A runner that somebody may know of, how it stands, and whether it holds a job."""

    row: RunnerRow
    connection: Connection
    holds: Holds


@dataclass(frozen=True, slots=True)
class ServedTagSet:
    """The queue of a tag set. `by` are the runners that serve it, of those that whoever asks may know of."""

    queue: TagSetQueue
    by: tuple[RunnerRow, ...]

    @property
    def key(self) -> str:
        """What tells it from others, in letters and digits."""
        return sha256(repr(self.queue.tags).encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class Overview:
    """The queue, what has waited longest first; and one page of the runners of `total`."""

    queue: Sequence[ServedTagSet]
    runners: Sequence[SeenRunner]
    total: int

    @property
    def depth(self) -> int:
        """How many jobs wait."""
        return sum(one.queue.jobs for one in self.queue)

    @property
    def oldest(self) -> float:
        """For how many seconds the first of them has."""
        return max((one.queue.waited for one in self.queue), default=0.0)

    @property
    def stuck(self) -> int:
        """How many of them no runner takes."""
        return sum(one.queue.stuck for one in self.queue)


async def overview_for(services: Services, caller: Caller, number: int, size: int) -> Overview:
    """What a person may know: of runners as `auth.permissions.RUNNER_BASIS` says, of the queue as `queue_for` does."""
    queue = await queue_for(services, caller)
    wanted = runner_listings.everything() if caller.is_admin else runner_listings.seen_by(caller.user_id, MAINTAINER)
    serving = {runner_id for one in queue for runner_id in one.runner_ids}
    async with services.database.read() as connection:
        now = await database_time.moment(connection)
        found = await slice_of(connection, wanted, number, size)
        ticks = services.settings.times.ticks_until_unresponsive
        holding = await runner_listings.holding(connection, [row.id for row in found.rows], ticks)
        known = await runner_listings.among(connection, wanted, serving)
    shown = [_seen(row, now, holding.get(row.id, Holds.NOTHING)) for row in found.rows]
    return Overview([_served(one, known) for one in queue], shown, found.total)


def _seen(row: RunnerRow, now: datetime, holds: Holds) -> SeenRunner:
    return SeenRunner(row, connection_of(row.contacted_at, row.created_at, now, holds), holds)


def _served(queue: TagSetQueue, known: Mapping[int, RunnerRow]) -> ServedTagSet:
    return ServedTagSet(queue, tuple(known[key] for key in queue.runner_ids if key in known))
