"""Milestones of projects and groups."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Select, delete, func, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import FieldsInvalid, NotFound
from models.columns import padded, table_of
from models.repositories.namespaces.planning_owners import PlanningOwner, lock
from models.repositories.paging import Listing
from models.rows.labels import MilestoneRow
from models.rows.merge_requests import MergeRequestRow
from models.tables.labels import Milestone
from models.tables.merge_requests import MergeRequest
from models.typed_rows import all_of, first_of, one_of

milestone = table_of(Milestone)
merge_request = table_of(MergeRequest)


def listed(
    owner: PlanningOwner,
    state: str = "",
    iids: Collection[int] = (),
    title: str = "",
    search: str = "",
    *,
    ancestors: bool = False,
) -> Listing[MilestoneRow]:
    """Statement for milestones; empty words do not narrow."""
    statement = select(milestone).where(owner.seen(milestone, ancestors=ancestors))
    if state:
        statement = statement.where(milestone.c.state == state)
    if iids:
        statement = statement.where(milestone.c.iid.in_(padded(iids)))
    if title:
        statement = statement.where(milestone.c.title == title)
    if search:
        statement = statement.where(milestone.c.title.icontains(search, autoescape=True))
    return Listing(statement.order_by(milestone.c.id.desc()), MilestoneRow, (milestone.c.description,))


def found(
    projects: Select[tuple[int]] | Collection[int], text: str, groups: Collection[int] = ()
) -> Listing[MilestoneRow]:
    """Statement for the milestones of these projects, and of these groups, that say a text."""
    place = milestone.c.project_id.in_(projects) | milestone.c.namespace_id.in_(padded(groups) if groups else [])
    says = (column.icontains(text, autoescape=True) for column in (milestone.c.title, milestone.c.description))
    return Listing(
        select(milestone).where(place, or_(*says)).order_by(milestone.c.id.desc()),
        MilestoneRow,
        (milestone.c.description,),
    )


async def find(connection: AsyncConnection, owner: PlanningOwner, key: int, *, ancestors: bool = False) -> MilestoneRow:
    """One by its id. Raises `NotFound`."""
    statement = select(milestone).where(owner.seen(milestone, ancestors=ancestors), milestone.c.id == key)
    row = first_of(MilestoneRow, await connection.execute(statement))
    if row is None:
        raise NotFound("Milestone Not Found")
    return row


async def by_id(connection: AsyncConnection, ids: Collection[int | None]) -> Mapping[int, MilestoneRow]:
    """Milestones by id; what is not there is left out."""
    wanted = {key for key in ids if key is not None}
    if not wanted:
        return {}
    statement = select(milestone).where(milestone.c.id.in_(padded(wanted)))
    rows = all_of(MilestoneRow, await connection.execute(statement))
    return {row.id: row for row in rows}


async def add(connection: AsyncConnection, owner: PlanningOwner, now: datetime, **values: Any) -> MilestoneRow:
    """Add a milestone; its row. Raises `FieldsInvalid` for a title that is there."""
    await lock(connection, owner)
    await _require_free(connection, owner, values["title"])
    last = (await connection.execute(select(func.max(milestone.c.iid)).where(owner.own(milestone)))).scalar()
    numbered = {**owner.columns, **values, "iid": (last or 0) + 1, "state": "active"}
    statement = insert(milestone).values(created_at=now, updated_at=now, **numbered)
    return one_of(MilestoneRow, await connection.execute(statement.returning(milestone)))


async def _require_free(connection: AsyncConnection, owner: PlanningOwner, title: str) -> None:
    if (await connection.execute(listed(owner, title=title, ancestors=True).statement)).first() is not None:
        raise FieldsInvalid(title="already being used for another group or project milestone.")


async def change(
    connection: AsyncConnection, owner: PlanningOwner, row: MilestoneRow, now: datetime, **values: Any
) -> MilestoneRow:
    """Write columns of a milestone; its row. Raises `FieldsInvalid` for a title that is there."""
    if values.get("title", row.title) != row.title:
        await _require_free(connection, owner, values["title"])
    statement = update(milestone).where(milestone.c.id == row.id).values(updated_at=now, **values)
    return one_of(MilestoneRow, await connection.execute(statement.returning(milestone)))


async def remove(connection: AsyncConnection, row: MilestoneRow) -> None:
    """Remove a milestone, from merge requests too."""
    with_it = update(merge_request).where(merge_request.c.milestone_id == row.id)
    await connection.execute(with_it.values(milestone_id=None))
    await connection.execute(delete(milestone).where(milestone.c.id == row.id))


def merge_requests(row: MilestoneRow, projects: Select[tuple[int]] | Collection[int]) -> Listing[MergeRequestRow]:
    """Statement for the merge requests of these projects that are planned for a milestone, the newest first."""
    mine = (merge_request.c.milestone_id == row.id) & merge_request.c.project_id.in_(projects)
    statement = select(merge_request).where(mine)
    return Listing(statement.order_by(merge_request.c.id.desc()), MergeRequestRow, (merge_request.c.description,))
