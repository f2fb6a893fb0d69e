"""What a pod knows of its own claims on names: which steps there are, and what is still to do after any of them.

A name is noted, claimed at the directory, used by the pod's own transaction, and confirmed. Only the pod knows whether
its transaction was committed, so it is the pod that tidies up, whatever has died in between (docs/pods.md, "The
directory").
"""

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Final


class OwnClaim(StrEnum):
    """How far a claim is, as the pod's database says."""

    NOTED = "noted"
    """The directory is being asked; nothing of the pod has the name yet."""
    USED = "used"
    """Something of the pod has the name; the directory has yet to confirm it."""
    CONFIRMED = "confirmed"
    DROPPED = "dropped"
    """Nothing of the pod has the name, or will; the directory has yet to release it."""
    REFUSED = "refused"
    """Something of the pod has the name since before the pod had a directory, where another pod's has it, too."""


NEXT: Final[Mapping[OwnClaim, frozenset[OwnClaim]]] = {
    OwnClaim.NOTED: frozenset({OwnClaim.USED, OwnClaim.DROPPED}),
    OwnClaim.USED: frozenset({OwnClaim.CONFIRMED, OwnClaim.REFUSED, OwnClaim.DROPPED}),
    OwnClaim.CONFIRMED: frozenset({OwnClaim.DROPPED}),
    OwnClaim.REFUSED: frozenset({OwnClaim.USED, OwnClaim.DROPPED}),
    OwnClaim.DROPPED: frozenset(),
}
"""What may follow; a dropped claim goes away once the directory has released it."""

NOTED_FOR: Final = timedelta(seconds=60)
"""For so long a noted claim may become a used one; then it is dropped, and the pod's transaction cannot use it."""
