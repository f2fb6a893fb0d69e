"""Whether a test is flaky: it fails sometimes, and what it tests is not why.

A test is flaky if, in the last 14 days,

- it has failed and passed on the same commit, whatever made it run again. Trunk calls this "pass on retry", Buildkite
  "passed on retry" (https://docs.trunk.io/flaky-tests/detection/pass-on-retry-monitor);
- or it has changed between passing and failing four times or more in its last 20 runs on the default branch. Buildkite
  calls that "transition count" (https://buildkite.com/docs/test-engine/workflows/monitors). Whoever breaks and mends it
  twice makes four changes, too: so the mark is a question, and ends no pipeline.

14 days are those of GitLab's recent failures. Runs whose report has more than 200 failures tell of none: something else
was broken. Neither does a test that was skipped.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import islice, pairwise
from typing import Final

from domain.pipelines.unit_tests import RECENT_DAYS

WINDOW: Final = 20
"""So many runs on the default branch are looked at for changes."""
CHANGES: Final = 4
RECENT: Final = timedelta(days=RECENT_DAYS)


class Flaky(StrEnum):
    """Why a test counts as flaky."""

    SAME_COMMIT = "same_commit"
    ALTERNATES = "alternates"


WORDS: Final = {
    Flaky.SAME_COMMIT: f"It failed and passed on the same commit in the last {RECENT_DAYS} days.",
    Flaky.ALTERNATES: (
        f"It changed between passing and failing {CHANGES} times or more in its last {WINDOW} runs on the default "
        f"branch, in the last {RECENT_DAYS} days."
    ),
}


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """A run of a test, by what its flakiness depends on."""

    passed: bool
    sha: str
    on_default: bool
    among_many: bool
    ran_at: datetime


def flakiness(newest_first: Iterable[JudgedRun], now: datetime) -> Flaky | None:
    """Why a test is flaky, by its runs; None if it is not."""
    telling = [run for run in newest_first if not run.among_many and run.ran_at > now - RECENT]
    ends: defaultdict[str, set[bool]] = defaultdict(set)
    for run in telling:
        ends[run.sha].add(run.passed)
    if any(len(found) > 1 for found in ends.values()):
        return Flaky.SAME_COMMIT
    on_default = list(islice((run for run in telling if run.on_default), WINDOW))
    return Flaky.ALTERNATES if changes(on_default) >= CHANGES else None


def changes(runs: Sequence[JudgedRun]) -> int:
    """How often the result changes from one run to the next."""
    return sum(later.passed != earlier.passed for later, earlier in pairwise(runs))
