"""What grows with what is kept: a home of a thousand jobs beside one of a million, in turn, on both databases.

Backup and `doctor --deep` read all that there is, so that they are told as they are; everything else is a ratio. The
pipelines have no workflows, so that the reconciler does not look for them.
"""

import asyncio
import resource
import tempfile
import time
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from typing import Final

from bench.growth import homes
from bench.growth.asking import Running, claims, compared, idle, lists, scrapes
from bench.growth.loops import looks
from bench.growth.rows import Home
from bench.growth.watching import anonymous, removals
from bench.options import Options
from bench.rows import Row, Side
from bench.servers import Servers, running
from cli.installation.backup import write_backup
from models.clock import system_clock
from models.repositories.pipelines import invariants
from models.session import Database
from rigs.ports import free_ports
from rigs.postgres import fresh_database, postgres_server
from settings import RateLimits, Settings, TimeLimits

SMALL: Final = 1_000
WAITING: Final = {"small": 100, "large": 20_000}
_VISITS: Final = 5
"""Of each list, a run."""
_KINDS: Final = ("SQLite", "PostgreSQL")
_POSTGRES: Final = {"max_connections": "200", "shared_buffers": "256MB"}


def rows(options: Options) -> list[Row]:
    """Both databases, one after the other."""
    return asyncio.run(_measure(options))


async def _measure(options: Options) -> list[Row]:
    found = []
    for kind in _KINDS:
        with tempfile.TemporaryDirectory(prefix="perdure-growth-") as folder:
            async with AsyncExitStack() as stack:
                found += await _on(kind, Path(folder), options, stack)
    return found


async def _on(kind: str, folder: Path, options: Options, stack: AsyncExitStack) -> list[Row]:
    server = stack.enter_context(postgres_server(_POSTGRES)) if kind == "PostgreSQL" else ""
    made: list[tuple[Settings, Home]] = []
    for name, jobs in (("small", SMALL), ("large", options.large)):
        database = await stack.enter_async_context(fresh_database(server)) if server else ""
        settings = Settings(home=folder / name, database_url=database, temporal_address="", object_store="")
        made.append((settings, await homes.make(settings, jobs, WAITING[name])))
    found = await _of_all(kind, made[1][0], folder)
    sides = [Running(home, await stack.enter_async_context(_started(settings))) for settings, home in made]
    found += compared(f"growth, {kind}: start, processor", [side.servers.cpu()["api"] for side in sides], least=0.2)
    found += await lists(kind, sides, options.runs * _VISITS)
    found += await looks(kind, sides, options.runs * _VISITS)
    found += await scrapes(kind, sides, options.runs * _VISITS)
    found += await claims(kind, sides)
    found += await anonymous(kind, sides)
    found += await idle(kind, sides)
    return found + await removals(kind, sides)


def _started(settings: Settings) -> AbstractAsyncContextManager[Servers]:
    metrics, temporal = free_ports(2)
    return running(
        front=False,
        home=settings.home,
        database_url=settings.database_url,
        metrics_port=metrics,
        temporal_client_metrics_port=temporal,
        times=TimeLimits(reconcile_every=86_400),
        rates=RateLimits(api_calls=0, anonymous_api_calls=0),
    )


async def _of_all(kind: str, settings: Settings, folder: Path) -> list[Row]:
    """What reads the whole of the large home: seconds, and seconds of the processor, those of git included."""
    begin, used = time.perf_counter(), _processor()
    told = await write_backup(settings, folder / "backup.tar.zst")
    backup = time.perf_counter() - begin, _processor() - used
    begin, used = time.perf_counter(), _processor()
    database = Database(settings.database)
    async with database.read() as connection:
        broken = await invariants.broken(connection, system_clock())
    await database.close()
    deep = time.perf_counter() - begin, _processor() - used
    return [
        Row(f"growth, {kind}: backup, objects", told["objects"], "objects"),
        Row(f"growth, {kind}: backup", backup[0], "s"),
        Row(f"growth, {kind}: backup, processor of ours", backup[1], "s"),
        Row(f"growth, {kind}: doctor --deep, one look", deep[0], "s"),
        Row(f"growth, {kind}: doctor --deep, faults", len(broken), "faults", 0, Side.AT_MOST),
    ]


def _processor() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)
