"""How much people want to hear, of everything, of groups and of projects."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import and_, case, or_, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.notifications.levels import Level, Setting, in_force
from models.columns import table_of
from models.repositories.owner import Owner
from models.rows.notifications import NotificationSettingRow
from models.tables.notifications import NotificationSetting
from models.typed_rows import all_of, first_of

setting = table_of(NotificationSetting)

_SPEAKING: Final = (str(Level.WATCH), str(Level.CUSTOM))
"""Levels at which people hear of what they take no part in."""


@dataclass(frozen=True, slots=True)
class Around:
    """A project, and the groups around it from within."""

    project_id: int
    groups: tuple[int, ...]


async def find(connection: AsyncConnection, account_id: int, owner: Owner) -> Setting | None:
    """What somebody chose for a project, a group or everything; None where they chose nothing."""
    statement = select(setting).where(setting.c.account_id == account_id, owner.own(setting))
    row = first_of(NotificationSettingRow, await connection.execute(statement))
    return None if row is None else _read(row)


async def put(connection: AsyncConnection, account_id: int, owner: Owner, chosen: Setting, now: datetime) -> None:
    """Write what somebody chose for a project, a group or everything."""
    add: Any = {"postgresql": postgresql.insert, "sqlite": sqlite.insert}[connection.dialect.name]
    values: dict[str, Any] = {"level": str(chosen.level), "events": dict(chosen.events), "updated_at": now}
    columns, where = _unique(owner)
    written = add(setting).values(account_id=account_id, **owner.columns, **values)
    await connection.execute(written.on_conflict_do_update(index_elements=columns, index_where=where, set_=values))


def _unique(owner: Owner) -> tuple[list[str], Any]:
    """The unique index that the rows of an owner are in: its columns, and which rows it has."""
    if owner.project_id is not None:
        return ["project_id", "account_id"], setting.c.project_id.is_not(None)
    if owner.namespace_id is not None:
        return ["namespace_id", "account_id"], setting.c.namespace_id.is_not(None)
    return ["account_id"], and_(setting.c.project_id.is_(None), setting.c.namespace_id.is_(None))


async def all_of_person(connection: AsyncConnection, account_id: int) -> Sequence[NotificationSettingRow]:
    """Everything that somebody chose: of everything first, then of groups and projects."""
    first = case((and_(setting.c.project_id.is_(None), setting.c.namespace_id.is_(None)), 0), else_=1)
    statement = select(setting).where(setting.c.account_id == account_id).order_by(first, setting.c.id)
    return all_of(NotificationSettingRow, await connection.execute(statement))


async def of_people(connection: AsyncConnection, around: Around, people: Collection[int]) -> Mapping[int, Setting]:
    """What counts for each of these people in a project."""
    if not people:
        return {}
    statement = select(setting).where(setting.c.account_id.in_(sorted(people)), _applies(around))
    chosen: dict[int, dict[tuple[int | None, int | None], Setting]] = {person: {} for person in people}
    for row in all_of(NotificationSettingRow, await connection.execute(statement)):
        chosen[row.account_id][row.project_id, row.namespace_id] = _read(row)
    return {person: in_force(_from_within(around, mine)) for person, mine in chosen.items()}


async def who_may_listen(connection: AsyncConnection, around: Around) -> Mapping[int, bool]:
    """People who watch a project, or chose events of it, by some setting; whether it is one of everything alone."""
    statement = select(setting.c.account_id, setting.c.project_id, setting.c.namespace_id).where(
        _applies(around), setting.c.level.in_(_SPEAKING)
    )
    found: dict[int, bool] = {}
    for account_id, project_id, namespace_id in await connection.execute(statement):
        found[account_id] = found.get(account_id, True) and project_id is None and namespace_id is None
    return found


def _applies(around: Around) -> Any:
    return or_(
        setting.c.project_id == around.project_id,
        setting.c.namespace_id.in_(around.groups),
        and_(setting.c.project_id.is_(None), setting.c.namespace_id.is_(None)),
    )


def _from_within(around: Around, chosen: Mapping[tuple[int | None, int | None], Setting]) -> Iterable[Setting | None]:
    yield chosen.get((around.project_id, None))
    for group in around.groups:
        yield chosen.get((None, group))
    yield chosen.get((None, None))


def _read(row: NotificationSettingRow) -> Setting:
    return Setting(Level(row.level), row.events)
