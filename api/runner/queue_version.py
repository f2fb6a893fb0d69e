"""What happened to the queue since this process started, as far as it concerns a runner that was away meanwhile."""

import secrets
from typing import Final

from auth.queue_ticket import Seen
from domain.runners.matching import Candidate, Demand, may_take

_REMEMBERED: Final = 1_000
"""Demands of which the last offer is known one by one."""


class QueueVersion:
    """Numbers what happens. Of a process that was started anew nothing is known here: it calls itself otherwise."""

    def __init__(self) -> None:
        """Nothing happened yet."""
        self._boot = secrets.token_hex(4)
        self._number = 0
        self._offers: dict[int, tuple[int, Demand]] = {}  # the latest last
        self._all_changed = 0

    @property
    def seen(self) -> Seen:
        """The present state; take it before you look into the queue."""
        return Seen(self._boot, self._number)

    def offered(self, demand_id: int, demand: Demand) -> None:
        """There are jobs of this demand."""
        self._number += 1
        self._offers.pop(demand_id, None)
        self._offers[demand_id] = self._number, demand
        if len(self._offers) > _REMEMBERED:
            oldest = next(iter(self._offers))
            self._all_changed = max(self._all_changed, self._offers.pop(oldest)[0])

    def changed(self) -> None:
        """Something happened that may concern every runner."""
        self._number += 1
        self._all_changed = self._number

    def is_ours(self, seen: Seen | None) -> bool:
        """Whether this process has issued it."""
        return seen is not None and seen.boot == self._boot

    def is_current(self, seen: Seen | None, runner: Candidate) -> bool:
        """Whether nothing has happened since that concerns this runner."""
        if seen is None or seen.boot != self._boot or seen.number < self._all_changed:
            return False
        for number, demand in reversed(self._offers.values()):
            if number <= seen.number:
                break
            if may_take(demand, runner):
                return False
        return True
