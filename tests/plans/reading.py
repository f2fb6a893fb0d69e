"""What a database says that it would read for a statement, the same for both kinds."""

import json
import re
import sqlite3
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import asyncpg

from tests.plans.recording import Sent


@dataclass(frozen=True, slots=True)
class Read:
    """A table that is read: whole (no `index`, or no `keys`), or by the columns `keys` that begin an index."""

    table: str
    index: str
    keys: tuple[str, ...]

    def __str__(self) -> str:
        """For people."""
        return f"{self.table} by {self.index or 'nothing'}({', '.join(self.keys)})"


@dataclass(frozen=True, slots=True)
class Index:
    """An index: how many rows it has, and how many of them have the same values in its first columns, on average."""

    table: str
    rows: int
    alike: Sequence[int]


class Explaining(Protocol):
    """A database that explains."""

    async def indices(self) -> Mapping[str, Index]:
        """What is known of each."""

    async def reads(self, sent: Sent) -> Sequence[Read]:
        """What it would read."""

    async def begin(self) -> None:
        """Count what there is, and plan as the product does."""

    async def plain_indices(self) -> Sequence[str]:
        """The indices that are no constraint."""

    def without(self, index: str) -> AbstractAsyncContextManager[None]:
        """While the block lasts the index is not there."""


_DETAIL: Final = re.compile(
    r"(?:SCAN|SEARCH) (\S+)(?: USING (?:(INTEGER PRIMARY KEY)|(?:COVERING )?INDEX (\S+)))?(?: \((.*)\))?"
)
_ALIAS: Final = re.compile(r'\b"?(\w+)"? AS "?(\w+)"?')
_EQUAL: Final = re.compile(r"(\w+)=\?")


class Sqlite:
    """A file of SQLite."""

    def __init__(self, file: Path) -> None:
        """Open it."""
        self._connection = sqlite3.connect(file, isolation_level=None)
        found = self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        self._tables = {name for (name,) in found}

    def close(self) -> None:
        """Leave it."""
        self._connection.close()

    async def begin(self) -> None:
        """Nothing: the product has counted what there is."""

    async def plain_indices(self) -> Sequence[str]:
        """The indices that are no constraint."""
        found = self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'index' AND sql <> ''")
        return [name for (name,) in found]

    @asynccontextmanager
    async def without(self, index: str) -> AsyncIterator[None]:
        """While the block lasts the index is not there."""
        self._connection.execute("BEGIN")
        try:
            self._connection.execute(f'DROP INDEX "{index}"')
            yield
        finally:
            self._connection.execute("ROLLBACK")

    async def indices(self) -> Mapping[str, Index]:
        """From what `ANALYZE` has counted; it says nothing of an index without rows."""
        every = self._connection.execute("SELECT name, tbl_name FROM sqlite_master WHERE type = 'index'")
        found = {name: Index(table, 0, ()) for name, table in every}
        for table, index, counts in self._connection.execute("SELECT tbl, idx, stat FROM sqlite_stat1"):
            rows, *alike = [int(word) for word in counts.split() if word.isdecimal()]
            found[index or table] = Index(table, rows, alike)
        return found

    async def reads(self, sent: Sent) -> Sequence[Read]:
        """What it would read."""
        plan = self._connection.execute(f"EXPLAIN QUERY PLAN {sent.text}", sent.values).fetchall()
        names = {alias: table for table, alias in _ALIAS.findall(sent.text) if table in self._tables}
        return list(self._parsed(names, [row[3] for row in plan]))

    def _parsed(self, names: Mapping[str, str], details: Sequence[str]) -> Iterator[Read]:
        for detail in details:
            match = _DETAIL.match(detail)
            if match is None:
                continue
            name, key, index, condition = match.groups()
            table = names.get(name, name)
            if table in self._tables:
                keys = tuple(_EQUAL.findall(condition or ""))
                yield Read(table, "key" if key else index or "", keys)


class Postgres:
    """A database of PostgreSQL, which plans once for all values as it does for the product."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        """Use a connection."""
        self._connection = connection

    async def begin(self) -> None:
        """Count what there is, and plan as the product does."""
        await self._connection.execute("ANALYZE")
        await self._connection.execute("SET plan_cache_mode = force_generic_plan")

    async def plain_indices(self) -> Sequence[str]:
        """The indices that are no constraint."""
        rows = await self._connection.fetch(
            "SELECT indexname FROM pg_indexes WHERE schemaname = 'public' "
            "AND indexname NOT IN (SELECT conname FROM pg_constraint)"
        )
        return [row["indexname"] for row in rows]

    @asynccontextmanager
    async def without(self, index: str) -> AsyncIterator[None]:
        """While the block lasts the index is not there."""
        transaction = self._connection.transaction()
        await transaction.start()
        try:
            await self._connection.execute(f'DROP INDEX "{index}"')
            yield
        finally:
            await transaction.rollback()

    async def indices(self) -> Mapping[str, Index]:
        """From what `ANALYZE` has counted."""
        found = {}
        for row in await self._connection.fetch(_INDICES):
            whole, alike = max(row["rows"], 1), []
            distinct = 1.0
            for number in row["distinct"]:
                distinct = min(distinct * (number if number > 0 else -number * max(row["of_table"], 1) or 1), whole)
                alike.append(int(whole / max(distinct, 1)))
            found[row["name"]] = Index(row["table"], int(row["rows"]), alike)
        return found

    async def reads(self, sent: Sent) -> Sequence[Read]:
        """What it would read."""
        await self._connection.execute(f"PREPARE explained AS {sent.text}")
        given = f"({', '.join(['NULL'] * len(sent.values))})" if sent.values else ""
        ((plan,),) = await self._connection.fetch(f"EXPLAIN (FORMAT JSON) EXECUTE explained{given}")
        await self._connection.execute("DEALLOCATE explained")
        return list(_nodes(json.loads(plan)[0]["Plan"]))


_INDICES: Final = """
SELECT i.relname AS name, t.relname AS table, i.reltuples AS rows, t.reltuples AS of_table,
  array_agg(coalesce(s.n_distinct, -1)::float ORDER BY k.nth) AS distinct
FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid
JOIN pg_namespace n ON n.oid = t.relnamespace AND n.nspname = 'public'
CROSS JOIN LATERAL unnest(x.indkey) WITH ORDINALITY AS k(attribute, nth)
LEFT JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.attribute
LEFT JOIN pg_stats s ON s.schemaname = 'public' AND s.tablename = t.relname AND s.attname = a.attname
GROUP BY i.relname, t.relname, i.reltuples, t.reltuples
"""


def _nodes(plan: Mapping[str, Any]) -> Iterator[Read]:
    kind = plan["Node Type"]
    if kind in {"Seq Scan", "Index Scan", "Index Only Scan", "Bitmap Heap Scan"}:
        parts = [plan] if kind != "Bitmap Heap Scan" else list(_bitmaps(plan))
        for part in parts:
            condition = part.get("Index Cond", "")
            keys = tuple(re.findall(r"\(\(?(\w+)\)?(?:::\w+)? = ", condition))
            yield Read(plan["Relation Name"], part.get("Index Name", ""), keys)
    for inner in plan.get("Plans", ()):
        yield from _nodes(inner)


def _bitmaps(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for inner in plan.get("Plans", ()):
        if inner["Node Type"] == "Bitmap Index Scan":
            yield inner
        else:
            yield from _bitmaps(inner)
