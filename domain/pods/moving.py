"""How far a move of an organisation is: in the pod that it leaves, and in the one that it comes to.

Rows of the organisation are in one pod at any time. The transaction that packs them takes them out of the tables of the
source; the one that unpacks them in the target is the switch, after which there is no way back (docs/pods.md, "Moving
an organisation").
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class Move(StrEnum):
    """How far it is, as the database of the source says."""

    COPYING = "copying"
    """Objects and repositories are copied; work goes on."""
    DRAINING = "draining"
    """Runners get no job of the organisation; those that they have are awaited."""
    HELD = "held"
    """Requests for the organisation get 503, and are to come again."""
    PACKED = "packed"
    """Its rows are packed, and in no table."""
    ARRIVED = "arrived"
    """The target has them; the directory is to be told."""
    SWITCHED = "switched"
    """The directory leads there; what is left here waits for the end of the grace time."""
    FORGOTTEN = "forgotten"
    CALLED_OFF = "called_off"


class Arrival(StrEnum):
    """The same, as the database of the target says."""

    EXPECTED = "expected"
    ARRIVED = "arrived"
    """The rows are here, and the directory does not know it for certain."""
    SETTLED = "settled"
    CALLED_OFF = "called_off"


NEXT: Final[Mapping[Move, frozenset[Move]]] = {
    Move.COPYING: frozenset({Move.DRAINING, Move.CALLED_OFF}),
    Move.DRAINING: frozenset({Move.HELD, Move.CALLED_OFF}),
    Move.HELD: frozenset({Move.PACKED, Move.DRAINING, Move.CALLED_OFF}),
    Move.PACKED: frozenset({Move.ARRIVED, Move.CALLED_OFF}),
    Move.ARRIVED: frozenset({Move.SWITCHED}),
    Move.SWITCHED: frozenset({Move.FORGOTTEN}),
    Move.FORGOTTEN: frozenset(),
    Move.CALLED_OFF: frozenset(),
}
"""What may follow. Only the arrival decides whether a packed organisation may still be put back."""

NEXT_ARRIVAL: Final[Mapping[Arrival, frozenset[Arrival]]] = {
    Arrival.EXPECTED: frozenset({Arrival.ARRIVED, Arrival.CALLED_OFF}),
    Arrival.ARRIVED: frozenset({Arrival.SETTLED}),
    Arrival.SETTLED: frozenset(),
    Arrival.CALLED_OFF: frozenset(),
}

OPEN: Final = frozenset({Move.COPYING, Move.DRAINING, Move.HELD, Move.PACKED, Move.ARRIVED})
"""A move that is not over; an organisation has one at most."""
WITHOUT_JOBS: Final = frozenset({Move.DRAINING, Move.HELD})
"""Runners get no job of it."""
REFUSING: Final = frozenset({Move.HELD, Move.PACKED, Move.ARRIVED})
"""Requests for it are to come again."""
IN_NO_PLACE: Final = frozenset({Move.PACKED, Move.ARRIVED})
"""The claim on its path is in neither database, or in that of a pod that the directory does not name."""
