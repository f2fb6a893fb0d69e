"""Who asked for a command of a pipeline: it becomes the user of the jobs that the command starts (decision 23).

Written before the workflow is asked, under the key of the command, and read in the transaction that records what the
command starts. What Temporal has is never believed here: there is a row for a caller that the API knows, or none.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from sqlalchemy import bindparam, delete, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.messages import Answer, Decision, Started
from domain.pipelines.commands import GIVES_USER
from domain.pipelines.pipeline import Job as Snapshot
from models.columns import table_of
from models.tables.outbox import OperationCaller, OperationKey
from models.tables.pipelines import Job, Pipeline
from models.typed_rows import first_of

operation_caller = table_of(OperationCaller)
operation_key = table_of(OperationKey)
pipeline = table_of(Pipeline)
job = table_of(Job)

_PUT: Final = {
    "postgresql": postgresql.insert(operation_caller).on_conflict_do_nothing(),
    "sqlite": sqlite.insert(operation_caller).on_conflict_do_nothing(),
}
_KEYED: Final = (
    operation_caller.c.pipeline_id == bindparam("b_pipeline"),
    operation_caller.c.key == bindparam("b_key"),
)
_READ: Final = select(operation_caller.c.name, operation_caller.c.job_id, operation_caller.c.user_id).where(*_KEYED)
_TAKE: Final = (
    delete(operation_caller)
    .where(*_KEYED)
    .returning(operation_caller.c.name, operation_caller.c.job_id, operation_caller.c.user_id)
)
_OWNER: Final = select(pipeline.c.user_id).where(pipeline.c.id == bindparam("b_pipeline"))
_LOCK: Final = (
    select(job.c.id).where(job.c.id.in_(bindparam("b_jobs", expanding=True))).order_by(job.c.id).with_for_update()
)
_GIVE: Final = (
    update(job)
    .where(job.c.id.in_(bindparam("b_jobs", expanding=True)))
    .values(user_id=bindparam("b_user"), unknown_caller=bindparam("b_unknown"))
)
_NEWEST: Final = (
    select(operation_key.c.caller_id)
    .where(operation_key.c.pipeline_id == bindparam("b_pipeline"))
    .where(operation_key.c.answer["name"].as_string().in_(sorted(GIVES_USER)))
    .where(operation_key.c.answer["refused"].as_string() == "")
    .order_by(operation_key.c.created_at.desc(), operation_key.c.key)
    .limit(1)
)


async def put(
    connection: AsyncConnection, pipeline_id: int, job_id: int | None, user_id: int, *, name: str, key: str
) -> None:
    """Note who asks for a command. The first caller of a key stays."""
    row = {"pipeline_id": pipeline_id, "key": key, "name": name, "job_id": job_id, "user_id": user_id}
    await connection.execute(_PUT[connection.dialect.name], row)


@dataclass(frozen=True, slots=True)
class _Caller:
    """Who asked for a command."""

    name: str
    job_id: int | None
    user_id: int


async def take(connection: AsyncConnection, pipeline_id: int, answer: Answer) -> int | None:
    """Who asked for the command that is being answered, and forget it; None where nobody knows.

    A row that was written for another command says nothing about this one.
    """
    found = await connection.execute(_TAKE, {"b_pipeline": pipeline_id, "b_key": answer.key})
    return _user(first_of(_Caller, found), answer)


async def give_moved(connection: AsyncConnection, decision: Decision) -> None:
    """Give the jobs that a decision is about to move to who asked for them."""
    for started in decision.started:
        await _give(connection, decision.pipeline_id, started, (key for key in started.jobs if key > 0))


async def give_made(connection: AsyncConnection, decision: Decision, made: Mapping[int, Snapshot]) -> None:
    """Give the attempts that a decision has made, by the job that each follows, to who asked for them."""
    for started in decision.started:
        keys = (made[-key].id for key in started.jobs if key < 0 and -key in made)
        await _give(connection, decision.pipeline_id, started, keys)


async def _give(connection: AsyncConnection, pipeline_id: int, started: Started, ids: Iterable[int]) -> None:
    jobs = sorted(ids)
    if not jobs:
        return
    found = await connection.execute(_READ, {"b_pipeline": pipeline_id, "b_key": started.key})
    user = caller = _user(first_of(_Caller, found), started)
    if user is None:
        user = (await connection.execute(_OWNER, {"b_pipeline": pipeline_id})).scalar_one()
    await connection.execute(_LOCK, {"b_jobs": jobs})
    await connection.execute(_GIVE, {"b_jobs": jobs, "b_user": user, "b_unknown": caller is None})


def _user(row: _Caller | None, command: Answer | Started) -> int | None:
    if row is None or (row.name, row.job_id) != (command.name, command.job_id):
        return None
    return row.user_id


async def newest(connection: AsyncConnection, pipeline_id: int) -> int | None:
    """Who has last started something in a pipeline; None where nobody has, or nobody knows who it was."""
    return (await connection.execute(_NEWEST, {"b_pipeline": pipeline_id})).scalar_one_or_none()
