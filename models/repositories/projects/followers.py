"""Projects of other pods that follow those of this one (docs/pods.md, "Subscriptions between pods")."""

from collections.abc import Sequence
from dataclasses import asdict

from sqlalchemy import delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from models.repositories.projects.subscriptions import follower, lock_projects, require_room_for_follower
from models.rows.cross_pod import CrossPodFollowerRow
from models.typed_rows import all_of, first_of


async def find(connection: AsyncConnection, upstream_id: int, follower_id: int) -> CrossPodFollowerRow | None:
    """That a project follows another one."""
    rule = (follower.c.upstream_project_id == upstream_id) & (follower.c.follower_id == follower_id)
    return first_of(CrossPodFollowerRow, await connection.execute(select(follower).where(rule)))


async def of_project(connection: AsyncConnection, upstream_id: int) -> Sequence[CrossPodFollowerRow]:
    """Who follows a project."""
    statement = select(follower).where(follower.c.upstream_project_id == upstream_id).order_by(follower.c.follower_id)
    return all_of(CrossPodFollowerRow, await connection.execute(statement))


async def keep(connection: AsyncConnection, row: CrossPodFollowerRow) -> None:
    """Note who follows a project, again if it is known. Raises `Invalid` when there are too many."""
    await lock_projects(connection, [row.upstream_project_id])
    values = asdict(row)
    rule = (follower.c.upstream_project_id == row.upstream_project_id) & (follower.c.follower_id == row.follower_id)
    if (await connection.execute(update(follower).where(rule).values(**values))).rowcount:
        return
    await require_room_for_follower(connection, row.upstream_project_id)
    await connection.execute(insert(follower).values(**values))


async def forget(connection: AsyncConnection, row: CrossPodFollowerRow) -> None:
    """Nobody needs to tell that project any more, unless it was noted again meanwhile."""
    rule = (follower.c.upstream_project_id == row.upstream_project_id) & (follower.c.follower_id == row.follower_id)
    await connection.execute(delete(follower).where(rule, follower.c.noted_at == row.noted_at))
