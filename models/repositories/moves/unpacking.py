"""Unpacking an organisation: its rows come into the tables of a pod, all in one transaction, and are added up there."""

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, TypeAlias

from sqlalchemy import Table, and_, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.errors import Refused
from domain.pods.belongings import BELONGINGS, Carried
from domain.pods.visits import ACTIVE, state_by_home
from models.columns import table_of
from models.repositories.installation.installations import BLOCK, continue_after, last_ids
from models.repositories.moves.ownership import carried, own_rules, people_columns, references
from models.repositories.moves.packing import batches
from models.repositories.moves.row_text import Checksum, Values, rows_of
from models.schema import METADATA
from models.tables.accounts import User

Packs: TypeAlias = AsyncIterator[tuple[str, str]]
"""The name of a table, and rows of it as text."""
Reseal: TypeAlias = Callable[[str, Values], Values]
"""A row of a table with what is sealed in it sealed by another key; or with what is sealed in it opened."""
Sums: TypeAlias = dict[str, tuple[int, str]]
"""By table: how many rows there are, and what they come to."""

account = table_of(User)

_VISITOR: Final = {"password_hash": "", "is_admin": False, "bot": False, "session_epoch": 0}
_SQLITE_COUNTS_ON: Final = (
    "{table} has rows with ids of a pod with a higher number than {number}, and SQLite counts on from the highest id: "
    "ids of another pod would be given here. Move the organisation to a pod with a higher number, or to one on "
    "PostgreSQL."
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where rows come to. `is_new`: to another pod, where people have other ids and rows begin anew."""

    pod_number: int
    reseal: Reseal
    opened: Reseal
    people: Mapping[int, int] = field(default_factory=dict)
    is_new: bool = True


async def take_people(connection: AsyncConnection, packs: Packs, place: Place, now: datetime) -> dict[int, int]:
    """The ids by which the pod knows people of another one, by those that they have there.

    Whoever it does not know yet gets a row, as a visitor: of the same name, without a password, and with a name and an
    address that are claimed elsewhere. Bots keep their ids.
    """
    known: dict[int, int] = {}
    before = await last_ids(connection)
    async for _, text in packs:
        rows = rows_of(account, text)
        bots = [row for row in rows if row["bot"]]
        _check_ids(connection, account, bots, place)
        for row in bots:
            known[row["id"]] = await _bot(connection, row)
        await _count_on(connection, before)
        for row in rows:
            if not row["bot"]:
                known[row["id"]] = await _person(connection, row, place, now)
        before = await last_ids(connection)
    return known


async def _person(connection: AsyncConnection, row: Values, place: Place, now: datetime) -> int:
    """Somebody is found by their account at home, never by their name alone (docs/pods.md, "Visitors")."""
    home = row["id"] // BLOCK if row["home_pod"] is None else row["home_pod"]
    home_id = row["id"] if row["home_pod"] is None else row["home_id"]
    own = and_(account.c.id == home_id, account.c.home_pod.is_(None))
    visitor = and_(account.c.home_pod == home, account.c.home_id == home_id)
    rule = own if home == place.pod_number else visitor
    found = (await connection.execute(select(account.c.id).where(rule))).scalar()
    return int(found) if found is not None else await _visitor(connection, row, (home, home_id), now)


async def _visitor(connection: AsyncConnection, row: Values, at_home: tuple[int, int | None], now: datetime) -> int:
    """The row of somebody who has never come, who may be expected by their name. Raises `Refused`."""
    home, home_id = at_home
    same = select(account.c.id, account.c.home_pod, account.c.home_id)
    name = func.lower(account.c.username) == row["username"].lower()
    known = (await connection.execute(same.where(name))).first()
    if known is None:
        values = {name: value for name, value in row.items() if name not in {"id", "created_at"}}
        if row["home_pod"] is None:  # they are at home where the organisation comes from, which has blocked them or not
            values["state"] = state_by_home(ACTIVE, is_blocked=row["state"] != ACTIVE)
        values |= {**_VISITOR, "created_at": now, "home_pod": home, "home_id": home_id}
        return int((await connection.execute(insert(account).values(values).returning(account.c.id))).scalar_one())
    if known.home_pod != home or None not in {known.home_id, home_id}:
        raise Refused(
            f"Somebody else is called {row['username']} in the pod that the organisation comes to. Call the move off, "
            "rename one of the two, and move it then."
        )
    await connection.execute(update(account).where(account.c.id == known.id).values(home_id=home_id or known.home_id))
    return int(known.id)


async def _bot(connection: AsyncConnection, row: Values) -> int:
    changed = await connection.execute(update(account).where(account.c.id == row["id"]).values(**row))
    if not changed.rowcount:
        await connection.execute(insert(account).values(**row))
    return int(row["id"])


async def unpack(connection: AsyncConnection, packs: Packs, place: Place) -> Sums:
    """Put rows into the tables; what they come to. Raises `Refused` for ids that the database cannot have."""
    before = await last_ids(connection)
    sums: defaultdict[str, Checksum] = defaultdict(Checksum)
    late: list[tuple[Table, str, Values]] = []
    async for name, text in packs:
        table, belonging = METADATA.tables[name], BELONGINGS[name]
        assert isinstance(belonging, Carried)  # nothing else is packed
        rows = [_placed(table, belonging, row, place) for row in rows_of(table, text)]
        _check_ids(connection, table, rows, place)
        sums[name].add(place.opened(name, row) for row in rows)
        await connection.execute(insert(table), [_without_late(table, row, late) for row in rows])
    for table, column, values in late:
        await connection.execute(update(table).where(table.c.id == values["id"]).values({column: values[column]}))
    await _count_on(connection, before)
    return {name: found.value for name, found in sums.items()}


async def check_highest(connection: AsyncConnection, organisation_id: int, pod_number: int) -> None:
    """Raise `Refused` for an organisation with ids that a pod of this number on SQLite cannot have."""
    rules = own_rules(organisation_id)
    for table, _ in carried():
        if "id" in table.c:
            highest = (await connection.execute(select(func.max(table.c.id)).where(rules[table.name]))).scalar()
            if (highest or 0) >= (pod_number + 1) * BLOCK:
                raise Refused(_SQLITE_COUNTS_ON.format(table=table.name, number=pod_number))


async def added_up(connection: AsyncConnection, organisation_id: int, opened: Reseal) -> Sums:
    """What the rows of an organisation come to, as the tables have them; `opened` opens what is sealed."""
    sums: Sums = {}
    rules = own_rules(organisation_id)
    for table, _ in carried():
        found = Checksum()
        async for rows in batches(connection, table, rules[table.name]):
            found.add(opened(table.name, row) for row in rows)
        if found.count:
            sums[table.name] = found.value
    return sums


def _placed(table: Table, belonging: Carried, row: Values, place: Place) -> Values:
    if not place.is_new:
        return row
    people = {column: place.people[row[column]] for column in people_columns(table, belonging) if row[column]}
    lists = {column: [place.people[each] for each in row[column]] for column in belonging.people_lists}
    return place.reseal(table.name, {**row, **people, **lists, **belonging.anew})


def _check_ids(connection: AsyncConnection, table: Table, rows: list[Values], place: Place) -> None:
    if not place.is_new or connection.dialect.name != "sqlite" or "id" not in table.c:
        return
    if rows and max(row["id"] for row in rows) >= (place.pod_number + 1) * BLOCK:
        raise Refused(_SQLITE_COUNTS_ON.format(table=table.name, number=place.pod_number))


def _without_late(table: Table, row: Values, late: list[tuple[Table, str, Values]]) -> Values:
    """A row that refers to no other row of its table, which may not be there yet."""
    for column, target in references(table):
        if target is table and row[column.name] is not None:
            late.append((table, column.name, {"id": row["id"], column.name: row[column.name]}))
            row = {**row, column.name: None}
    return row


async def _count_on(connection: AsyncConnection, before: Mapping[str, int]) -> None:
    """The next ids are those that would have been: rows that bring their ids move the counters of SQLite."""
    if connection.dialect.name != "sqlite":
        return
    for name, last in before.items():
        await continue_after(connection, name, last)
