"""Registered runners and their managers (processes)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Select, bindparam, delete, exists, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.runners.matching import RunnerType
from models.columns import table_of
from models.repositories import database_time
from models.repositories.accounts import members
from models.repositories.namespaces import namespaces
from models.rows.projects import ProjectRow
from models.rows.runners import RunnerManagerRow, RunnerRow
from models.tables.pipelines import Job
from models.tables.projects import Project
from models.tables.runners import Runner, RunnerManager, RunnerProject
from models.typed_rows import all_of, first_of

runner = table_of(Runner)
manager = table_of(RunnerManager)
runner_project = table_of(RunnerProject)
project = table_of(Project)
job = table_of(Job)


async def create(connection: AsyncConnection, token_hash: str, now: datetime, **values: Any) -> int:
    """Register a runner."""
    defaults = {
        "runner_type": "instance_type",
        "by_registration": False,
        "token_form": 0,
        "description": "",
        "tags": [],
        "run_untagged": True,
        "locked": False,
        "paused": False,
        "ref_protected": False,
        "as_server": False,
        "maintenance_note": "",
    }
    statement = insert(runner).values(**{**defaults, **values}, token_hash=token_hash, created_at=now)
    made: int = (await connection.execute(statement.returning(runner.c.id))).scalar_one()
    return made


@dataclass(frozen=True, slots=True)
class _RunnerNow(RunnerRow):
    """A runner, and the time of the database in seconds."""

    now: float


@cache
def _by_token(dialect: str) -> Select[Any]:
    shown = or_(runner.c.token_hash == bindparam("b_hash"), runner.c.previous_token_hash == bindparam("b_hash"))
    return select(runner, database_time.seconds_of(dialect).label("now")).where(shown)


async def by_token(connection: AsyncConnection, token_hash: str) -> RunnerRow | None:
    """The runner behind a token that has not expired, or None."""
    found = await connection.execute(_by_token(connection.dialect.name), {"b_hash": token_hash})
    row = first_of(_RunnerNow, found)
    if row is None or (row.token_expires_at is not None and row.token_expires_at.timestamp() <= row.now):
        return None
    return row


async def get(connection: AsyncConnection, runner_id: int) -> RunnerRow | None:
    """A runner by id, or None."""
    return first_of(RunnerRow, await connection.execute(select(runner).where(runner.c.id == runner_id)))


async def any_as_server(connection: AsyncConnection) -> bool:
    """Whether the jobs of some runner run as the server's own user."""
    return bool((await connection.execute(select(exists().where(runner.c.as_server)))).scalar_one())


async def held(connection: AsyncConnection, runner_id: int) -> RunnerRow | None:
    """The same, and nobody else changes the runner or its projects until the transaction ends; claims go on."""
    statement = select(runner).where(runner.c.id == runner_id).with_for_update(key_share=True)
    return first_of(RunnerRow, await connection.execute(statement))


async def change(connection: AsyncConnection, runner_id: int, **values: Any) -> None:
    """Write columns of a runner, as its administrator wants them."""
    if values:
        await connection.execute(update(runner).where(runner.c.id == runner_id).values(**values))


async def link(connection: AsyncConnection, runner_id: int, project_id: int) -> None:
    """Let a project runner take jobs of a project."""
    await connection.execute(insert(runner_project).values(runner_id=runner_id, project_id=project_id))


async def unlink(connection: AsyncConnection, runner_id: int, project_id: int) -> None:
    """Let a project runner take no more jobs of a project."""
    await connection.execute(
        delete(runner_project).where(runner_project.c.runner_id == runner_id, runner_project.c.project_id == project_id)
    )


async def projects_of(
    connection: AsyncConnection, runner_id: int, member_id: int | None = None
) -> Sequence[ProjectRow]:
    """The projects that a project runner takes jobs of, by id; with `member_id` those that have this member."""
    statement = select(project).join(runner_project, runner_project.c.project_id == project.c.id)
    statement = statement.where(runner_project.c.runner_id == runner_id).order_by(project.c.id)
    if member_id is not None:
        statement = statement.where(project.c.id.in_(members.project_ids(member_id)))
    return all_of(ProjectRow, await connection.execute(statement))


async def levels(connection: AsyncConnection, row: RunnerRow, user_id: int) -> tuple[int, int]:
    """The lowest and the highest access level that a person has in the projects that a project runner works for.

    For a group runner the lowest is the level in its group. 0 is a stranger.
    """
    if row.runner_type == RunnerType.PROJECT:
        linked = select(runner_project.c.project_id).where(runner_project.c.runner_id == row.id)
        return await members.levels_in(connection, linked, user_id)
    if row.runner_type != RunnerType.GROUP:
        return 0, 0
    group = await namespaces.get_by(connection, key=row.namespace_id or row.organisation_id)
    level = await members.level_in_group(connection, group.id, user_id)
    below = select(namespaces.namespace.c.id).where(namespaces.namespace.c.trail.startswith(group.trail))
    projects = select(project.c.id).where(project.c.namespace_id.in_(below))
    return level, max(level, (await members.levels_in(connection, projects, user_id))[1])


async def rotate_token(
    connection: AsyncConnection,
    runner_id: int,
    token_hash: str,
    expires_at: datetime | None,
    shown: str | None = None,
    *,
    token_form: int = 0,
) -> bool:
    """Replace a runner's token; false when the one that was shown is no longer good.

    With `shown`, the hash of the token that the runner itself used, that one stays good until the new one is used: the
    answer may be lost, and the runner has nothing else to ask with. Asked again with it, the token of the lost answer
    is replaced. Without, the old one is worth nothing at once.
    """
    statement = update(runner).where(runner.c.id == runner_id)
    if shown is not None:
        statement = statement.where(or_(runner.c.token_hash == shown, runner.c.previous_token_hash == shown))
    values = {"token_hash": token_hash, "previous_token_hash": shown, "token_expires_at": expires_at}
    return bool((await connection.execute(statement.values(**values, token_form=token_form))).rowcount)


@dataclass(frozen=True, slots=True)
class NamedRunner:
    """A runner by what people call it."""

    id: int
    description: str


async def with_token_form(connection: AsyncConnection, token_form: int) -> Sequence[NamedRunner]:
    """The runners whose token has a form, by id."""
    statement = select(runner.c.id, runner.c.description).where(runner.c.token_form == token_form)
    return all_of(NamedRunner, await connection.execute(statement.order_by(runner.c.id)))


async def retire_previous_token(connection: AsyncConnection, runner_id: int, token_hash: str) -> None:
    """The new token was used: the one before it is worth nothing from now on."""
    used = (runner.c.id == runner_id) & (runner.c.token_hash == token_hash)
    await connection.execute(update(runner).where(used).values(previous_token_hash=None))


async def remove(connection: AsyncConnection, runner_id: int) -> None:
    """Unregister a runner; jobs keep running under their own tokens. No claim gives it a job meanwhile."""
    await connection.execute(select(runner.c.id).where(runner.c.id == runner_id).with_for_update())
    # In the order in which everybody locks jobs; there may be too many to name them one by one.
    taken = select(job.c.id).where(job.c.runner_id == runner_id).order_by(job.c.id)
    await connection.execute(taken.with_for_update(key_share=True))
    await connection.execute(update(job).where(job.c.runner_id == runner_id).values(runner_id=None))
    await connection.execute(delete(manager).where(manager.c.runner_id == runner_id))
    await connection.execute(delete(runner_project).where(runner_project.c.runner_id == runner_id))
    await connection.execute(delete(runner).where(runner.c.id == runner_id))


async def remove_manager(connection: AsyncConnection, runner_id: int, system_id: str) -> bool:
    """Forget one process of a runner; false when it is unknown."""
    gone = await connection.execute(
        delete(manager).where(manager.c.runner_id == runner_id, manager.c.system_id == system_id)
    )
    return bool(gone.rowcount)


async def managers_of(connection: AsyncConnection, runner_id: int) -> Sequence[RunnerManagerRow]:
    """The processes of a runner, the one that called last first."""
    statement = select(manager).where(manager.c.runner_id == runner_id)
    found = await connection.execute(statement.order_by(manager.c.contacted_at.desc(), manager.c.id))
    return all_of(RunnerManagerRow, found)
