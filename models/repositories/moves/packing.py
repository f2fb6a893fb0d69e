"""Packing an organisation: its rows leave the tables of a pod and are kept as text, all in one transaction."""

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import orjson
from sqlalchemy import ColumnElement, Table, and_, case, delete, insert, literal, select, text, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pods.belongings import PEOPLE, Carried
from models.columns import padded, table_of
from models.repositories.moves.ownership import (
    ORDER,
    carried,
    own_rules,
    people_columns,
    references,
    removal_rules,
    row_references,
)
from models.repositories.moves.row_text import Values, text_of
from models.repositories.moves.stored_objects import StoredObject, objects_of
from models.repositories.row_removal import Rules
from models.schema import METADATA
from models.tables.accounts import User
from models.tables.moves import MovedRow

BATCH: Final = 500
"""Rows that are read, and packed, at once."""

OBJECTS: Final = "objects"
"""What packs are called that hold keys of objects."""

Item = TypeVar("Item")

account = table_of(User)
moved_row = table_of(MovedRow)

_KEPT_OF_PEOPLE: Final = ("id", "username", "name", "email", "state", "external", "created_at", "home_pod", "home_id")
"""What another pod has to know of a person; of a bot it gets all."""


@dataclass(slots=True)
class Packed:
    """What was packed: rows by table, and those that could not come along since they need a row that stays."""

    counts: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)


async def begin_whole(connection: AsyncConnection) -> None:
    """Let the transaction, whose first word this is, see one state of the database, and write upon nothing newer."""
    if connection.dialect.name == "postgresql":
        await connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))


async def pack(connection: AsyncConnection, move_id: str, organisation_id: int) -> Packed:
    """Pack the rows of an organisation and remove them, in a transaction of `begin_whole`."""
    packed, number = Packed(), 0
    rules = own_rules(organisation_id)
    known = await _ids_by_table(connection, rules)
    people: set[int] = set()
    await connection.execute(delete(moved_row).where(moved_row.c.move_id == move_id))
    for table, belonging in carried():
        async for rows in batches(connection, table, rules[table.name]):
            whole = [row for row in rows if _is_whole(table, belonging, row, known)]
            packed.counts[table.name] += len(whole)
            packed.left_out[table.name] += len(rows) - len(whole)
            people |= _people_in(table, belonging, whole)
            number += 1
            await _keep(connection, move_id, number, table.name, whole)
    for ids in _parts(sorted(people)):
        number += 1
        await _keep(connection, move_id, number, PEOPLE, await _people(connection, ids))
    objects = [{"key": one.key, "is_sealed": one.is_sealed} async for one in objects_of(connection, organisation_id)]
    for part in _parts(objects):
        number += 1
        await _keep(connection, move_id, number, OBJECTS, part)
    await _remove(connection, removal_rules(organisation_id))
    packed.left_out = +packed.left_out
    return packed


async def packs(connection: AsyncConnection, move_id: str, *, people: bool) -> AsyncIterator[tuple[str, str]]:
    """What is packed, in its order: the name of a table, and rows of it; either of people, or all others."""
    others = moved_row.c.name.not_in((PEOPLE, OBJECTS))
    async for row in _packs(connection, move_id, moved_row.c.name == PEOPLE if people else others):
        yield row.name, row.content


async def packed_objects(connection: AsyncConnection, move_id: str) -> AsyncIterator[StoredObject]:
    """The objects that the packed rows speak of."""
    async for row in _packs(connection, move_id, moved_row.c.name == OBJECTS):
        for one in orjson.loads(row.content):
            yield StoredObject(one["key"], one["is_sealed"])


async def packed_columns(connection: AsyncConnection, move_id: str, name: str, *columns: str) -> list[tuple[Any, ...]]:
    """Columns of the packed rows of a table."""
    found: list[tuple[Any, ...]] = []
    async for row in _packs(connection, move_id, moved_row.c.name == name):
        found += [tuple(one[column] for column in columns) for one in orjson.loads(row.content)]
    return found


async def _packs(connection: AsyncConnection, move_id: str, of_kind: ColumnElement[bool]) -> AsyncIterator[Any]:
    number = 0
    while True:
        rule = and_(moved_row.c.move_id == move_id, moved_row.c.number > number, of_kind)
        statement = select(moved_row.c.number, moved_row.c.name, moved_row.c.content).where(rule)
        row = (await connection.execute(statement.order_by(moved_row.c.number).limit(1))).first()
        if row is None:
            return
        number = row.number
        yield row


async def forget(connection: AsyncConnection, move_id: str) -> None:
    """Throw away what is packed."""
    await connection.execute(delete(moved_row).where(moved_row.c.move_id == move_id))


async def batches(
    connection: AsyncConnection, table: Table, rule: ColumnElement[bool]
) -> AsyncIterator[Sequence[Values]]:
    """Rows of a table, page by page in the order of their primary keys."""
    keys = list(table.primary_key.columns)
    statement = select(table).where(rule).order_by(*keys).limit(BATCH)
    after: ColumnElement[bool] | None = None
    while True:
        found = await connection.execute(statement if after is None else statement.where(after))
        rows = [dict(row) for row in found.mappings()]
        if rows:
            yield rows
        if len(rows) < BATCH:
            return
        after = tuple_(*keys) > tuple_(*(literal(rows[-1][key.name], key.type) for key in keys))


async def _ids_by_table(connection: AsyncConnection, rules: Rules) -> Mapping[str, Collection[int]]:
    """The ids of the rows that move, of those tables that others refer to."""
    wanted = {name for table, belonging in carried() for name in row_references(table, belonging).values()}
    known: dict[str, set[int]] = defaultdict(set)
    for name in sorted(wanted & rules.keys()):
        found = await connection.execute(select(METADATA.tables[name].c.id).where(rules[name]))
        known[name] = set(found.scalars())
    return known


def _is_whole(table: Table, belonging: Carried, row: Values, known: Mapping[str, Collection[int]]) -> bool:
    """Whether a row can be elsewhere; where it may, it forgets what stays."""
    for column, target in row_references(table, belonging).items():
        if row[column] is None or row[column] in known[target]:
            continue
        if not table.c[column].nullable:
            return False
        row[column] = None
    return True


def _people_in(table: Table, belonging: Carried, rows: Sequence[Values]) -> set[int]:
    found = {row[column] for column in people_columns(table, belonging) for row in rows}
    found |= {each for column in belonging.people_lists for row in rows for each in row[column]}
    return found - {None}


async def _people(connection: AsyncConnection, ids: Sequence[int]) -> Sequence[Values]:
    found = (await connection.execute(select(account).where(account.c.id.in_(padded(ids))))).mappings()
    return [dict(row) if row["bot"] else {name: row[name] for name in (*_KEPT_OF_PEOPLE, "bot")} for row in found]


async def _keep(connection: AsyncConnection, move_id: str, number: int, name: str, rows: Sequence[Values]) -> None:
    if rows:
        values = {"move_id": move_id, "number": number, "name": name, "content": text_of(rows)}
        await connection.execute(insert(moved_row).values(**values))


async def _remove(connection: AsyncConnection, rules: Rules) -> None:
    """Remove the rows; those of others that stay forget them."""
    for table in METADATA.sorted_tables:
        stays = case((rules[table.name], 1), else_=0) == 0 if table.name in rules else literal(1) == 1
        for column, target in references(table):
            if column.nullable and target.name in rules:
                gone = column.in_(select(target.c.id).where(rules[target.name]))
                await connection.execute(update(table).where(gone, stays).values({column.name: None}))
    for table in reversed(ORDER):
        if table.name in rules:
            await connection.execute(delete(table).where(rules[table.name]))


def _parts(ids: Sequence[Item]) -> list[Sequence[Item]]:
    return [ids[start : start + BATCH] for start in range(0, len(ids), BATCH)]
