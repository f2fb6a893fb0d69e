"""The claim's SQL against the same rules in plain Python: random fleets, each with a random queue."""

import asyncio
from collections import Counter
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pipelines.status import Status
from domain.runners.matching import Candidate, Demand, RunnerType, Waiting, next_job
from models.columns import table_of
from models.repositories.accounts import accounts
from models.repositories.namespaces import namespaces
from models.repositories.pipelines.job_rows import dequeue
from models.repositories.projects import projects
from models.repositories.queue import demands, queue
from models.tables.projects import Project
from models.tables.queue import Lease, QueueEntry
from models.tables.runners import Runner, RunnerProject
from tests.models.world import BEGIN, World, job

entry = table_of(QueueEntry)
lease = table_of(Lease)
project = table_of(Project)
runner = table_of(Runner)
runner_project = table_of(RunnerProject)

TAGS = ("linux", "gpu", "arm")
JOBS = 8
PROJECTS = 4
"""Two in each of two organisations."""

tag_sets = st.frozensets(st.sampled_from(TAGS))


@dataclass(frozen=True)
class Fleet:
    """`asked` holds project, tags, protection of the first jobs; `switches` what each project lets in.

    These are instance runners, group runners, and those that are the server's user; the last one says that it is
    archived. `others`: somebody who is no
    administrator has an account.

    `held` are the projects of jobs that instance runners hold already, `together` how many polls look at once.
    """

    asked: list[tuple[int, frozenset[str], bool]]
    switches: list[tuple[bool, bool, bool, bool]]
    runners: list[Candidate]
    held: list[int]
    together: int
    others: bool


places = st.integers(0, PROJECTS - 1)
candidates = st.builds(
    Candidate,
    runner_type=st.sampled_from(RunnerType),
    organisation_id=st.integers(0, 1),
    projects=st.frozensets(places),
    tags=tag_sets,
    run_untagged=st.booleans(),
    ref_protected=st.sampled_from([False, False, True]),
    paused=st.sampled_from([False, False, False, True]),
    as_server=st.booleans(),
)
fleets = st.builds(
    Fleet,
    asked=st.lists(st.tuples(places, tag_sets, st.booleans()), max_size=JOBS),
    switches=st.lists(
        st.tuples(*[st.booleans()] * 3, st.sampled_from([False, False, False, True])),
        min_size=PROJECTS,
        max_size=PROJECTS,
    ),
    runners=st.lists(candidates, min_size=1, max_size=4),
    held=st.lists(places, max_size=3),
    together=st.integers(1, 4),
    others=st.booleans(),
)


class NeverMind(Exception):
    """Rolls a fleet back."""


class Ground:
    """Projects, their demands, one runner and job rows that fleets are made of. A fleet is never committed."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.projects: list[Any] = []
        self.demand_ids: dict[tuple[int, str, bool], int] = {}
        self.jobs: list[int] = []

    async def prepare(self) -> None:
        """Write what all fleets have in common."""
        await self.world.create(f"job: {{script: x, parallel: {JOBS + 3}}}\n")
        self.jobs = [row.id for row in await self.world.rows(job)]
        async with self.world.database.write() as connection:
            await connection.execute(update(job).values(status=Status.PENDING))
            for path in ("one", "two"):
                await namespaces.create(connection, path, path, BEGIN)
                owner = await namespaces.get_by(connection, path=path)
                for name in ("a", "b"):
                    made = await projects.create_project(connection, owner, name, name, self.world.user_id, BEGIN)
                    self.projects.append(await projects.find(connection, made))
            lists = [[tag for bit, tag in enumerate(TAGS) if mask >> bit & 1] for mask in range(2 ** len(TAGS))]
            for place, row in enumerate(self.projects):
                for protected in (False, True):
                    known = await demands.ensure(connection, row, lists, protected=protected)
                    self.demand_ids |= {(place, key, protected): number for key, number in known.items()}

    async def lay_out(self, connection: AsyncConnection, fleet: Fleet) -> list[Waiting]:
        """Write the queue of a fleet; the same for the model."""
        await accounts.change(connection, self.world.user_id, is_admin=not fleet.others)
        for row, (instance, group, allowed, archived) in zip(self.projects, fleet.switches, strict=True):
            values = {"shared_runners_enabled": instance, "group_runners_enabled": group, "may_run_as_server": allowed}
            values["archived"] = archived
            await connection.execute(update(project).where(project.c.id == row.id).values(**values))
        for number, place in enumerate(fleet.held):
            await self.hold(connection, self.jobs[JOBS + number], place)
        waiting = []
        for job_id, (place, tags, protected) in zip(self.jobs, fleet.asked, strict=False):
            demand_id = self.demand_ids[place, demands.tag_key(tags), protected]
            await connection.execute(insert(entry).values(job_id=job_id, demand_id=demand_id, since=0.0))
            instance, group, allowed, archived = fleet.switches[place]
            owner = self.projects[place].organisation_id
            demand = Demand(
                place,
                owner,
                tags,
                protected,
                instance,
                group,
                may_run_as_server=allowed,
                others=fleet.others,
                archived=archived,
            )
            waiting.append(Waiting(job_id, demand))
        return waiting

    async def hold(self, connection: AsyncConnection, job_id: int, place: int) -> None:
        """Let an instance runner hold a job of a project."""
        values = {"hand_out": 1, "load_of": self.projects[place].id}
        await connection.execute(insert(lease).values(job_id=job_id, taken_up=False, contact=0, since=0, **values))

    async def become(self, connection: AsyncConnection, one: Candidate) -> Candidate:
        """The runner is one of the fleet from now on; what it is for the model, with the organisations' real ids."""
        organisation = self.projects[2 * (one.organisation_id or 0)].organisation_id
        values = {
            "runner_type": one.runner_type,
            "organisation_id": organisation,
            "tags": sorted(one.tags),
            "run_untagged": one.run_untagged,
            "ref_protected": one.ref_protected,
            "paused": one.paused,
            "as_server": one.as_server,
        }
        await connection.execute(update(runner).where(runner.c.id == self.world.runner_id).values(**values))
        await connection.execute(delete(runner_project))
        for place in one.projects:
            link = {"runner_id": self.world.runner_id, "project_id": self.projects[place].id}
            await connection.execute(insert(runner_project).values(**link))
        return replace(one, organisation_id=organisation)

    async def check(self, fleet: Fleet) -> None:
        """Every runner of the fleet in turn takes all that it may have: the same jobs in the same order."""
        with suppress(NeverMind):
            async with self.world.database.write() as connection:
                await self.compare(connection, fleet)
                raise NeverMind

    async def compare(self, connection: AsyncConnection, fleet: Fleet) -> None:
        """The same within a transaction."""
        waiting = await self.lay_out(connection, fleet)
        load = Counter(fleet.held)
        for one in fleet.runners:
            candidate = await self.become(connection, one)
            while wanted := self.wanted(waiting, candidate, load, fleet.together):
                assert await self.pick(connection, fleet.together) == [item.job_id for item in wanted], (fleet, one)
                await dequeue(connection, [item.job_id for item in wanted])
                for item in wanted if one.runner_type is RunnerType.INSTANCE else ():
                    await self.hold(connection, item.job_id, item.demand.project_id)
            assert await self.pick(connection, fleet.together) == [], (fleet, one)

    def wanted(self, waiting: list[Waiting], one: Candidate, load: Counter[int], together: int) -> list[Waiting]:
        """What the model gives to so many polls of the runner, one after the other."""
        found: list[Waiting] = []
        while len(found) < together and (job_id := next_job(waiting, one, load)) is not None:
            (taken,) = (item for item in waiting if item.job_id == job_id)
            waiting.remove(taken)
            found.append(taken)
            if one.runner_type is RunnerType.INSTANCE:
                load[taken.demand.project_id] += 1
        return found

    async def pick(self, connection: AsyncConnection, together: int) -> list[int]:
        """What SQL gives to so many polls of the runner at once."""
        rows = await queue.runners_of(connection, [self.world.runner_id])
        return [
            item.job_id for row in rows.values() for item in await queue.turns(connection, queue.kind_of(row), together)
        ]


@pytest.mark.parametrize("count", [150, pytest.param(2_000, marks=pytest.mark.nightly)])
async def test_sql_and_model_agree_on_every_fleet(world: World, count: int) -> None:
    ground = Ground(world)
    await ground.prepare()
    loop = asyncio.get_running_loop()
    seen = Counter[str]()

    def now(work: Awaitable[None]) -> None:
        asyncio.run_coroutine_threadsafe(_awaited(work), loop).result(timeout=30)

    @settings(max_examples=count, database=None)
    @given(fleets)
    def check(fleet: Fleet) -> None:
        now(ground.check(fleet))
        seen["fleets"] += 1

    await asyncio.to_thread(check)
    assert seen["fleets"] >= count
    async with world.database.read() as connection:
        assert (await connection.execute(select(entry))).first() is None


async def _awaited(work: Awaitable[None]) -> None:
    await work
