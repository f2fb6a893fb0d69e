"""What a database would read for a statement, of tables so large that the way matters to its planner."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from sqlalchemy import Select, Table, insert, select, text

from tests.models.world import World

_ROWS: Final = 2_000


async def multiply(world: World, table: Table, row_id: int, differs: Callable[[int], dict[str, Any]]) -> None:
    """Add many rows like one, but for their ids and what `differs` says of each."""
    async with world.database.write() as connection:
        row = (await connection.execute(select(table).where(table.c.id == row_id))).mappings().one()
        like = {key: value for key, value in row.items() if key != "id"}
        await connection.execute(insert(table), [like | differs(step) for step in range(_ROWS)])


async def query_plan(world: World, statement: Select[Any], values: Mapping[str, Any]) -> str:
    """The plan of a statement in the words of the database, after it has looked at what its tables have."""
    explain = "EXPLAIN QUERY PLAN " if world.database.is_sqlite else "EXPLAIN "
    async with world.database.write() as connection:
        await connection.execute(text("ANALYZE"))
        written = statement.params(values).compile(dialect=connection.dialect, compile_kwargs={"literal_binds": True})
        return str((await connection.execute(text(explain + str(written).replace(":", r"\:")))).all())
