"""Slots of resource groups, as `models.repositories.pipelines.resource_groups` gives them."""

from collections.abc import Sequence

from domain.pipelines.status import COMPLETE, Status
from tests.stored.rows import Row, Tables


def is_free(tables: Tables, group: str | None) -> bool:
    """As in `resource_groups.situation`: a holder that has ended holds nothing any more."""
    holder = tables.holders.get(group)
    return holder is None or holder.job.status in COMPLETE


def take(tables: Tables, rows: Sequence[Row]) -> tuple[int, ...]:
    """As `resource_groups.take`: give free slots to waiting jobs; those of the jobs that hold theirs now."""
    for row in sorted(rows, key=lambda row: row.job.id):
        group = row.plan.resource_group
        if row.job.status is Status.WAITING_FOR_RESOURCE and is_free(tables, group):
            tables.holders[group] = row
    held = (row for row in rows if tables.holders.get(row.plan.resource_group) is row)
    return tuple(sorted(row.job.id for row in held if row.job.status not in COMPLETE))


def forget(tables: Tables, row: Row) -> None:
    """As `resource_groups.forget`: a job that is about to live again holds nothing."""
    if tables.holders.get(row.plan.resource_group) is row:
        del tables.holders[row.plan.resource_group]
