"""Contacts: which process of a runner called, from where and what it can; written many at once."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Final

from sqlalchemy import Executable, bindparam, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import padded, table_of
from models.tables.runners import Runner, RunnerManager

runner = table_of(Runner)
manager = table_of(RunnerManager)

_INSERT: Final[Mapping[str, Any]] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
_runners: Any = bindparam("b_runners", expanding=True)
_HOLD: Final = (
    select(runner.c.id).where(runner.c.id.in_(_runners)).order_by(runner.c.id).with_for_update(key_share=True)
)
"""In one order, so that two processes that write at the same moment take turns."""
_CONTACTED: Final = update(runner).where(runner.c.id.in_(_runners)).values(contacted_at=bindparam("b_now"))


@dataclass(frozen=True, slots=True)
class Contact:
    """A call of one process of a runner."""

    runner_id: int
    system_id: str
    info: dict[str, Any]
    address: str


@cache
def _managers(dialect: str) -> Executable:
    statement = _INSERT[dialect](manager)
    new = {name: statement.excluded[name] for name in ("info", "ip_address", "contacted_at")}
    made: Executable = statement.on_conflict_do_update(index_elements=["runner_id", "system_id"], set_=new)
    return made


async def write(connection: AsyncConnection, contacts: Collection[Contact], now: datetime) -> None:
    """Note that these called; `now` is the database's. A runner that was removed meanwhile is passed over."""
    wanted = sorted({contact.runner_id for contact in contacts})
    known = set((await connection.execute(_HOLD, {"b_runners": padded(wanted)})).scalars())
    if not known:
        return
    await connection.execute(_CONTACTED, {"b_runners": padded(known), "b_now": now})
    rows = [
        {
            "runner_id": contact.runner_id,
            "system_id": contact.system_id,
            "info": contact.info,
            "ip_address": contact.address,
            "created_at": now,
            "contacted_at": now,
        }
        for contact in sorted(contacts, key=lambda contact: (contact.runner_id, contact.system_id))
        if contact.runner_id in known
    ]
    await connection.execute(_managers(connection.dialect.name), rows)
