"""Moving an organisation from one pod to another: each step is written down, and the same call goes on from there.

Where a step is one transaction it is done or it is not. What comes before it may be done twice: copies, notes at the
directory. `domain.pods.moving` has the states (docs/pods.md, "Moving an organisation").
"""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, TypeAlias
from uuid import uuid4

from sqlalchemy.ext.asyncio import AsyncConnection

from application.moves.brought_people import note_people
from application.moves.copies import Copies, check_objects, check_repositories, copy_objects, copy_repositories
from application.moves.pod_place import PodPlace
from application.moves.sealed import opened, resealed
from domain.errors import NotFound, Refused, Unavailable
from domain.pods.directory import IdKind
from domain.pods.moving import Arrival, Move
from models.clock import Clock
from models.repositories.moves import moved_ids, moves, obstacles, packing, unpacking
from models.repositories.moves.obstacles import Obstacle
from models.repositories.moves.stored_objects import objects_of
from models.repositories.moves.unpacking import Place
from models.repositories.namespaces import namespaces
from models.rows.moves import OrganisationArrivalRow, OrganisationMoveRow
from pods.directory_client import DirectoryClient

EndWorkflows: TypeAlias = Callable[[Mapping[int, str], Sequence[int]], Awaitable[None]]
"""Ends workflows of pipelines, whose status is given by their ids, and those of resource groups."""

NOTICED: Final = 1.5
"""Seconds after which every process of the source knows that an organisation is drained, or that it is held: each reads
it once a second (`application.moves.away`)."""
LOOK: Final = 0.5
"""Seconds between two looks at what is under way."""
GRACE: Final = timedelta(hours=24)
"""How long the source keeps what is packed, objects and repositories."""
_SHOWN: Final = 10


@dataclass(frozen=True, slots=True)
class Options:
    """`wait` are seconds for what is under way, `grace` is how long the source keeps what it had."""

    wait: float = 600.0
    grace: timedelta = GRACE


@dataclass(slots=True)
class Moved:
    """What a move came to: rows by table, those that could not come along, objects, repositories with their refs."""

    state: Move
    move_id: str
    path: str
    source: str
    target: str
    rows: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    objects: int = 0
    repositories: int = 0
    refs: int = 0


class Moving:
    """One move, from wherever it is to its end, or back."""

    def __init__(
        self,
        source: PodPlace,
        target: PodPlace,
        directory: DirectoryClient,
        end_workflows: EndWorkflows,
        clock: Clock,
        options: Options,
        tell: Callable[[Move, str], None],
    ) -> None:
        """`end_workflows` ends those at the source, `tell` hears of each step."""
        self._source = source
        self._target = target
        self._directory = directory
        self._end_workflows = end_workflows
        self._clock = clock
        self._options = options
        self._tell = tell
        self._copies = Copies()
        self._deadline = time.monotonic() + options.wait

    async def run(self, path: str) -> Moved:
        """Begin a move, or go on with it. Raises `NotFound`, `Refused` and `Unavailable`."""
        row = await self._begun(path.lower())
        steps = {
            Move.COPYING: self._copy,
            Move.DRAINING: self._drain,
            Move.HELD: self._pack,
            Move.PACKED: self._arrive,
            Move.ARRIVED: self._switch,
        }
        while (step := steps.get(Move(row.state))) is not None:
            self._tell(Move(row.state), _WORDS[Move(row.state)].format(source=row.path, target=row.target))
            await step(row)
            row = await self._now(row.move_id)
        return self._result(row)

    async def call_off(self, path: str) -> Moved:
        """Put everything back. Raises `NotFound` without a move, `Refused` for one that has arrived."""
        async with self._source.database.read() as connection:
            row = await moves.open_of(connection, path.lower())
        if row is None:
            raise NotFound(f"No move of {path} is under way in pod {self._source.name}.")
        self._check_target(row)
        async with self._target.database.write() as connection:
            await moves.expect(connection, self._arrival(row))
            await moves.turn_arrival(connection, row.move_id, Arrival.CALLED_OFF, self._clock())
            arrival = await moves.find_arrival(connection, row.move_id)
        if arrival is None or arrival.state != Arrival.CALLED_OFF:
            raise Refused(
                f"{row.path} has arrived in pod {row.target}, where its work goes on: run `perdure pod move {row.path} "
                f"--to {row.target}` to its end. The way back is a move."
            )
        async with self._source.database.write() as connection:
            await packing.begin_whole(connection)
            before = await moves.find(connection, row.move_id)
            assert before is not None  # moves are never removed
            if not await moves.turn(connection, row.move_id, Move.CALLED_OFF, self._clock(), claim_id=""):
                raise Refused(f"The move of {row.path} is {before.state}; look at it again.")
            if before.state == Move.PACKED:
                await self._put_back(connection, before)
        await self._discard(row)
        return self._result(await self._now(row.move_id))

    async def _begun(self, path: str) -> OrganisationMoveRow:
        async with self._source.database.write() as connection:
            row = await moves.open_of(connection, path)
            if row is None:
                row = await self._new(connection, path)
                await moves.begin(connection, row)
        self._check_target(row)
        return row

    def _check_target(self, row: OrganisationMoveRow) -> None:
        if (row.target, row.target_number) != (self._target.name, self._target.number):
            raise Refused(f"{row.path} is on its way to pod {row.target}: end or call off that move first.")

    async def _new(self, connection: AsyncConnection, path: str) -> OrganisationMoveRow:
        group = await namespaces.find_top(connection, path)
        if group is None:
            raise NotFound(f"Pod {self._source.name} has no group at the top with the path {path}.")
        if await moves.claim_of(connection, group.id) is None:
            raise Refused(f"The directory does not know for certain that {path} is in pod {self._source.name}; wait.")
        if self._target.database.is_sqlite:
            await unpacking.check_highest(connection, group.id, self._target.number)
        now = self._clock()
        return OrganisationMoveRow(
            move_id=str(uuid4()),
            organisation_id=group.id,
            path=path,
            target=self._target.name,
            target_number=self._target.number,
            state=Move.COPYING,
            claim_id="",
            facts={},
            created_at=now,
            changed_at=now,
            forget_at=None,
        )

    async def _now(self, move_id: str) -> OrganisationMoveRow:
        async with self._source.database.read() as connection:
            row = await moves.find(connection, move_id)
        assert row is not None  # moves are never removed
        return row

    def _arrival(self, row: OrganisationMoveRow) -> OrganisationArrivalRow:
        now = self._clock()
        return OrganisationArrivalRow(
            move_id=row.move_id,
            organisation_id=row.organisation_id,
            path=row.path,
            source=self._source.name,
            state=Arrival.EXPECTED,
            claim_id="",
            created_at=now,
            changed_at=now,
        )

    async def _turn(self, row: OrganisationMoveRow, state: Move, **values: Any) -> None:
        async with self._source.database.write() as connection:
            await self._turn_in(connection, row, state, **values)

    async def _turn_in(self, connection: AsyncConnection, row: OrganisationMoveRow, state: Move, **values: Any) -> None:
        if not await moves.turn(connection, row.move_id, state, self._clock(), **values):
            raise Refused(f"The move of {row.path} went on elsewhere meanwhile; look at it again.")

    async def _copy(self, row: OrganisationMoveRow) -> None:
        """While work goes on: what comes later is copied later."""
        async with self._target.database.write() as connection:
            await moves.expect(connection, self._arrival(row))
        await self._copy_beside(row)
        await self._turn(row, Move.DRAINING)

    async def _copy_beside(self, row: OrganisationMoveRow) -> None:
        self._copies = Copies()
        async with self._source.database.read() as connection:
            ids = await moved_ids.of_organisation(connection, row.organisation_id)
            await copy_objects(self._source, self._target, objects_of(connection, row.organisation_id), self._copies)
        await copy_repositories(self._source, self._target, ids[IdKind.PROJECT], self._copies)

    async def _drain(self, row: OrganisationMoveRow) -> None:
        """Until nothing is under way; then once more what has come meanwhile, so that little is left for the end.

        No process hands out jobs any more when this looks: the first call of a job for an organisation that is held
        waits in the front, its runner would count as silent, and the job would be handed out twice.
        """
        await asyncio.sleep(NOTICED)
        while found := await self._obstacles(row):
            if time.monotonic() >= self._deadline:
                await self._give_up(row, found)
            await asyncio.sleep(LOOK)
        await self._copy_beside(row)
        async with self._source.database.read() as connection:
            ids = await moved_ids.of_organisation(connection, row.organisation_id)
        await self._turn(row, Move.HELD, facts={"ids": ids})

    async def _obstacles(self, row: OrganisationMoveRow) -> Sequence[Obstacle]:
        async with self._source.database.read() as connection:
            return await obstacles.obstacles(connection, row.organisation_id, self._clock())

    async def _give_up(self, row: OrganisationMoveRow, found: Sequence[Obstacle]) -> None:
        """Nothing has happened yet that anybody would notice: work goes on where it was."""
        named = ", ".join(f"{one.what} ({one.id})" for one in found[:_SHOWN])
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        await self.call_off(row.path)
        raise Refused(
            f"{row.path} cannot leave pod {self._source.name}: after {self._options.wait:g} s there is still {named}"
            f"{more}. The move is called off, and runners get its jobs again. Let them end, or cancel them, or wait "
            "longer with --wait."
        )

    async def _pack(self, row: OrganisationMoveRow) -> None:
        """Requests are refused by every process of the pod from now on; what they had begun is seen."""
        await asyncio.sleep(NOTICED)
        if not await self._obstacles(row):
            await self._copy_beside(row)
            async with self._source.database.write() as connection:
                await packing.begin_whole(connection)
                if not await obstacles.obstacles(connection, row.organisation_id, self._clock()):
                    await self._pack_in(connection, row)
                    return
        await self._turn(row, Move.DRAINING)

    async def _pack_in(self, connection: AsyncConnection, row: OrganisationMoveRow) -> None:
        claim = await moves.claim_of(connection, row.organisation_id)
        if claim is None:
            raise Refused(f"The claim on {row.path} has changed; run the move again.")
        ids = await moved_ids.of_organisation(connection, row.organisation_id)
        packed = await packing.pack(connection, row.move_id, row.organisation_id)
        await moves.give_claim_away(connection, claim.claim_id)
        facts = {"ids": ids, "rows": _by_name(packed.counts), "left_out": _by_name(packed.left_out)}
        await self._turn_in(connection, row, Move.PACKED, claim_id=claim.claim_id, facts=facts)

    async def _arrive(self, row: OrganisationMoveRow) -> None:
        """Everything beside the rows is there, and compared; then the rows come, and are added up, in one step."""
        projects = row.facts["ids"][IdKind.PROJECT]
        self._copies = Copies()
        async with self._source.database.read() as connection:
            objects = packing.packed_objects(connection, row.move_id)
            await copy_objects(self._source, self._target, objects, self._copies)
            await copy_repositories(self._source, self._target, projects, self._copies)
            await check_repositories(self._source, self._target, projects)
            await check_objects(self._source, self._target, packing.packed_objects(connection, row.move_id))
        for kind, ids in row.facts["ids"].items():
            await self._directory.own(row.path, IdKind(kind), ids)
        async with self._target.database.write() as connection:
            await self._unpack(connection, row)
        await self._turn(row, Move.ARRIVED)

    async def _unpack(self, connection: AsyncConnection, row: OrganisationMoveRow) -> None:
        now = self._clock()
        if not await moves.turn_arrival(connection, row.move_id, Arrival.ARRIVED, now, claim_id=row.claim_id):
            arrival = await moves.find_arrival(connection, row.move_id)
            if arrival is None or arrival.state == Arrival.CALLED_OFF:
                raise Refused(f"The move of {row.path} is being called off: `perdure pod move --call-off` ends it.")
            return  # it has come, and whoever brought it did not live to say so
        place = Place(
            self._target.number, resealed(self._source.sealer, self._target.sealer), opened(self._target.sealer)
        )
        async with self._source.database.read() as packed:
            people = packing.packs(packed, row.move_id, people=True)
            known = await unpacking.take_people(connection, people, place, now)
            place = Place(place.pod_number, place.reseal, place.opened, known)
            rows = packing.packs(packed, row.move_id, people=False)
            sums = await unpacking.unpack(connection, rows, place)
        there = await unpacking.added_up(connection, row.organisation_id, place.opened)
        counts = {name: count for name, (count, _) in there.items()}
        if there != sums or counts != {name: count for name, count in row.facts["rows"].items() if count}:
            wrong = sorted(name for name in {*sums, *there, *row.facts["rows"]} if there.get(name) != sums.get(name))
            raise Unavailable(f"Rows in pod {self._target.name} are not what was packed ({', '.join(wrong)}).")
        await moves.take_claim(connection, row.claim_id, row.path, row.organisation_id, now)

    async def _switch(self, row: OrganisationMoveRow) -> None:
        """The directory leads to the target; what still runs at the source has no rows, and is ended."""
        await self._directory.move(row.path, self._target.number, self._source.number)
        async with self._target.database.write() as connection:
            await moves.turn_arrival(connection, row.move_id, Arrival.SETTLED, self._clock())
        async with self._source.database.read() as connection:
            pipelines = await packing.packed_columns(connection, row.move_id, "pipeline", "id", "status")
            groups = await packing.packed_columns(connection, row.move_id, "resource_group", "id")
        await self._end_workflows(dict(pipelines), [group for (group,) in groups])
        async with self._source.database.write() as connection:
            await note_people(connection, row.move_id, self._target.number, self._clock())
            await self._turn_in(connection, row, Move.SWITCHED, forget_at=self._clock() + self._options.grace)

    async def _put_back(self, connection: AsyncConnection, row: OrganisationMoveRow) -> None:
        place = Place(self._source.number, _as_it_is, opened(self._source.sealer), is_new=False)
        rows = packing.packs(connection, row.move_id, people=False)
        await unpacking.unpack(connection, rows, place)
        await moves.take_claim(connection, row.claim_id, row.path, row.organisation_id, self._clock())
        await packing.forget(connection, row.move_id)

    async def _discard(self, row: OrganisationMoveRow) -> None:
        """What was copied for nothing goes."""
        async with self._source.database.read() as connection:
            ids = await moved_ids.of_organisation(connection, row.organisation_id)
            async for one in objects_of(connection, row.organisation_id):
                await self._target.store.delete(one.key)
        for project_id in ids[IdKind.PROJECT]:
            await self._target.repositories.remove(project_id)

    def _result(self, row: OrganisationMoveRow) -> Moved:
        done = self._copies
        return Moved(
            Move(row.state),
            row.move_id,
            row.path,
            self._source.name,
            row.target,
            Counter(row.facts.get("rows", {})),
            Counter(row.facts.get("left_out", {})),
            done.objects - done.missing,
            done.repositories,
            done.refs,
        )


def _by_name(counts: Mapping[str, int]) -> dict[str, int]:
    """Counts by table; what SQLAlchemy calls a table is no plain text."""
    return {str(name): count for name, count in counts.items() if count}


def _as_it_is(_name: str, row: dict[str, Any]) -> dict[str, Any]:
    return row


_WORDS: Final = {
    Move.COPYING: "objects and repositories are copied; work goes on",
    Move.DRAINING: "runners get no more jobs of {source}; those that they have are awaited",
    Move.HELD: "requests for {source} get 503 and come again",
    Move.PACKED: "its rows are packed, and come to pod {target}",
    Move.ARRIVED: "pod {target} has it; the directory is told",
}
