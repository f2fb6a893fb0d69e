"""Objects of the store that the rows of an organisation speak of."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Column, Select, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.object_keys import trace_key
from models.columns import table_of
from models.repositories.moves.ownership import own_rules
from models.tables.artifacts import Artifact
from models.tables.logs import Trace
from models.tables.pipelines import Job
from models.tables.secure_files import SecureFile
from models.tables.uploads import ProjectUpload

artifact = table_of(Artifact)
job = table_of(Job)
secure_file = table_of(SecureFile)
trace = table_of(Trace)
upload = table_of(ProjectUpload)

PAGE: Final = 1_000


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object by its key; one that is sealed is sealed for its key."""

    key: str
    is_sealed: bool = False


async def objects_of(connection: AsyncConnection, organisation_id: int) -> AsyncIterator[StoredObject]:
    """Every object of an organisation: copied logs, artifacts, secure files, uploads."""
    rules = own_rules(organisation_id)
    logs = select(trace.c.job_id.label("id"), trace.c.generation, job.c.project_id).join(
        job, job.c.id == trace.c.job_id
    )
    async for row in _pages(connection, logs.where(trace.c.copied, rules["job"]), trace.c.job_id):
        yield StoredObject(trace_key(row.project_id, row.id, row.generation))
    for table, is_sealed in ((artifact, False), (secure_file, True), (upload, False)):
        statement = select(table.c.id, table.c.object_key).where(table.c.object_key != "", rules[table.name])
        async for row in _pages(connection, statement, table.c.id):
            yield StoredObject(row.object_key, is_sealed)


async def _pages(connection: AsyncConnection, statement: Select[Any], key: Column[int]) -> AsyncIterator[Any]:
    after = -1
    while rows := (await connection.execute(statement.where(key > after).order_by(key).limit(PAGE))).all():
        for row in rows:
            yield row
        after = rows[-1].id
