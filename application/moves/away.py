"""Which organisations are leaving this pod, as the process that answers for it knows: read once a second at most.

Runners get no job of one that is drained; whatever is for one that is held, or has just gone, is to come again.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from domain.errors import Unavailable
from domain.pods.credentials import pod_of_token
from domain.pods.directory import MAX_POD_NUMBER, Directory, IdKind, Pod
from domain.pods.moving import REFUSING, WITHOUT_JOBS, Move
from domain.pods.routing import Head, NeedsBody, ToPod, decide
from models.clock import Clock
from models.repositories.moves import moves
from models.rows.moves import OrganisationMoveRow
from models.session import Database

FRESH: Final = 1.0
"""Seconds for which what was read holds; `application.moves.moving` waits for longer."""
RETRY_AFTER: Final = 2
"""Seconds after which whoever was refused is to come again."""
_HERE, _ELSEWHERE = Pod(0, "here"), Pod(MAX_POD_NUMBER, "elsewhere")
_TOLD: Final = "This organisation is moving to another pod; try again in a few seconds."


@dataclass(frozen=True, slots=True)
class Away:
    """What is leaving: organisations without jobs for runners, and a directory in which those that are held are away.

    So a request is for one of them if a router would send it there.
    """

    without_jobs: frozenset[int] = frozenset()
    directory: Directory | None = None

    def is_for_them(self, head: Head) -> bool:
        """Whether a request is for an organisation that is held, by what it shows or by its path."""
        if self.directory is None:
            return False
        bare = Head(head.method, head.path, {})
        return any(_leads_away(one, self.directory) for one in (head, bare))

    def is_theirs(self, token: str) -> bool:
        """Whether a token is of an organisation that is held."""
        return self.directory is not None and pod_of_token(token, self.directory) == _ELSEWHERE.number


def _leads_away(head: Head, directory: Directory) -> bool:
    decision = decide(head, directory)
    if isinstance(decision, NeedsBody):
        decision = decision.otherwise or decision
    return isinstance(decision, ToPod) and decision.pod == _ELSEWHERE.number


class Leaving:
    """Knows what is leaving."""

    def __init__(self, database: Database, clock: Clock) -> None:
        """Nothing was read yet."""
        self._database = database
        self._clock = clock
        self._known = Away()
        self._until = 0.0
        self._turn = asyncio.Lock()

    async def now(self) -> Away:
        """As it is, or was less than a second ago. While the database is away: as it was last."""
        if time.monotonic() < self._until:
            return self._known
        async with self._turn:
            if time.monotonic() >= self._until:
                begun = time.monotonic()
                try:
                    async with self._database.read() as connection:
                        self._known = away_of(await moves.known_here(connection, self._clock()))
                except Unavailable:
                    pass  # whatever is asked for will say so
                self._until = begun + FRESH
        return self._known


def away_of(rows: Sequence[OrganisationMoveRow]) -> Away:
    """What moves come to for whoever asks for something."""
    without_jobs = frozenset(row.organisation_id for row in rows if row.state in WITHOUT_JOBS)
    held = [row for row in rows if row.state in REFUSING | {Move.SWITCHED}]
    if not held:
        return Away(without_jobs)
    owners = {
        kind: {row_id: row.organisation_id for row in held for row_id in row.facts["ids"].get(kind, ())}
        for kind in IdKind
    }
    directory = Directory(
        0,
        (_HERE, _ELSEWHERE),
        {row.path: _ELSEWHERE.number for row in held},
        {row.organisation_id: _ELSEWHERE.number for row in held},
        owners,
    )
    return Away(without_jobs, directory)


def refusal() -> Unavailable:
    """What whoever asks for something of an organisation that is held is told."""
    return Unavailable(_TOLD, RETRY_AFTER)
