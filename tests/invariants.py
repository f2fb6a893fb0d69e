"""What must hold of a database in which workflows ran, once all rests: looked at, never mended.

Whoever calls this awaits rest as such: what is on its way has a moment to arrive, and what then still does not hold is
a fault of the product.
"""

from datetime import timedelta

from domain.pipelines.invariants import Broken, against_temporal
from models.clock import system_clock
from models.repositories.pipelines import invariants
from models.session import Database
from tests.waiting import eventually
from workflows.runs import Runs


async def broken(database: Database, runs: Runs | None = None) -> list[Broken]:
    """Every rule that does not hold now; with `runs` also those about workflows, of pipelines of this database."""
    now = system_clock()
    async with database.read() as connection:
        found = await invariants.broken(connection, now, at_rest=True)
        live = await invariants.live(connection, now + timedelta(hours=1))
    if runs is not None:
        running = await runs.opened()
        async with database.read() as connection:
            known = await invariants.statuses(connection, sorted(running))
        may_wait = {number for number, status in known.items() if status != "success"}
        found += against_temporal(live, known, running & known.keys(), may_wait)
    return found


async def hold(database: Database, runs: Runs | None = None, within: float = 20.0) -> None:
    """Wait until every rule holds; the error says which does not."""
    last: list[Broken] = []

    async def look() -> bool:
        last[:] = await broken(database, runs)
        return not last

    try:
        await eventually(look, "every invariant holds", within)
    except TimeoutError as error:
        raise AssertionError("\n".join(["At rest this is broken:", *(one.sentence for one in last)])) from error


async def hold_at(url: str) -> None:
    """As `hold`, of the database at an address of SQLAlchemy."""
    database = Database(url)
    try:
        await hold(database)
    finally:
        await database.close()
