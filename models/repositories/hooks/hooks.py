"""Webhooks of projects, groups and the installation, and what of a project is watched because of them."""

from collections.abc import Callable
from datetime import datetime
from functools import reduce
from typing import Any, Final
from uuid import uuid4

from sqlalchemy import ColumnElement, case, delete, func, insert, select, true, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import NotFound
from domain.hooks.webhooks import BITS, CHATTED, MAILED, REPORTED, Health, HookScope
from models.columns import table_of
from models.repositories.namespaces.group_ancestry import lies_in, namespace
from models.repositories.owner import Owner
from models.repositories.paging import Listing
from models.rows.hooks import HookRow
from models.tables.hooks import ForgeLink, Hook, HookDelivery
from models.tables.installation import Installation
from models.tables.notifications import ChatIntegration
from models.tables.projects import Project
from models.typed_rows import first_of

hook = table_of(Hook)
delivery = table_of(HookDelivery)
link = table_of(ForgeLink)
integration = table_of(ChatIntegration)
installation = table_of(Installation)
project = table_of(Project)


def scope_of(owner: Owner) -> HookScope:
    """What the hooks of an owner hear of."""
    if owner.project_id is not None:
        return HookScope.PROJECT
    return HookScope.SYSTEM if owner.namespace_id is None else HookScope.GROUP


def heard_projects(owner: Owner) -> ColumnElement[bool]:
    """The projects that the hooks of an owner hear of."""
    if owner.project_id is not None:
        return project.c.id == owner.project_id
    if owner.namespace_id is None:
        return true()
    return project.c.namespace_id.in_(select(namespace.c.id).where(lies_in(owner.namespace_id)))


def of_owner(owner: Owner) -> Listing[HookRow]:
    """Statement for the hooks of an owner, the oldest first."""
    return Listing(select(hook).where(owner.own(hook)).order_by(hook.c.id), HookRow)


async def count(connection: AsyncConnection, owner: Owner) -> int:
    """How many hooks an owner has."""
    statement = select(func.count()).select_from(hook).where(owner.own(hook))
    return int((await connection.execute(statement)).scalar_one())


async def get(connection: AsyncConnection, hook_id: int, owner: Owner) -> HookRow:
    """A hook of an owner. Raises `NotFound`."""
    row = first_of(HookRow, await connection.execute(select(hook).where(hook.c.id == hook_id, owner.own(hook))))
    if row is None:
        raise NotFound("Not found")
    return row


async def find(connection: AsyncConnection, hook_id: int) -> HookRow | None:
    """A hook, or None."""
    return first_of(HookRow, await connection.execute(select(hook).where(hook.c.id == hook_id)))


async def add(connection: AsyncConnection, owner: Owner, now: datetime, **values: Any) -> int:
    """Write a hook; what it wants to hear of is noted from now on."""
    row = {"scope": scope_of(owner), **owner.columns, "uuid": str(uuid4()), "created_at": now, **values}
    made: int = (await connection.execute(insert(hook).values(**row).returning(hook.c.id))).scalar_one()
    await watch(connection, owner)
    return made


async def change(connection: AsyncConnection, hook_id: int, owner: Owner, **values: Any) -> None:
    """Write columns of a hook."""
    if values:
        await connection.execute(update(hook).where(hook.c.id == hook_id).values(**values))
        await watch(connection, owner)


async def remove(connection: AsyncConnection, hook_id: int, owner: Owner) -> None:
    """Forget a hook and its deliveries; one that is under way finds nothing more to do."""
    await connection.execute(delete(delivery).where(delivery.c.hook_id == hook_id))
    await connection.execute(delete(hook).where(hook.c.id == hook_id))
    await watch(connection, owner)


async def remove_all(connection: AsyncConnection, owner: Owner) -> None:
    """Forget the hooks of an owner that is about to go."""
    mine = select(hook.c.id).where(owner.own(hook))
    await connection.execute(delete(delivery).where(delivery.c.hook_id.in_(mine)))
    await connection.execute(delete(hook).where(owner.own(hook)))


def _watched() -> ColumnElement[int]:
    """What the hooks, links and integrations of a project want to hear of, and people if they get e-mails.

    It is made one bit after the other, as databases have no `or` of numbers in common.
    """
    reported = select(link.c.id).where(link.c.project_id == project.c.id, link.c.active).correlate(project).exists()
    above = (
        select(namespace.c.id)
        .where(namespace.c.id == project.c.namespace_id, lies_in(hook.c.namespace_id))
        .correlate(project, hook)
        .exists()
    )
    mine, of_many = hook.c.project_id == project.c.id, hook.c.scope != HookScope.PROJECT
    reaches = of_many & ((hook.c.scope == HookScope.SYSTEM) | above)
    chatted = (
        select(integration.c.id)
        .where(integration.c.project_id == project.c.id, integration.c.active)
        .correlate(project)
        .exists()
    )
    mailed = select(installation.c.id).where(installation.c.mails).exists()
    others = ((reported, REPORTED), (chatted, CHATTED), (mailed, MAILED))
    parts: list[ColumnElement[int]] = [case((there, bit), else_=0) for there, bit in others]
    for bit in BITS.values():
        wants = hook.c.events.bitwise_and(bit) != 0
        own = select(hook.c.id).where(mine, wants).correlate(project).exists()
        wider = select(hook.c.id).where(reaches, wants).correlate(project).exists()
        parts.append(case((own | wider, bit), else_=0))
    return reduce(lambda left, right: left + right, parts)


_WATCHED: Final = _watched()


async def watch(connection: AsyncConnection, owner: Owner) -> None:
    """Write into the projects of an owner what hooks, links to forges and integrations want to hear of.

    Whoever adds a project to a group refers to the group's row: while hooks of many projects change, those rows are
    locked, so that a project which is made at that moment sees the hook or is seen by it.
    """
    if scope_of(owner) is not HookScope.PROJECT:
        groups = select(namespace.c.id).order_by(namespace.c.id).with_for_update()
        if owner.namespace_id is not None:
            groups = groups.where(lies_in(owner.namespace_id))
        await connection.execute(groups)
    mine = select(project.c.id).where(heard_projects(owner)).order_by(project.c.id)
    await connection.execute(mine.with_for_update(key_share=True))
    await connection.execute(update(project).where(heard_projects(owner)).values(watched=_WATCHED))


async def mend(connection: AsyncConnection, hook_id: int, after: Callable[[Health], Health]) -> None:
    """Write how a hook fares after an attempt, seen together with all others."""
    statement = select(hook.c.failures, hook.c.disabled_until).where(hook.c.id == hook_id)
    row = (await connection.execute(statement.with_for_update(key_share=True))).first()
    if row is None:
        return
    before = Health(*row)
    now = after(before)
    if now != before:
        values = {"failures": now.failures, "disabled_until": now.disabled_until}
        await connection.execute(update(hook).where(hook.c.id == hook_id).values(**values))
