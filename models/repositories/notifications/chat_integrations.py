"""Integrations of projects that are told what happens, and what of a project is watched because of them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.notifications.integrations import Slug
from models.columns import table_of
from models.repositories.hooks import hooks
from models.repositories.notifications import messages
from models.repositories.owner import Owner
from models.rows.notifications import ChatIntegrationRow
from models.tables.notifications import ChatIntegration
from models.typed_rows import all_of, first_of

integration = table_of(ChatIntegration)


async def of_project(connection: AsyncConnection, project_id: int) -> Sequence[ChatIntegrationRow]:
    """The integrations of a project, by slug."""
    statement = select(integration).where(integration.c.project_id == project_id).order_by(integration.c.slug)
    return all_of(ChatIntegrationRow, await connection.execute(statement))


async def find(connection: AsyncConnection, project_id: int, slug: Slug) -> ChatIntegrationRow | None:
    """An integration of a project, or None."""
    statement = select(integration).where(integration.c.project_id == project_id, integration.c.slug == slug)
    return first_of(ChatIntegrationRow, await connection.execute(statement))


async def by_id(connection: AsyncConnection, integration_id: int) -> ChatIntegrationRow | None:
    """An integration, or None."""
    statement = select(integration).where(integration.c.id == integration_id)
    return first_of(ChatIntegrationRow, await connection.execute(statement))


async def put(connection: AsyncConnection, project_id: int, slug: Slug, now: datetime, **values: Any) -> None:
    """Make or change an integration; the project is told of from now on."""
    mine = update(integration).where(integration.c.project_id == project_id, integration.c.slug == slug)
    if not (await connection.execute(mine.values(updated_at=now, **values))).rowcount:
        row = {"project_id": project_id, "slug": str(slug), "created_at": now, "updated_at": now, **values}
        await connection.execute(insert(integration).values(**row))
    await hooks.watch(connection, Owner(project_id=project_id))


async def remove(connection: AsyncConnection, row: ChatIntegrationRow) -> None:
    """Forget an integration; its messages that are still on their way are given up."""
    await connection.execute(delete(integration).where(integration.c.id == row.id))
    await messages.end_of(connection, row.id, "The integration was removed.")
    await hooks.watch(connection, Owner(project_id=row.project_id))
