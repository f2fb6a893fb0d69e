"""The core of a discrete-event simulation: time, and stations with so many servers and one line before them."""

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from random import Random

Act = Callable[[], None]


class Clock:
    """Does what is due in the order of time, and of asking where times are equal. Times are in seconds."""

    __slots__ = ("_due", "_number", "now")

    def __init__(self) -> None:
        self.now = 0.0
        self._due: list[tuple[float, int, Act]] = []
        self._number = 0

    def at(self, time: float, act: Act) -> None:
        """Do it then."""
        self._number += 1
        heappush(self._due, (time, self._number, act))

    def after(self, delay: float, act: Act) -> None:
        """Do it so much later than now."""
        self.at(self.now + delay, act)

    def run(self, until: float) -> None:
        """Go on until then, and stand there."""
        while self._due and self._due[0][0] <= until:
            self.now, _, act = heappop(self._due)
            act()
        self.now = until


class Station:
    """Servers that take work first come, first served; each piece takes an exponentially distributed time."""

    __slots__ = ("_clock", "_line", "_random", "busy", "lost", "servers", "worked")

    def __init__(self, clock: Clock, servers: int, random: Random) -> None:
        self.servers = servers
        self.busy = 0
        self.worked = 0.0
        self.lost = False
        """A lost station never finishes anything."""
        self._clock = clock
        self._random = random
        self._line: deque[tuple[float, Act]] = deque()

    def take(self, mean: float, then: Act) -> None:
        """Queue a piece of work; `then` is called when it is done."""
        if self.lost:
            return
        if self.busy < self.servers:
            self.busy += 1
            self._begin(mean, then)
        else:
            self._line.append((mean, then))

    def _begin(self, mean: float, then: Act) -> None:
        took = self._random.expovariate(1 / mean)
        self.worked += took

        def done() -> None:
            if self._line:
                self._begin(*self._line.popleft())
            else:
                self.busy -= 1
            then()

        self._clock.after(took, done)

    @property
    def waiting(self) -> int:
        """Pieces of work in the line."""
        return len(self._line)
