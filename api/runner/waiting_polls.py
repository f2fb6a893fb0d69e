"""The runners that wait for a job in this process: whom a job wakes (docs/seam.md, "Waking").

A waiting poll costs no query. Jobs are told of by demand, and wake as many of those that may take them, who waits
longest first; each process wakes so many of its own. A poll that was called for one job and found another passes the
call on. One look each `queue_rescan` seconds, for all polls together, finds what nobody was told of.
"""

import asyncio
from collections.abc import Collection, Coroutine, Iterable, Mapping
from itertools import count
from typing import Final

import structlog

from api.runner.batching import AskedTogether
from api.runner.known_runners import KnownRunners
from api.runner.queue_position import Place
from api.runner.queue_version import QueueVersion
from domain.runners.matching import Candidate, Demand, may_take
from models import job_offers
from models.notifications import JOBS, RUNNERS, Notifications
from models.repositories.queue import demands, queue_counts
from models.repositories.queue.candidates import KnownRunner
from models.session import Database

_MAX_DEMANDS: Final = 20_000
"""So many are kept in memory."""
_NOBODY: Final = Candidate(paused=True)

log = structlog.get_logger()


class WaitingPolls:
    """The row of those that wait, and what this process knows of the queue."""

    def __init__(self, database: Database, notifications: Notifications, runners: KnownRunners, rescan: float) -> None:
        """Look by itself each `rescan` seconds, once it is started."""
        self.version = QueueVersion()
        self._database = database
        self._runners = runners
        self._rescan = rescan
        self._rows: dict[Candidate, dict[int, Place]] = {}
        self._arrivals = count(1)
        self._demands: dict[int, Demand] = {}
        self._last_look: Collection[Demand] = ()
        self._looks = AskedTogether(self._look)
        self._reading_demands = AskedTogether(self._read_demands)
        self._look_now = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        notifications.listen(JOBS, self._told_of_jobs)
        notifications.listen(RUNNERS, self._told_of_a_change)

    @property
    def waiting(self) -> int:
        """How many runners are held."""
        return sum(map(len, self._rows.values()))

    def start(self) -> None:
        """Look by itself from now on."""
        self._spawn(self._keep_looking())

    async def close(self) -> None:
        """Look no more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def let_go(self) -> None:
        """Call everybody, for the process is about to stop."""
        for place in self._everybody():
            self.withdraw(place)
            place.call(None)

    def enter(self, place: Place) -> None:
        """Wait from now on, behind all others."""
        place.arrival = next(self._arrivals)
        self._rows.setdefault(place.candidate, {})[place.arrival] = place

    def withdraw(self, place: Place) -> None:
        """Wait no more."""
        row = self._rows.get(place.candidate, {})
        row.pop(place.arrival, None)
        if not row:
            self._rows.pop(place.candidate, None)

    def offer(self, demand_id: int, jobs: int) -> None:
        """Call so many of those that may take jobs of a demand; who is away now looks when it comes."""
        demand = self._demands.get(demand_id)
        if demand is None:
            self._spawn(self._offer_unknown(demand_id, jobs))
            return
        self.version.offered(demand_id, demand)
        rows = [row for runner, row in self._rows.items() if may_take(demand, runner)]
        for _ in range(jobs):
            rows = [row for row in rows if row]
            if not rows:
                break
            place = min((next(iter(row.values())) for row in rows), key=lambda place: place.arrival)
            self.withdraw(place)
            place.call(demand_id)

    async def may_find(self, runner: KnownRunner, request_id: str) -> bool:
        """Whether a claim is worth trying: there may be a job, or this request was given one already.

        That there is none is never an old truth; that there is one may be, and costs a claim in vain.
        """
        if any(may_take(demand, runner.candidate) for demand in self._last_look):
            return True
        return bool(await self._looks.ask((runner.candidate, request_id)))

    def found_nothing(self) -> None:
        """A claim was in vain: what the last look saw is no longer so."""
        self._last_look = ()

    async def _look(self, asked: Collection[tuple[Candidate, str]]) -> Mapping[tuple[Candidate, str], bool]:
        """Look into the queue for all that asked."""
        requests = [request_id for _, request_id in asked if request_id]
        async with self._database.read() as connection:
            present = await queue_counts.present(connection)
            repeated = await queue_counts.repeated(connection, requests) if requests else ()
        unknown = present - self._demands.keys()
        if unknown:
            await self._read_demands(unknown)
        self._last_look = [self._demands[demand_id] for demand_id in present if demand_id in self._demands]
        return {
            (runner, request_id): request_id in repeated or any(may_take(one, runner) for one in self._last_look)
            for runner, request_id in asked
        }

    def _told_of_jobs(self, text: str) -> None:
        if not text:
            self.version.changed()
            self._look_now.set()
        for demand_id, jobs in job_offers.read(text).items():
            self.offer(demand_id, jobs)

    def _told_of_a_change(self, _text: str) -> None:
        self._runners.forget()
        self._demands.clear()
        self.found_nothing()
        self.version.changed()
        self._look_now.set()

    async def _keep_looking(self) -> None:
        while True:
            await _set_within(self._look_now, self._rescan)
            self._look_now.clear()
            try:
                await self._look_for_all()
            except Exception:
                self._runners.forget()
                log.exception("the queue could not be looked at; the next look is soon")

    async def _look_for_all(self) -> None:
        """Those that wait are as they are now, and are called for what nobody was told of."""
        if not self._rows:
            self._runners.forget()
            return
        await self._refresh()
        async with self._database.read() as connection:
            jobs = await queue_counts.counts(connection)
            self._demands = await demands.read(connection, jobs) if jobs else {}
        for demand_id, number in jobs.items():
            self.offer(demand_id, number)

    async def _refresh(self) -> None:
        """Who has changed meanwhile waits as what it is now."""
        known = await self._runners.refresh({place.runner.token_hash for place in self._everybody()})
        for place in self._everybody():
            now = known.get(place.runner.token_hash)
            candidate = _NOBODY if now is None else now.candidate
            if candidate != place.candidate:
                self.withdraw(place)
                place.candidate = candidate
                self.enter(place)

    def _everybody(self) -> list[Place]:
        return [place for row in self._rows.values() for place in row.values()]

    async def _offer_unknown(self, demand_id: int, jobs: int) -> None:
        try:
            await self._reading_demands.ask(demand_id)
        except Exception:
            log.exception("a demand could not be read; the next look is soon", demand=demand_id)
        if demand_id in self._demands:
            self.offer(demand_id, jobs)
        else:
            self._told_of_jobs("")

    async def _read_demands(self, ids: Iterable[int]) -> Mapping[int, Demand]:
        async with self._database.read() as connection:
            found = await demands.read(connection, ids)
        if len(self._demands) > _MAX_DEMANDS:
            self._demands.clear()
        self._demands.update(found)
        return found

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _set_within(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        pass
