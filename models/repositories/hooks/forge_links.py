"""Links of projects to the forges that hear of the statuses of their pipelines."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import table_of
from models.repositories.hooks import commit_reports, hooks
from models.repositories.owner import Owner
from models.rows.hooks import ForgeLinkRow
from models.tables.hooks import ForgeLink
from models.typed_rows import all_of, first_of

link = table_of(ForgeLink)


async def of_project(connection: AsyncConnection, project_id: int) -> Sequence[ForgeLinkRow]:
    """The links of a project, by kind."""
    statement = select(link).where(link.c.project_id == project_id).order_by(link.c.kind)
    return all_of(ForgeLinkRow, await connection.execute(statement))


async def find(connection: AsyncConnection, project_id: int, kind: str) -> ForgeLinkRow | None:
    """The link of a project to a kind of forge, or None."""
    statement = select(link).where(link.c.project_id == project_id, link.c.kind == kind)
    return first_of(ForgeLinkRow, await connection.execute(statement))


async def put(connection: AsyncConnection, project_id: int, kind: str, now: datetime, **values: Any) -> None:
    """Make or change a link. Another repository begins without reports."""
    before = await find(connection, project_id, kind)
    if before is None:
        row = {"project_id": project_id, "kind": kind, "created_at": now, "updated_at": now, **values}
        await connection.execute(insert(link).values(**row))
    else:
        await connection.execute(update(link).where(link.c.id == before.id).values(updated_at=now, **values))
        if (before.api_url, before.repository) != (values["api_url"], values["repository"]):
            await commit_reports.forget(connection, before.id)
    await hooks.watch(connection, Owner(project_id=project_id))


async def remove(connection: AsyncConnection, row: ForgeLinkRow) -> None:
    """Forget a link and its reports; one that is under way finds nothing more to do."""
    await commit_reports.forget(connection, row.id)
    await connection.execute(delete(link).where(link.c.id == row.id))
    await hooks.watch(connection, Owner(project_id=row.project_id))
