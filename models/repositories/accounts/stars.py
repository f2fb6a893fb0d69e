"""Stars that people give to projects."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Select, delete, func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import table_of
from models.repositories.accounts import members
from models.repositories.accounts.accounts import user
from models.repositories.paging import Listing
from models.rows.accounts import UserRow
from models.tables.sharing import ProjectStar

star = table_of(ProjectStar)


async def give(connection: AsyncConnection, project_id: int, user_id: int, now: datetime) -> bool:
    """Star a project; false if that has been done."""
    rule = (star.c.project_id == project_id) & (star.c.user_id == user_id)
    if (await connection.execute(select(star.c.user_id).where(rule))).first() is not None:
        return False
    await connection.execute(insert(star).values(project_id=project_id, user_id=user_id, starred_at=now))
    return True


async def take(connection: AsyncConnection, project_id: int, user_id: int) -> bool:
    """Take a star back; false if there is none."""
    rule = (star.c.project_id == project_id) & (star.c.user_id == user_id)
    return bool((await connection.execute(delete(star).where(rule))).rowcount)


async def counts(connection: AsyncConnection, project_ids: Collection[int]) -> Mapping[int, int]:
    """How many stars projects have, by project; those without any are left out."""
    statement = select(star.c.project_id, func.count()).where(star.c.project_id.in_(project_ids))
    return {row[0]: row[1] for row in (await connection.execute(statement.group_by(star.c.project_id))).all()}


def projects_of(user_id: int) -> Select[tuple[int]]:
    """Statement for the ids of the projects that a person has starred."""
    return select(star.c.project_id).where(star.c.user_id == user_id)


@dataclass(frozen=True, slots=True)
class Stargazer(UserRow):
    """Somebody who has starred a project."""

    starred_at: datetime


def people_of(project_id: int, search: str = "") -> Listing[Stargazer]:
    """Statement for the people who have starred a project, by id."""
    statement = select(user, star.c.starred_at).join(star, star.c.user_id == user.c.id)
    statement = statement.where(star.c.project_id == project_id).order_by(user.c.id)
    return members.narrowed(Listing(statement, Stargazer), search)
