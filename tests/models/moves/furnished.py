"""Rows in every table that moves, made from nothing but the schema: a new table is in it without a word here."""

from collections import defaultdict
from datetime import UTC, datetime
from functools import partial
from itertools import count
from typing import Any, Final

from sqlalchemy import JSON, Boolean, Column, Date, Float, Integer, LargeBinary, Table, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from application.moves.sealed import PURPOSES
from auth.encryption import Sealer
from domain.pods.belongings import AUDITED, PEOPLE, Carried
from domain.sealed_documents import COLUMNS, seal_row
from domain.sealed_for import PIPELINE
from models.columns import Moment, table_of
from models.repositories.moves.ownership import carried, people_columns, references
from models.repositories.pipelines.cross_pod import downstream, upstream
from models.repositories.pipelines.job_rows import job
from models.schema import METADATA
from models.tables.accounts import User
from models.tables.namespaces import Namespace
from models.tables.pipelines import Pipeline

MOMENT = datetime(2026, 5, 4, 3, 2, 1, 987_654, tzinfo=UTC)
ROWS = 3
"""Of each table."""
_REASON: Final = {
    "clause": "rules[0]",
    "tried": [{"name": "rules[0]", "values": {"DEPLOY": "secret", "CI": "true"}, "private": ["DEPLOY"]}],
}
DOCUMENTS: Final[dict[str, Any]] = {
    "variables": [{"key": "DEPLOY", "value": "secret"}],
    "why": _REASON,
    "reasons": {"why": _REASON, "absent": [{"name": "a", "stage": "test", "why": _REASON}], "warnings": []},
}
"""Documents with values that are kept sealed, by column."""
_NUMBERS = count(1)
"""No two rows have the same."""

account = table_of(User)
namespace = table_of(Namespace)
pipeline = table_of(Pipeline)


class Furnished:
    """An organisation with rows in each table that moves; what it made, by table."""

    def __init__(self, connection: AsyncConnection, sealer: Sealer, path: str, people: list[int]) -> None:
        """Of the pod with this key; `people` are ids of accounts."""
        self._connection = connection
        self._sealer = sealer
        self._path = path
        self._people = people
        self.ids: defaultdict[str, list[int]] = defaultdict(list)
        self.organisation_id = 0

    async def make(self) -> int:
        """Make all; the id of the organisation."""
        root = {"path": self._path, "full_path": self._path, "name": self._path, "created_at": MOMENT}
        made = insert(namespace).values(organisation_id=0, **root).returning(namespace.c.id)
        self.organisation_id = int((await self._connection.execute(made)).scalar_one())
        mine = {"organisation_id": self.organisation_id, "trail": f"/{self.organisation_id}/"}
        await self._connection.execute(update(namespace).where(namespace.c.id == self.organisation_id).values(**mine))
        self.ids["namespace"].append(self.organisation_id)
        for table, belonging in carried():
            for _ in range(ROWS):
                await self._row(table, belonging)
        bridge = update(pipeline).where(pipeline.c.id == self.ids["pipeline"][-1])
        await self._connection.execute(bridge.values(bridge_id=self.ids["job"][0]))
        await self._end_what_is_in_other_pods()
        return self.organisation_id

    async def _end_what_is_in_other_pods(self) -> None:
        """An organisation does not move while one end of a bridge to another pod has not ended."""
        for table, ended in (
            (job, job.c.id.in_(select(downstream.c.bridge_id))),
            (pipeline, pipeline.c.id.in_(select(upstream.c.pipeline_id))),
        ):
            await self._connection.execute(update(table).where(ended).values(status="success"))
        await self._connection.execute(update(upstream).values(told_status="success"))

    async def _row(self, table: Table, belonging: Carried) -> None:
        number = next(_NUMBERS)
        row = {column.name: self._value(table, column, number) for column in table.c if column.name != "id"}
        for column in people_columns(table, belonging):
            row[column] = self._people[number % len(self._people)]
        row |= {column: [self._people[0], self._people[-1]] for column in belonging.people_lists}
        row |= {column: self._one(name, number) if self.ids[name] else None for column, name in belonging.loose.items()}
        if "project_id" in row and "namespace_id" in row and table.c["project_id"].nullable:
            row["project_id" if number % 2 else "namespace_id"] = None
        if table.name == "audit_event":
            row["entity_type"] = list(AUDITED)[number % 2]
            row["entity_id"] = self._one(AUDITED[row["entity_type"]], number)
        for column in belonging.sealed:
            row[column] = self._sealer.seal(f"secret {number}", PURPOSES[table.name](row))
        row |= {column: DOCUMENTS[column] for column in COLUMNS.get(table.name, ())}
        row = seal_row(table.name, row, partial(self._sealer.seal, purpose=PIPELINE))
        made = insert(table).values(**row)
        if "id" in table.c:
            found = await self._connection.execute(made.returning(table.c.id))
            self.ids[table.name].append(int(found.scalar_one()))
        else:
            await self._connection.execute(made)

    def _one(self, name: str, number: int) -> int:
        """A row of a table; in a table without rows of its own number nothing is the same twice."""
        return self.ids[name][number % len(self.ids[name])]

    def _value(self, table: Table, column: Column[Any], number: int) -> Any:
        if column.name == "organisation_id":
            return self.organisation_id
        if column.name == "removal_asked_at":
            return None
        for found, target in references(table):
            if found is column and target.name != PEOPLE:
                return self._one(target.name, number) if self.ids[target.name] else None
        return self._filled(table, column, number)

    def _filled(self, table: Table, column: Column[Any], number: int) -> Any:
        match column.type:
            case Moment():
                return MOMENT
            case Date():
                return MOMENT.date()
            case LargeBinary():
                return b"\0\xff%d" % number
            case JSON():
                return [number] if "list" in repr(column.default) else {"b": [number], "a": "ü\n", "c": None}
            case Boolean() | Float() | Integer():
                return column.type.python_type(number % 2 if column.type.python_type is bool else number)
            case _:
                return f"{self._path}/{table.name} {number}"


async def make_people(connection: AsyncConnection, *names: str) -> list[int]:
    """Accounts; the ids."""
    found = []
    for name in names:
        values = {"username": name, "name": name.title(), "email": f"{name}@example.com", "created_at": MOMENT}
        made = insert(account).values(**values, bot=name.endswith("_bot")).returning(account.c.id)
        found.append(int((await connection.execute(made)).scalar_one()))
    return found


async def everything(connection: AsyncConnection) -> dict[str, list[dict[str, Any]]]:
    """All rows of all tables."""
    found = {}
    for table in METADATA.sorted_tables:
        rows = (await connection.execute(select(table).order_by(*table.primary_key.columns))).mappings()
        found[table.name] = [dict(row) for row in rows]
    return found
