"""What pages of merge requests say in words."""

from collections.abc import Mapping
from typing import Final

from domain.merge_requests.merge_request import Blocker
from domain.merge_requests.merge_train import CarStatus

BLOCKERS: Final[Mapping[Blocker, str]] = {
    Blocker.MERGEABLE: "It can be merged.",
    Blocker.NOT_OPEN: "It is not open.",
    Blocker.DRAFT: "It is a draft: mark it as ready first.",
    Blocker.NO_COMMITS: "Its source branch has no commits that the target branch lacks.",
    Blocker.NOT_APPROVED: "It needs more approvals.",
    Blocker.NOT_RESOLVED: "Threads of it are not resolved.",
    Blocker.CI_RUNNING: "Its pipeline has not ended yet.",
    Blocker.CI_MUST_PASS: "Its pipeline must succeed first.",
    Blocker.CHECKING: "It is not known yet whether the branches go together; look again in a moment.",
    Blocker.CONFLICT: "The branches contradict each other: merge the target branch into the source branch.",
    Blocker.NEEDS_REBASE: "The target branch has moved on: rebase the source branch.",
}
"""What stands in the way of a merge, and what to do."""

CARS: Final[Mapping[str, str]] = {
    CarStatus.IDLE: "waits to be built",
    CarStatus.FRESH: "is tested upon what is before it",
    CarStatus.STALE: "is built anew: what is before it has changed",
    CarStatus.MERGING: "is being merged",
    CarStatus.MERGED: "is merged",
    CarStatus.SKIP_MERGED: "was merged outside of the train",
}
"""Where a car of a merge train is."""

SCANNERS: Final[Mapping[str, str]] = {
    "api_fuzzing": "API fuzzing",
    "cluster_image_scanning": "cluster images",
    "container_scanning": "containers",
    "coverage_fuzzing": "coverage fuzzing",
    "dast": "DAST",
    "dependency_scanning": "dependencies",
    "sast": "SAST",
    "secret_detection": "secrets",
}
"""Kinds of security reports."""

STATES: Final[Mapping[str, tuple[str, str, str]]] = {
    "opened": ("Open", "success", "branch"),
    "locked": ("Being merged", "running", "running"),
    "merged": ("Merged", "merged", "merge"),
    "closed": ("Closed", "failed", "failed"),
}
"""States of merge requests: word, colour, glyph."""
