"""How a process uses its database: plain numbers, since each transaction pays for them."""

import time
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self


@dataclass(slots=True)
class Transactions:
    """Of one kind, reading or writing: how many began, seconds that they waited for that, seconds that they took."""

    number: int = 0
    waited: float = 0.0
    took: float = 0.0
    waiting: int = 0
    """Those that have not begun yet."""
    open: int = 0


@dataclass(slots=True)
class DatabaseUsage:
    """All since the process began; `most` is how many connections it may have."""

    most: int
    reads: Transactions = field(default_factory=Transactions)
    writes: Transactions = field(default_factory=Transactions)
    computed_aside: float = 0.0
    """Seconds that threads computed for transactions that write, on SQLite: all others of these waited meanwhile."""


class Turn:
    """One transaction, from the wish for it to its end."""

    __slots__ = ("_of", "_since", "_waits")

    def __init__(self, of: Transactions) -> None:
        """Count it among these."""
        self._of = of
        self._waits = True
        self._since = 0.0

    def __enter__(self) -> Self:
        """Wait from now on."""
        self._of.waiting += 1
        self._since = time.perf_counter()
        return self

    def begin(self) -> None:
        """It has its connection."""
        now, of = time.perf_counter(), self._of
        of.waiting -= 1
        of.number += 1
        of.open += 1
        of.waited += now - self._since
        self._waits, self._since = False, now

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """It is over, or never began."""
        if self._waits:
            self._of.waiting -= 1
            return
        self._of.open -= 1
        self._of.took += time.perf_counter() - self._since
