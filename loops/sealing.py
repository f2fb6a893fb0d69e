"""Sealing the values of variables that stand in clear in rows of before they were sealed, a few rows at a time."""

import asyncio
from typing import Final

import structlog

from application.pipelines.sealed_values import seal_of
from auth.encryption import Sealer
from loops.rounds import attempt
from models.repositories.installation import clear_values
from models.session import Database

BATCH: Final = 100
"""Rows of one transaction."""
PAUSE: Final = 0.1
"""Seconds between two, in which others write."""
AFTER_FAULT: Final = 60.0

log = structlog.get_logger()


class SealingLoop:
    """Seals until nothing is left, and then rests. Any number of processes may."""

    def __init__(self, database: Database, sealer: Sealer) -> None:
        """Take what the composition root made."""
        self._database = database
        self._seal = seal_of(sealer)

    async def run(self) -> None:
        """Seal what there is."""
        fault = "values in clear could not be sealed; it is tried again in a minute"
        total = 0
        while (looked_at := await attempt(self.seal_batch, fault)) != 0:
            total += looked_at or 0
            await asyncio.sleep(AFTER_FAULT if looked_at is None else PAUSE)
        if total:
            log.info("values of variables in rows of an earlier version are sealed", rows=total)
        await asyncio.Event().wait()

    async def seal_batch(self) -> int:
        """Look at the next rows; how many there were."""
        async with self._database.write() as connection:
            return await clear_values.seal_next(connection, self._seal, BATCH)
