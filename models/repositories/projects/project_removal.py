"""Removing a project with every row that belongs to it, found by the foreign keys of all tables.

One whose pipelines have not ended is marked: nobody finds it any more, its pipelines are asked to cancel, and whoever
looks again removes it once they have ended.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final
from uuid import uuid4

from sqlalchemy import ColumnElement, func, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import table_of
from models.repositories import row_removal
from models.repositories.pipelines import outbox, pipeline_removal
from models.repositories.pipelines.job_rows import job, lock
from models.repositories.projects import secure_files, uploads
from models.tables.pipelines import OPEN_PIPELINE, Job, Pipeline
from models.tables.projects import Project
from models.typed_rows import all_of

project = table_of(Project)
pipeline = table_of(Pipeline)

MAX_BATCH: Final = 20
"""Pipelines of one transaction: everybody else waits for it on SQLite."""
MAX_JOBS: Final = 200
"""And jobs of them: a pipeline may have thousands."""
_CANCEL: Final = {"name": "cancel_pipeline", "reason": "canceled because its project is being removed"}


async def mark(connection: AsyncConnection, which: ColumnElement[bool], now: datetime) -> list[int]:
    """From now on these projects are not found any more; their ids."""
    rule = which & project.c.removal_asked_at.is_(None)
    statement = update(project).where(rule).values(removal_asked_at=now).returning(project.c.id)
    return sorted((await connection.execute(statement)).scalars())


async def mark_one(connection: AsyncConnection, project_id: int, now: datetime) -> list[int]:
    """The same for one project."""
    return await mark(connection, project.c.id == project_id, now)


class Removed(Enum):
    """How much of a project one transaction has removed."""

    NOTHING = "nothing: a pipeline has not ended"
    PART = "some of its pipelines or jobs"
    WHOLE = "all of it"


@dataclass(frozen=True, slots=True)
class MarkedProject:
    """A project that is being removed."""

    id: int
    full_path: str


async def marked(connection: AsyncConnection) -> Sequence[MarkedProject]:
    """The projects that are being removed, the oldest first."""
    statement = select(project.c.id, project.c.full_path).where(project.c.removal_asked_at.is_not(None))
    return all_of(MarkedProject, await connection.execute(statement.order_by(project.c.id)))


async def unfinished(connection: AsyncConnection, project_id: int) -> list[int]:
    """The pipelines of a project that have not ended."""
    is_its = pipeline.c.project_id + 0 == project_id  # begins at those that have not ended, which are few
    statement = select(pipeline.c.id).where(is_its, text(OPEN_PIPELINE)).order_by(pipeline.c.id)
    return list((await connection.execute(statement)).scalars())


async def left(connection: AsyncConnection, project_id: int) -> int:
    """How many pipelines of a project are there still."""
    statement = select(func.count()).select_from(pipeline).where(pipeline.c.project_id == project_id)
    return int((await connection.execute(statement)).scalar_one())


async def cancel(connection: AsyncConnection, pipeline_ids: Collection[int], now: datetime) -> None:
    """Ask pipelines to cancel. To ask again changes nothing."""
    for pipeline_id in pipeline_ids:
        command = {**_CANCEL, "key": f"removal-{uuid4()}"}
        await outbox.put(connection, outbox.COMMAND, pipeline_id, now, payload=command)


async def remove_ended(connection: AsyncConnection, project_id: int) -> Removed:
    """Remove a project if its pipelines have ended: some of what it has, and with the last of that the project itself.

    That is `MAX_BATCH` pipelines, or `MAX_JOBS` jobs of them.
    """
    first = select(pipeline.c.id).where(pipeline.c.project_id == project_id).order_by(pipeline.c.id)
    found = (await connection.execute(first.limit(MAX_BATCH + 1))).scalars().all()
    ids = found[:MAX_BATCH]
    of_them = select(job.c.id).where(job.c.pipeline_id.in_(ids)).order_by(job.c.id).limit(MAX_JOBS + 1)
    jobs = (await connection.execute(of_them)).scalars().all()
    # In the order in which everybody locks: jobs first. With the project's row no pipeline is made meanwhile.
    await lock(connection, jobs)
    await connection.execute(select(project.c.id).where(project.c.id == project_id).with_for_update())
    if await unfinished(connection, project_id):
        return Removed.NOTHING
    if len(jobs) > MAX_JOBS:
        await pipeline_removal.remove_jobs(connection, jobs[:MAX_JOBS])
        return Removed.PART
    if len(found) > MAX_BATCH:
        await pipeline_removal.remove(connection, ids)
        return Removed.PART
    await remove(connection, project_id)
    return Removed.WHOLE


async def remove(connection: AsyncConnection, project_id: int) -> None:
    """Remove the rows; objects of the store are noted as doomed. What others refer to is forgotten there.

    Its pipelines go first, by their ids: what each of their tables would have for a project none finds at once.
    """
    ids = (await connection.execute(select(pipeline.c.id).where(pipeline.c.project_id == project_id))).scalars().all()
    await pipeline_removal.remove(connection, ids)
    await secure_files.doom(connection, project_id)
    await uploads.doom(connection, project_id)
    without = [table_of(Pipeline), table_of(Job)]
    rules = row_removal.rules_of(project, project.c.id == project_id, "project_id", project_id, without)
    await row_removal.remove(connection, rules, "project_id")
