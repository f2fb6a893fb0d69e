"""All that can be taken out."""

from typing import Final

from tests.seam import runner_rules, storage_rules, truth_rules, workflow_rules
from tests.seam.removal import Removal

EVERY: Final[tuple[Removal, ...]] = (
    *truth_rules.REMOVALS,
    *workflow_rules.REMOVALS,
    *runner_rules.REMOVALS,
    *storage_rules.REMOVALS,
)
"""In the order of `docs/seam.md`."""
