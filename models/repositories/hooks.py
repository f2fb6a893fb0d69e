"""Webhooks of projects, and what of a project is watched because of them."""

from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import uuid4

from sqlalchemy import Select, delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import NotFound
from domain.hooks import REPORTED, Health
from models.columns import Record, table_of
from models.hooks import ForgeLink, Hook, HookDelivery
from models.tables import Project

hook = table_of(Hook)
delivery = table_of(HookDelivery)
link = table_of(ForgeLink)
project = table_of(Project)


def of_project(project_id: int) -> Select[Any]:
    """Statement for the hooks of a project, the oldest first."""
    return select(hook).where(hook.c.project_id == project_id).order_by(hook.c.id)


async def count(connection: AsyncConnection, project_id: int) -> int:
    """How many hooks a project has."""
    statement = select(func.count()).select_from(hook).where(hook.c.project_id == project_id)
    return int((await connection.execute(statement)).scalar_one())


async def get(connection: AsyncConnection, hook_id: int, project_id: int) -> Record:
    """A hook of a project. Raises `NotFound`."""
    row = await find(connection, hook_id)
    if row is None or row.project_id != project_id:
        raise NotFound("404 Not found")
    return row


async def find(connection: AsyncConnection, hook_id: int) -> Record | None:
    """A hook, or None."""
    return (await connection.execute(select(hook).where(hook.c.id == hook_id))).first()


async def add(connection: AsyncConnection, project_id: int, now: datetime, **values: Any) -> int:
    """Write a hook; what it wants to hear of is noted from now on."""
    row = {"project_id": project_id, "uuid": str(uuid4()), "created_at": now, **values}
    made: int = (await connection.execute(insert(hook).values(**row).returning(hook.c.id))).scalar_one()
    await watch(connection, project_id)
    return made


async def change(connection: AsyncConnection, hook_id: int, project_id: int, **values: Any) -> None:
    """Write columns of a hook."""
    if values:
        await connection.execute(update(hook).where(hook.c.id == hook_id).values(**values))
        await watch(connection, project_id)


async def remove(connection: AsyncConnection, hook_id: int, project_id: int) -> None:
    """Forget a hook and its deliveries; one that is under way finds nothing more to do."""
    await connection.execute(delete(delivery).where(delivery.c.hook_id == hook_id))
    await connection.execute(delete(hook).where(hook.c.id == hook_id))
    await watch(connection, project_id)


async def watch(connection: AsyncConnection, project_id: int) -> None:
    """Write into the project what its hooks and links to forges want to hear of."""
    await connection.execute(select(project.c.id).where(project.c.id == project_id).with_for_update(key_share=True))
    events = (await connection.execute(select(hook.c.events).where(hook.c.project_id == project_id))).scalars()
    watched = 0
    for bits in events:
        watched |= bits
    links = select(link.c.id).where(link.c.project_id == project_id, link.c.active).limit(1)
    if (await connection.execute(links)).first() is not None:
        watched |= REPORTED
    await connection.execute(update(project).where(project.c.id == project_id).values(watched=watched))


async def mend(connection: AsyncConnection, hook_id: int, after: Callable[[Health], Health]) -> None:
    """Write how a hook fares after an attempt, seen together with all others."""
    statement = select(hook.c.failures, hook.c.disabled_until).where(hook.c.id == hook_id)
    row = (await connection.execute(statement.with_for_update(key_share=True))).first()
    if row is None:
        return
    before = Health(row.failures, row.disabled_until)
    now = after(before)
    if now != before:
        values = {"failures": now.failures, "disabled_until": now.disabled_until}
        await connection.execute(update(hook).where(hook.c.id == hook_id).values(**values))
