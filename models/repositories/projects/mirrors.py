"""Mirrors of repositories elsewhere: set up, found when it is their turn, held by one process at a time."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import delete, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import table_of
from models.rows.mirrors import MirrorRow
from models.tables.mirrors import Mirror
from models.typed_rows import all_of, first_of

mirror = table_of(Mirror)

_MAX_PAUSE: Final = timedelta(hours=12)


def purpose(project_id: int) -> str:
    """What the credentials of a mirror are sealed for."""
    return f"mirror:{project_id}"


async def of_project(connection: AsyncConnection, project_id: int) -> MirrorRow | None:
    """The mirror of a project, or None."""
    return first_of(MirrorRow, await connection.execute(select(mirror).where(mirror.c.project_id == project_id)))


async def put(connection: AsyncConnection, project_id: int, now: datetime, **values: Any) -> None:
    """Set up a project's mirror, or write columns of it."""
    known = await of_project(connection, project_id)
    if known is None:
        await connection.execute(insert(mirror).values(project_id=project_id, created_at=now, **values))
    else:
        await connection.execute(update(mirror).where(mirror.c.id == known.id).values(**values))


async def remove(connection: AsyncConnection, project_id: int) -> None:
    """Follow nothing any more."""
    await connection.execute(delete(mirror).where(mirror.c.project_id == project_id))


async def schedule(connection: AsyncConnection, project_id: int, now: datetime) -> bool:
    """Let a mirror be pulled now; false where none is set up and enabled."""
    rule = (mirror.c.project_id == project_id) & mirror.c.enabled
    done = await connection.execute(update(mirror).where(rule).values(next_at=now, status="scheduled"))
    return bool(done.rowcount)


async def due(connection: AsyncConnection, now: datetime, limit: int) -> Sequence[MirrorRow]:
    """Mirrors whose turn it is and that nobody holds."""
    statement = select(mirror).where(_is_due(now)).order_by(mirror.c.next_at).limit(limit)
    return all_of(MirrorRow, await connection.execute(statement))


def _is_due(now: datetime) -> Any:
    free = or_(mirror.c.held_until.is_(None), mirror.c.held_until <= now)
    return mirror.c.enabled & (mirror.c.next_at <= now) & free


async def hold(connection: AsyncConnection, mirror_id: int, now: datetime, until: datetime) -> MirrorRow | None:
    """Take a mirror that is due, as it is now; None if another process was faster."""
    values = {"held_until": until, "status": "started", "last_update_started_at": now, "next_at": None}
    statement = update(mirror).where(mirror.c.id == mirror_id, _is_due(now)).values(**values).returning(mirror)
    return first_of(MirrorRow, await connection.execute(statement))


async def keep(connection: AsyncConnection, mirror_id: int, held: datetime, until: datetime) -> bool:
    """Hold it for longer; false if it is held by somebody else by now."""
    rule = (mirror.c.id == mirror_id) & (mirror.c.held_until == held)
    return bool((await connection.execute(update(mirror).where(rule).values(held_until=until))).rowcount)


async def recover(connection: AsyncConnection, now: datetime) -> int:
    """Mirrors whose process died are due again; how many."""
    rule = mirror.c.next_at.is_(None) & (mirror.c.held_until <= now) & mirror.c.enabled
    done = await connection.execute(update(mirror).where(rule).values(next_at=now, held_until=None, status="scheduled"))
    return int(done.rowcount)


async def finish(connection: AsyncConnection, row: MirrorRow, held: datetime, now: datetime, error: str) -> None:
    """A pull has ended; the next one comes after the interval, later and later while it fails.

    One that was asked for meanwhile comes at once.
    """
    failures = row.failures + 1 if error else 0
    pause = min(timedelta(seconds=row.interval) * 2 ** min(max(failures - 1, 0), 10), _MAX_PAUSE)
    rule = (mirror.c.id == row.id) & (mirror.c.held_until == held)
    values = {"held_until": None, "last_update_at": now, "failures": failures, "last_error": error[:1000]}
    if not error:
        values["last_successful_update_at"] = now
    if not (await connection.execute(update(mirror).where(rule).values(**values))).rowcount:
        return
    ended = {"next_at": now + pause, "status": "failed" if error else "finished"}
    quiet = (mirror.c.id == row.id) & mirror.c.next_at.is_(None)
    await connection.execute(update(mirror).where(quiet).values(**ended))


async def lost(connection: AsyncConnection, now: datetime) -> bool:
    """Whether the process that pulled a mirror has died."""
    rule = mirror.c.next_at.is_(None) & (mirror.c.held_until <= now) & mirror.c.enabled
    return (await connection.execute(select(mirror.c.id).where(rule).limit(1))).first() is not None
