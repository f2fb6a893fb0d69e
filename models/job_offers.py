"""What processes tell each other of jobs that have become pending: how many of each demand.

It is told after the commit, and only of jobs that still wait then.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from models.notifications import JOBS, MAX_TEXT, Notifications
from models.repositories.queue import queue_counts
from models.session import Database

_MAX_LENGTH: Final = 40
"""Characters of one demand and its number, with what parts it from the next."""


async def tell(database: Database, notifications: Notifications, job_ids: Collection[int]) -> None:
    """Tell of these jobs: every process wakes as many of its waiting runners as there are jobs that they may take."""
    if not job_ids:
        return
    async with database.read() as connection:
        found = await queue_counts.counts_of(connection, job_ids)
    for text in texts(found):
        await notifications.tell(JOBS, text)


def texts(found: Mapping[int, int]) -> Iterator[str]:
    """`demand:jobs` with spaces between, in pieces that fit into a notification."""
    items = [f"{demand_id}:{jobs}" for demand_id, jobs in found.items()]
    most = MAX_TEXT // _MAX_LENGTH
    for start in range(0, len(items), most):
        yield " ".join(items[start : start + most])


def read(text: str) -> Mapping[int, int]:
    """The number of jobs by demand, of what `texts` made."""
    found: Counter[int] = Counter()
    for item in text.split():
        demand_id, _, jobs = item.partition(":")
        found[int(demand_id)] += int(jobs)
    return found
