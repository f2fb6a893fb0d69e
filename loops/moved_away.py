"""What organisations have left behind goes, when the time is over for which it was kept.

The move is noted as forgotten in the transaction that dooms its objects; repositories go after it. One that is killed
in between leaves repositories that nothing names, until the organisation comes back or the folder is cleaned by hand.
"""

from typing import Final

import structlog

from domain.pods.directory import IdKind
from domain.pods.moving import Move
from git.repository import Repositories
from loops.rounds import every
from models.clock import Clock
from models.repositories.artifacts import unused_objects
from models.repositories.moves import moves, packing
from models.rows.moves import OrganisationMoveRow
from models.session import Database

RESCAN: Final = 60.0
"""Seconds between two looks; the time is a day as a rule."""

log = structlog.get_logger()


class MovedAwayLoop:
    """Forgets organisations that have moved, until it is cancelled."""

    def __init__(self, database: Database, repositories: Repositories, clock: Clock) -> None:
        """Take what the composition root made."""
        self._database = database
        self._repositories = repositories
        self._clock = clock

    async def run(self) -> None:
        """Look for ever."""
        fault = "what an organisation has left behind could not be removed; the next look tries again"
        await every(RESCAN, self.forget_due, fault, begins_at_once=True)

    async def forget_due(self) -> int:
        """Forget each organisation whose time is over; how many."""
        async with self._database.read() as connection:
            due = await moves.to_forget(connection, self._clock())
        return sum([await self._forgotten(row) for row in due])

    async def _forgotten(self, row: OrganisationMoveRow) -> bool:
        projects = row.facts["ids"][IdKind.PROJECT]
        async with self._database.write(is_long=True) as connection:
            if not await moves.turn(connection, row.move_id, Move.FORGOTTEN, self._clock(), forget_at=None):
                return False  # it is coming back
            objects = [one.key async for one in packing.packed_objects(connection, row.move_id)]
            known = await unused_objects.doomed_keys(connection)
            left = sorted(set(objects) - known)
            if left:
                await unused_objects.doom(connection, left)
            await packing.forget(connection, row.move_id)
        for project_id in projects:
            await self._repositories.remove(project_id)
        log.info("an organisation that had moved is forgotten", organisation=row.path, pod=row.target)
        return True
