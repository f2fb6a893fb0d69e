"""What waits for a time while the clock is set back."""

import re
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from sqlalchemy import JSON, Boolean, Column, Float, Integer, func, insert, select, text, update

from loops.due_rows import HELD
from models.columns import Moment, table_of
from models.repositories.installation.set_back_clock import SOON, WAITS, bring_back
from models.repositories.pipelines import outbox
from models.schema import METADATA
from models.session import Database
from settings import Settings
from tests.models.database import migrated
from tests.models.world import BEGIN, World, outbox_table

WAITING: Final = re.compile(r"not_before|due_at|next_\w*at|\w+_until|\w+_after")
MEANT: Final = {
    ("job", "due_at"): "Temporal's timer waits for it; the row tells people",
    ("schedule_tick", "due_at"): "it names the tick",
    ("pipeline_schedule", "next_tick_at"): "it tells people what Temporal will do",
}
"""Times that are called like those of waits but are facts."""
AN_HOUR: Final = timedelta(hours=1)


def test_every_time_that_is_waited_for_is_known() -> None:
    found = {
        (table.name, column.name)
        for table in METADATA.sorted_tables
        for column in table.columns
        if isinstance(column.type, Moment) and WAITING.fullmatch(column.name)
    }
    assert found == {(table_of(model).name, name) for model, name, _ in WAITS} | set(MEANT)


def test_nobody_loses_what_they_hold() -> None:
    assert all(longest >= HELD for _, _, longest in WAITS)


class _Over(Exception):
    """What was written is rolled back."""


async def test_nothing_waits_longer(tmp_path: Path, sqlite_url: str) -> None:
    """A row of each kind, all of whose waits are far away."""
    async with migrated(Database(Settings(home=tmp_path, database_url=sqlite_url).database)) as database:
        found = {}
        with suppress(_Over):
            async with database.write() as connection:
                await connection.execute(text("PRAGMA defer_foreign_keys = ON"))  # the rows alone are of interest
                for model in {model: None for model, _, _ in WAITS}:
                    table = table_of(model)
                    rest = {column.name: _value(column) for column in table.columns if not column.nullable}
                    waits = {name: BEGIN + longest + AN_HOUR for kind, name, longest in WAITS if kind is model}
                    await connection.execute(insert(table).values(rest | waits))
                assert await bring_back(connection, BEGIN) == len(WAITS)
                assert await bring_back(connection, BEGIN) == 0
                for model, name, longest in WAITS:
                    at = (await connection.execute(select(table_of(model).c[name]))).scalar_one()
                    found[model.__name__, name] = at - BEGIN == longest
                raise _Over
    assert found == {(model.__name__, name): True for model, name, _ in WAITS}


def _value(column: Column[Any]) -> Any:
    kinds: tuple[tuple[type, Any], ...] = ((Moment, BEGIN), (Boolean, False), (Float, 0.0), (JSON, {}))
    found = next((value for kind, value in kinds if isinstance(column.type, kind)), None)
    return (1 if isinstance(column.type, Integer) else "x") if found is None else found


async def test_what_the_outbox_has_is_sent_soon(world: World) -> None:
    """On both kinds of databases; what is due already stays so."""
    first, second = await world.create(), await world.create()
    now = world.now()
    async with world.database.write() as connection:
        mine = outbox_table.c.pipeline_id == first
        await connection.execute(update(outbox_table).where(mine).values(not_before=now + AN_HOUR))
        assert {row.pipeline_id for row in await outbox.unsent(connection, now + SOON, 10)} == {second}
        assert await bring_back(connection, now) == 1
        assert {row.pipeline_id for row in await outbox.unsent(connection, now + SOON, 10)} == {first, second}
        latest = (await connection.execute(select(func.max(outbox_table.c.not_before)))).scalar_one()
        assert latest == now + SOON
