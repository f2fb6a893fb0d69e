"""How long a silent runner keeps its job, in ticks in which we served.

Whoever was away owes patience: after an outage of ours runners need time to come back. But outages may follow each
other for ever, and a runner that is gone must be noticed all the same. So a lease has one bonus at most: the longest of
those since its runner last called, never their sum. `models/repositories/queue/held_jobs.py` and `leases.py` say
the same in SQL.
"""

from dataclasses import dataclass, replace
from typing import Final

_TICKS: Final = 2
"""So many ticks may be late without anybody having been away: a round of the sweeper takes its time."""


def outage_in(gap: float, held: float, tick: float) -> float:
    """The seconds of an outage that a gap between two ticks tells of; 0 if it tells of none.

    For `held` of them this very process computed on its event loop, and so answered nobody: a freeze. It costs no
    lease anything, since it counts no tick, and it gives none anything: else whoever can keep us busy could keep
    jobs of dead runners alive. Who waited in it waits for the next call only, not for a server that has to come back.
    """
    away = gap - held
    return away if away > _TICKS * tick else 0.0


@dataclass(frozen=True, slots=True)
class Silence:
    """Since when a runner says nothing: `called` is the tick of its last call, `counted` the one from which it counts.

    The same holds for how long a job runs, with the tick of its claim for both.
    """

    called: int
    counted: int

    def broken(self, now: int) -> "Silence":
        """A call at tick `now`. It takes no bonus back."""
        return Silence(now, max(self.counted, now))

    def forgiven(self, bonus: int) -> "Silence":
        """An outage has passed, for which so many ticks are given."""
        return replace(self, counted=max(self.counted, self.called + bonus))

    def is_over(self, now: int, limit: int) -> bool:
        """Whether it has lasted for more than `limit` ticks at tick `now`."""
        return self.counted < now - limit
