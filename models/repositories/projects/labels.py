"""Labels of projects and groups, and their names on merge requests."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import NotFound, Refused
from domain.projects.labels import DEFAULT_COLOR
from models.columns import padded, table_of
from models.repositories.merge_requests.merge_requests import holds_label
from models.repositories.namespaces.planning_owners import PlanningOwner, lock
from models.repositories.paging import Listing
from models.rows.labels import LabelRow
from models.tables.labels import Label
from models.tables.merge_requests import MergeRequest
from models.typed_rows import all_of, one_of

label = table_of(Label)
merge_request = table_of(MergeRequest)


def listed(owner: PlanningOwner, search: str = "", *, ancestors: bool = True) -> Listing[LabelRow]:
    """Statement for the labels that count somewhere, by name."""
    statement = select(label).where(owner.seen(label, ancestors=ancestors))
    if search:
        statement = statement.where(label.c.name.icontains(search, autoescape=True))
    return Listing(statement.order_by(label.c.name, label.c.id), LabelRow)


async def _those(connection: AsyncConnection, owner: PlanningOwner, rule: ColumnElement[bool]) -> Sequence[LabelRow]:
    return all_of(LabelRow, await connection.execute(listed(owner).statement.where(rule)))


async def find(connection: AsyncConnection, owner: PlanningOwner, reference: str) -> LabelRow:
    """A label of its own or of a group around it, by id or name. Raises `NotFound`."""
    is_id = reference.isascii() and reference.isdigit() and len(reference) < 16
    wanted = (label.c.id == int(reference)) if is_id else (label.c.name == reference)
    found = await _those(connection, owner, wanted)
    own = [row for row in found if row.project_id == owner.project_id and row.namespace_id == owner.namespace_id]
    if not found and is_id:
        found = await _those(connection, owner, label.c.name == reference)
    if not found:
        raise NotFound("Label Not Found")
    return (own or found)[0]


async def add(connection: AsyncConnection, owner: PlanningOwner, now: datetime, **values: Any) -> LabelRow:
    """Add a label; its row. Raises `Refused` for a name that counts there already."""
    await lock(connection, owner)
    await _require_free(connection, owner, values["name"])
    statement = insert(label).values(created_at=now, updated_at=now, **owner.columns, **values)
    return one_of(LabelRow, await connection.execute(statement.returning(label)))


async def _require_free(connection: AsyncConnection, owner: PlanningOwner, name: str) -> None:
    if await _those(connection, owner, label.c.name == name):
        raise Refused("Label already exists")


async def change(
    connection: AsyncConnection, owner: PlanningOwner, row: LabelRow, now: datetime, **values: Any
) -> LabelRow:
    """Write columns of a label; merge requests follow its name. Raises `Refused` for one that counts already."""
    name = values.get("name", row.name)
    if name != row.name:
        await lock(connection, owner)
        await _require_free(connection, owner, name)
        await _rename(connection, owner, row.name, [name])
    statement = update(label).where(label.c.id == row.id).values(updated_at=now, **values).returning(label)
    return one_of(LabelRow, await connection.execute(statement))


async def remove(connection: AsyncConnection, owner: PlanningOwner, row: LabelRow) -> None:
    """Remove a label, from merge requests too."""
    await _rename(connection, owner, row.name, [])
    await connection.execute(delete(label).where(label.c.id == row.id))


async def _rename(connection: AsyncConnection, owner: PlanningOwner, old: str, new: Sequence[str]) -> None:
    having = select(merge_request.c.id, merge_request.c.labels).where(
        merge_request.c.project_id.in_(owner.projects()), holds_label(old)
    )
    for key, labels in (await connection.execute(having)).all():
        names = list(dict.fromkeys(other for name in labels for other in (new if name == old else [name])))
        await connection.execute(update(merge_request).where(merge_request.c.id == key).values(labels=names))


async def known(connection: AsyncConnection, owner: PlanningOwner, names: Iterable[str]) -> Sequence[LabelRow]:
    """The labels of these names that count there."""
    wanted = sorted(set(names))
    if not wanted:
        return []
    return await _those(connection, owner, label.c.name.in_(padded(wanted)))


async def ensure(connection: AsyncConnection, owner: PlanningOwner, names: Collection[str], now: datetime) -> None:
    """Add those of these labels that do not count there yet, as GitLab does when a merge request is given them."""
    there = {row.name for row in await known(connection, owner, names)}
    for name in dict.fromkeys(names):
        if name not in there:
            await add(connection, owner, now, name=name, color=DEFAULT_COLOR, description="", priority=None)


async def open_requests(connection: AsyncConnection, owner: PlanningOwner, name: str) -> int:
    """How many open merge requests have a label."""
    statement = select(func.count()).where(
        merge_request.c.project_id.in_(owner.projects()), merge_request.c.state == "opened", holds_label(name)
    )
    return int((await connection.execute(statement)).scalar_one())
