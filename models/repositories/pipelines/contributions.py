"""What people did to projects: written in the transaction in which they do it, and listed."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

from sqlalchemy import ColumnElement, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.projects import contributions as rules
from domain.projects.contributions import Action
from models.columns import table_of
from models.repositories.accounts import members
from models.repositories.paging import Listing
from models.repositories.projects import projects
from models.repositories.projects.projects import REPORTER, Viewer
from models.rows.contributions import ContributionRow
from models.tables.accounts import User
from models.tables.contributions import Contribution
from models.tables.projects import Project

contribution = table_of(Contribution)
project = table_of(Project)
user = table_of(User)

_GUEST: Final = 10


async def add(connection: AsyncConnection, made: Sequence[rules.Contribution], now: datetime) -> None:
    """Write what somebody did."""
    if not made:
        return
    rows = [
        {
            "project_id": one.project_id,
            "author_id": one.author_id,
            "action": str(one.action),
            "target_type": one.target.kind,
            "target_id": one.target.id,
            "target_iid": one.target.iid,
            "target_title": one.target.title,
            "push": dict(one.push),
            "created_at": now,
        }
        for one in made
    ]
    await connection.execute(insert(contribution), rows)


async def of_audit(
    connection: AsyncConnection, kind: str, project_id: int, event: str, author_id: int, member: str, now: datetime
) -> None:
    """Write what an audit event of a project means as a contribution, if it is one: of `member`, or of its author."""
    actions = {
        "project_created": Action.CREATED,
        "project_forked": Action.CREATED,
        "member_added": Action.JOINED,
        "member_removed": Action.LEFT,
    }
    if kind != "project" or event not in actions:
        return
    if member:
        author_id = (await connection.execute(select(user.c.id).where(user.c.username == member))).scalar_one()
    await add(connection, [rules.Contribution(project_id, author_id, actions[event])], now)


@dataclass(frozen=True, slots=True)
class ContributionFilter:
    """Which contributions; what is empty does not narrow. `joined_by` is somebody in whose projects they were made."""

    project_id: int | None = None
    author_id: int | None = None
    joined_by: int | None = None
    action: str = ""
    target_type: str = ""
    before: date | None = None
    after: date | None = None
    ascending: bool = False


def listed(wanted: ContributionFilter, viewer: Viewer) -> Listing[ContributionRow]:
    """Contributions that somebody may see, the newest first unless told."""
    statement = select(contribution).where(*_conditions(wanted))
    if not viewer.is_admin:
        statement = statement.where(_visible(viewer))
    order = contribution.c.id.asc() if wanted.ascending else contribution.c.id.desc()
    return Listing(statement.order_by(order), ContributionRow)


def _conditions(wanted: ContributionFilter) -> list[ColumnElement[bool]]:
    table = contribution.c
    found: list[ColumnElement[bool]] = []
    for column, value in (
        (table.project_id, wanted.project_id),
        (table.author_id, wanted.author_id),
        (table.action, wanted.action),
        (table.target_type, wanted.target_type),
    ):
        if value not in {None, ""}:
            found.append(column == value)
    if wanted.joined_by is not None:
        found.append(table.project_id.in_(members.project_ids(wanted.joined_by)))
    if wanted.before is not None:
        found.append(table.created_at < _begin(wanted.before))
    if wanted.after is not None:
        found.append(table.created_at >= _begin(wanted.after + timedelta(days=1)))
    return found


def _begin(day: date) -> datetime:
    """The first moment of a day (UTC)."""
    return datetime.combine(day, time(), UTC)


def _visible(viewer: Viewer) -> ColumnElement[bool]:
    """Guests see who came and went; what was pushed or merged is of the code, and for who may read that."""

    def open_to(level: int) -> ColumnElement[bool]:
        return contribution.c.project_id.in_(select(project.c.id).where(projects.visible(viewer, level)))

    plain = (contribution.c.target_type == "") & (contribution.c.action != Action.PUSHED)
    return open_to(REPORTER) | (plain & open_to(_GUEST))
