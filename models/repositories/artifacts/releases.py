"""Releases: one for each tag of a project."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import delete, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import NotFound
from domain.hooks.webhooks import Event, wants
from domain.projects.release_links import links_of
from models.columns import padded, table_of
from models.repositories.hooks import webhook_events
from models.repositories.hooks.webhook_events import Happening
from models.repositories.paging import Listing
from models.repositories.pipelines.job_rows import job
from models.repositories.texts import rendered_texts
from models.rows.environments import ReleaseRow
from models.tables.environments import Release
from models.typed_rows import all_of, first_of

release = table_of(Release)

_ADD: Final = {
    "postgresql": postgresql.insert(release).on_conflict_do_nothing(index_elements=["project_id", "tag"]),
    "sqlite": sqlite.insert(release).on_conflict_do_nothing(index_elements=["project_id", "tag"]),
}


async def add(connection: AsyncConnection, now: datetime, **values: Any) -> bool:
    """Write a release; false, and nothing is written, when the tag has one already."""
    row = {"job_id": None, **values, "created_at": now}
    if not (await connection.execute(_ADD[connection.dialect.name], row)).rowcount:
        return False
    await _tell(connection, await get(connection, values["project_id"], values["tag"]), "create", now)
    return True


async def _tell(connection: AsyncConnection, row: ReleaseRow, action: str, now: datetime) -> None:
    """Note what happened to a release for the hooks of its project."""
    if wants(await webhook_events.watched(connection, row.project_id), Event.RELEASE):
        await webhook_events.note(connection, [happening_of(row, action)], now)


def happening_of(row: ReleaseRow, action: str) -> Happening:
    """What hooks are told of a release; `action` is `create`, `update` or `delete`."""
    plain = {name: getattr(row, name) for name in ("id", "tag", "name", "description", "sha")}
    moments = {name: getattr(row, name).isoformat() for name in ("released_at", "created_at")}
    facts = {"action": action, **plain, **moments, "links": links_of(row.assets)}
    return Happening(row.project_id, Event.RELEASE, row.user_id, facts=facts)


async def find(connection: AsyncConnection, project_id: int, tag: str) -> ReleaseRow | None:
    """The release of a tag, or None."""
    statement = select(release).where(release.c.project_id == project_id, release.c.tag == tag)
    return first_of(ReleaseRow, await connection.execute(statement))


async def by_tags(connection: AsyncConnection, project_id: int, tags: Sequence[str]) -> dict[str, ReleaseRow]:
    """The releases of these tags, by tag; those that there are."""
    if not tags:
        return {}
    statement = select(release).where(release.c.project_id == project_id, release.c.tag.in_(padded(tags)))
    return {row.tag: row for row in all_of(ReleaseRow, await connection.execute(statement))}


async def get(connection: AsyncConnection, project_id: int, tag: str) -> ReleaseRow:
    """The release of a tag. Raises `NotFound`."""
    row = await find(connection, project_id, tag)
    if row is None:
        raise NotFound("Not Found")
    return row


async def hold(connection: AsyncConnection, project_id: int, tag: str) -> ReleaseRow:
    """The release of a tag, which nobody else changes before this transaction has ended. Raises `NotFound`."""
    statement = select(release).where(release.c.project_id == project_id, release.c.tag == tag).with_for_update()
    row = first_of(ReleaseRow, await connection.execute(statement))
    if row is None:
        raise NotFound("Not Found")
    return row


async def change(connection: AsyncConnection, row: ReleaseRow, now: datetime, **values: Any) -> ReleaseRow:
    """Write columns of a release that is held; the row as it is then."""
    if values:
        await connection.execute(update(release).where(release.c.id == row.id).values(**values))
    if "description" in values:
        await rendered_texts.forget(connection, rendered_texts.RELEASES, row.id)
    changed = await get(connection, row.project_id, row.tag)
    await _tell(connection, changed, "update", now)
    return changed


async def is_of_job(connection: AsyncConnection, row: ReleaseRow, job_id: int) -> bool:
    """Whether an attempt of the same job made this release."""
    if row.job_id is None:
        return False
    firsts = select(job.c.first_id).where(job.c.id.in_({row.job_id, job_id})).distinct()
    return len((await connection.execute(firsts)).all()) == 1


def of_project(project_id: int, *, order_by: str = "released_at", ascending: bool = False) -> Listing[ReleaseRow]:
    """Statement for the releases of a project; `order_by` is `released_at` or `created_at`."""
    column = release.c[order_by]
    ways = (column.asc(), release.c.id.asc()) if ascending else (column.desc(), release.c.id.desc())
    return Listing(
        select(release).where(release.c.project_id == project_id).order_by(*ways), ReleaseRow, (release.c.description,)
    )


async def latest(connection: AsyncConnection, project_id: int, now: datetime) -> ReleaseRow:
    """The release that was released last by now. Raises `NotFound`."""
    statement = of_project(project_id).statement.where(release.c.released_at <= now).limit(1)
    row = first_of(ReleaseRow, await connection.execute(statement))
    if row is None:
        raise NotFound("Not Found")
    return row


async def remove(connection: AsyncConnection, row: ReleaseRow, now: datetime) -> None:
    """Forget a release; its tag stays."""
    await connection.execute(delete(release).where(release.c.id == row.id))
    await _tell(connection, row, "delete", now)
