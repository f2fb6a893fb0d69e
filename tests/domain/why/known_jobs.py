"""Jobs of which just so much is known as a test says."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from domain.pipelines.status import Status
from domain.why.known import KnownJob, Times

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
TIMES = Times(pending_unmatched=3600, unresponsive=90, lost=180)


def known(status: Status, **values: Any) -> KnownJob:
    """A job in a state."""
    return replace(KnownJob(7, "one", status, 3, TIMES), **values)
