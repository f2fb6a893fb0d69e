"""What loops ask again and again, of a small and of a large home in turn, without the servers around it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from typing import Final

from sqlalchemy.ext.asyncio import AsyncConnection

from bench.growth.asking import Running, compared, in_turn
from bench.rows import Row
from models.clock import system_clock
from models.repositories.artifacts import reports
from models.repositories.installation import measurements
from models.repositories.pipelines import bridges, resource_groups, unfinished
from models.repositories.queue import leases, waiting_jobs
from models.session import Database
from settings import TimeLimits

_TIMES: Final = TimeLimits()
_AGO: Final = timedelta(seconds=30)

LOOKS: Final[Mapping[str, Callable[[AsyncConnection], Awaitable[object]]]] = {
    "sweeper: jobs that wait too long": lambda connection: waiting_jobs.overdue(connection, _TIMES),
    "sweeper: silent runners": lambda connection: leases.silent(connection, 36, taken_up=True),
    "sweeper: jobs beyond their timeout": lambda connection: leases.overdue(connection, 5, 300),
    "bridges out of step": lambda connection: bridges.out_of_step(connection, system_clock() - _AGO),
    "reconciler: open pipelines": lambda connection: unfinished.page(connection, system_clock() - _AGO),
    "reconciler: verdicts that wait": lambda connection: unfinished.unfolded(connection, system_clock() - _AGO),
    "invariants: what is unfinished": lambda connection: unfinished.all_after(connection, 0),
    "resource groups that are waited for": resource_groups.waited_for,
    "reports to read": lambda connection: reports.to_parse(connection, 20),
    "figures of the database": measurements.measure,
}


async def looks(kind: str, sides: Sequence[Running], visits: int) -> list[Row]:
    """Each of them, asked in turn."""
    databases = {id(side): Database(side.servers.settings.database) for side in sides}
    found = []
    for name, look in LOOKS.items():

        async def ask(side: Running, look: Callable[[AsyncConnection], Awaitable[object]] = look) -> object:
            async with databases[id(side)].read() as connection:
                return await look(connection)

        found += compared(f"growth, {kind}: {name}", await in_turn(sides, ask, visits))
    for database in databases.values():
        await database.close()
    return found
