"""Bridges that have not caught up are found without reading all that there were."""

from typing import Any

from sqlalchemy import Connection, Engine, event, text

from bench.growth.rows import multiply
from models.clock import system_clock
from models.repositories.pipelines import bridges
from models.session import Database
from tests.models.database import migrated


async def test_sqlite_begins_at_the_bridges_that_are_open(sqlite_url: str) -> None:
    """Also where there was none when it last counted: it took the index of all bridges then, 27 ms at 8,000 of them."""
    seen: list[tuple[str, Any]] = []

    def note(_connection: Connection, _cursor: Any, statement: str, values: Any, *_: Any) -> None:
        seen.append((statement, values))

    async with migrated(Database(sqlite_url)) as database:
        await multiply(database, jobs=2_000, projects=3)
        async with database.write() as connection:
            event.listen(Engine, "before_cursor_execute", note)
            try:
                assert await bridges.out_of_step(connection, system_clock()) == []
            finally:
                event.remove(Engine, "before_cursor_execute", note)
            ((statement, values),) = seen

            def explain(bare: Connection) -> str:
                return str(bare.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values).all())

            plan = await connection.run_sync(explain)
            rows = (await connection.execute(text("SELECT count(*) FROM job WHERE downstream_id IS NOT NULL"))).scalar()
    assert rows
    assert "USING INDEX job_open_bridge" in plan
    assert "job_by_downstream_id (downstream_id>?)" not in plan
