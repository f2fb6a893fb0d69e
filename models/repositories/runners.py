"""Registered runners and their managers (processes)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import Record, table_of
from models.pipelines import Job
from models.tables import Runner, RunnerManager

runner = table_of(Runner)
manager = table_of(RunnerManager)
job = table_of(Job)


_BY_TOKEN = select(runner).where(runner.c.token_hash == bindparam("b_hash"))


async def create(connection: AsyncConnection, token_hash: str, now: datetime, **values: Any) -> int:
    """Register a runner."""
    defaults = {
        "runner_type": "instance_type",
        "description": "",
        "tags": [],
        "run_untagged": True,
        "locked": False,
        "paused": False,
        "ref_protected": False,
        "maintenance_note": "",
    }
    statement = insert(runner).values(**{**defaults, **values}, token_hash=token_hash, created_at=now)
    made: int = (await connection.execute(statement.returning(runner.c.id))).scalar_one()
    return made


async def by_token(connection: AsyncConnection, token_hash: str) -> Record | None:
    """The runner behind a token, or None."""
    return (await connection.execute(_BY_TOKEN, {"b_hash": token_hash})).first()


async def get(connection: AsyncConnection, runner_id: int) -> Record | None:
    """A runner by id, or None."""
    return (await connection.execute(select(runner).where(runner.c.id == runner_id))).first()


async def everyone(connection: AsyncConnection) -> Sequence[Record]:
    """Every runner, newest first."""
    return (await connection.execute(select(runner).order_by(runner.c.id.desc()))).all()


async def contact(
    connection: AsyncConnection, runner_id: int, system_id: str, info: dict[str, Any], address: str, now: datetime
) -> None:
    """Note that a manager of a runner called."""
    # The runner's row comes first: it makes simultaneous first calls of a manager take turns.
    await connection.execute(update(runner).where(runner.c.id == runner_id).values(contacted_at=now))
    known = await connection.execute(
        update(manager)
        .where(manager.c.runner_id == runner_id, manager.c.system_id == system_id)
        .values(info=info, ip_address=address, contacted_at=now)
    )
    if known.rowcount == 0:
        await connection.execute(
            insert(manager).values(
                runner_id=runner_id,
                system_id=system_id,
                info=info,
                ip_address=address,
                created_at=now,
                contacted_at=now,
            )
        )


async def change(connection: AsyncConnection, runner_id: int, **values: Any) -> None:
    """Write columns of a runner, as its administrator wants them."""
    if values:
        await connection.execute(update(runner).where(runner.c.id == runner_id).values(**values))


async def set_token(connection: AsyncConnection, runner_id: int, token_hash: str) -> None:
    """Replace a runner's token."""
    await connection.execute(update(runner).where(runner.c.id == runner_id).values(token_hash=token_hash))


async def remove(connection: AsyncConnection, runner_id: int) -> None:
    """Unregister a runner; jobs keep running under their own tokens."""
    await connection.execute(update(job).where(job.c.runner_id == runner_id).values(runner_id=None))
    await connection.execute(delete(manager).where(manager.c.runner_id == runner_id))
    await connection.execute(delete(runner).where(runner.c.id == runner_id))


async def remove_manager(connection: AsyncConnection, runner_id: int, system_id: str) -> bool:
    """Forget one process of a runner; false when it is unknown."""
    gone = await connection.execute(
        delete(manager).where(manager.c.runner_id == runner_id, manager.c.system_id == system_id)
    )
    return bool(gone.rowcount)
