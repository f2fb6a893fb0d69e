"""What a backup has to know of a database: read from its snapshot, by SQL that older schemas understand as well."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from sqlalchemy import Connection, TextClause, inspect, text
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.object_keys import trace_key
from models.typed_rows import all_of

PAGE: Final = 1_000
"""So many keys of objects are read at once."""

COUNTED: Final = ("account", "project", "pipeline", "job", "trace", "artifact", "access_token", "runner")
"""Tables whose rows a manifest counts."""

_PROJECTS: Final = text("SELECT id, default_branch FROM project ORDER BY id")
_PIPELINES: Final = text("SELECT id, sha FROM pipeline WHERE project_id = :project ORDER BY id")
_LOGS: Final = text(
    "SELECT trace.job_id AS id, trace.generation, job.project_id FROM trace JOIN job ON job.id = trace.job_id "
    "WHERE trace.copied AND trace.job_id > :after ORDER BY trace.job_id LIMIT :page"
)
_UNUSED: Final = "object_to_delete"


@dataclass(frozen=True, slots=True)
class StoredInstallation:
    """Whose database it is; `copy_of` is the installation of which it is a copy, empty if it is none."""

    installation_id: str
    pod: str
    copy_of: str = ""


@dataclass(frozen=True, slots=True)
class StoredProject:
    """A project, by what its repository has to be made of."""

    id: int
    default_branch: str


@dataclass(frozen=True, slots=True)
class _LogRow:
    """A log that is in the store; `id` is that of its job."""

    id: int
    generation: int
    project_id: int


@dataclass(frozen=True, slots=True)
class _ObjectRow:
    """A row that speaks of an object."""

    id: int
    object_key: str


class _Numbered(Protocol):
    @property
    def id(self) -> int: ...


_Row = TypeVar("_Row", bound=_Numbered)


async def installation(connection: AsyncConnection) -> StoredInstallation | None:
    """The row of the installation; None before its first start."""
    row = (await connection.execute(text("SELECT * FROM installation"))).mappings().first()
    if row is None:
        return None
    copy_of = "" if row.get("held_up_to") is None else row["restored_from"]
    return StoredInstallation(row["installation_id"], row["pod"], copy_of)


async def revision(connection: AsyncConnection) -> str:
    """The schema's version."""
    return str((await connection.execute(text("SELECT version_num FROM alembic_version"))).scalar_one())


async def counts(connection: AsyncConnection) -> dict[str, int]:
    """Rows by table."""
    statement = " UNION ALL ".join(f"SELECT '{name}' AS name, count(*) AS rows FROM {name}" for name in COUNTED)  # noqa: S608
    return {name: int(rows) for name, rows in await connection.execute(text(statement))}


async def projects(connection: AsyncConnection) -> Sequence[StoredProject]:
    """Every project."""
    return all_of(StoredProject, await connection.execute(_PROJECTS))


async def commits(connection: AsyncConnection, project_id: int) -> dict[int, str]:
    """The commit of every pipeline of a project, by its id."""
    return {int(key): sha for key, sha in await connection.execute(_PIPELINES, {"project": project_id})}


async def object_keys(connection: AsyncConnection) -> AsyncIterator[str]:
    """The key of every object that a row speaks of: copied logs, and whatever has a column `object_key`."""
    async for log in _pages(connection, _LOGS, _LogRow):
        yield trace_key(log.project_id, log.id, log.generation)
    for table in await _tables_with_objects(connection):
        statement = text(
            f"SELECT id, object_key FROM \"{table}\" WHERE object_key <> '' AND id > :after ORDER BY id LIMIT :page"  # noqa: S608
        )
        async for row in _pages(connection, statement, _ObjectRow):
            yield row.object_key


async def _pages(connection: AsyncConnection, statement: TextClause, kind: type[_Row]) -> AsyncIterator[_Row]:
    after = -1
    while rows := all_of(kind, await connection.execute(statement, {"after": after, "page": PAGE})):
        for row in rows:
            yield row
        after = rows[-1].id


async def _tables_with_objects(connection: AsyncConnection) -> list[str]:
    def find(bare: Connection) -> list[str]:
        schema = inspect(bare)
        columns = {name: {column["name"] for column in schema.get_columns(name)} for name in schema.get_table_names()}
        return sorted(name for name, has in columns.items() if {"id", "object_key"} <= has and name != _UNUSED)

    return list(await connection.run_sync(find))
