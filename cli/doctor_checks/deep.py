"""`perdure doctor --deep`: whether what is stored of pipelines is what it must be, in SQL and between SQL and Temporal.

It only reads. A system that works is looked at twice: what only one look finds was on its way.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from cli.doctor_checks.check import Check, State
from cli.main import read_settings
from domain.errors import Invalid, PerdureError
from domain.pipelines.invariants import Broken, Limits, Rule, against_temporal, confirmed
from models.clock import system_clock
from models.repositories.pipelines import invariants
from models.session import Database
from settings import Settings

BETWEEN: Final = 5.0
"""Seconds between the two looks."""
MAX_OF_A_RULE: Final = 20
"""So many faults of a kind are listed, and the others counted."""
_TEMPORAL: Final = "pipelines and workflows"


def deep_checks(copy: str | None = None) -> Iterator[Check]:
    """A row for each fault, or one that says that there is none; of this installation, or of a copy of a database."""
    try:
        settings = read_settings()
        if copy is not None:
            yield from asyncio.run(_of_copy(_url(copy)))
        else:
            yield from asyncio.run(_of_installation(settings))
    except PerdureError as error:
        yield Check("deep", State.FAIL, str(error), "Correct what the message names.")


def _url(copy: str) -> str:
    """The address of a copy that may be given as a path. Raises `Invalid` when no file is there."""
    if "://" in copy:
        return copy
    path = Path(copy).resolve()
    if not path.is_file():
        raise Invalid(f"There is no database at {path}: name a SQLite file, or a URL such as postgresql://HOST/NAME.")
    return f"sqlite:///{path}"


async def _of_copy(url: str) -> list[Check]:
    """A copy stands still, so one look is enough; what was on its way when it was made is not old."""
    database = Database(url)
    try:
        async with database.read() as connection:
            then = await invariants.newest(connection)
            found = [] if then is None else await invariants.broken(connection, then)
    finally:
        await database.close()
    return _rows(found)


async def _of_installation(settings: Settings) -> list[Check]:
    database = Database(settings.database)
    try:
        first = await _look(database, settings)
        await asyncio.sleep(BETWEEN if first else 0)
        found = confirmed(first, await _look(database, settings)) if first else []
        checks = _rows(found)
        running = await _running(settings)
        if running is None:
            fix = f"Start it (`perdure up`), or correct PERDURE_TEMPORAL_ADDRESS ({settings.temporal})"
            return [*checks, Check(_TEMPORAL, State.WARN, f"Temporal at {settings.temporal} does not answer", fix)]
        faults = await _against(database, running)
        if faults:
            await asyncio.sleep(BETWEEN)
            faults = confirmed(faults, await _against(database, await _running(settings) or set()))
        return [*checks, *_rows(faults, _TEMPORAL)]
    finally:
        await database.close()


async def _look(database: Database, settings: Settings) -> list[Broken]:
    limits = Limits(unfolded=3 * settings.times.reconcile_every)
    async with database.read() as connection:
        return await invariants.broken(connection, system_clock(), limits)


async def _running(settings: Settings) -> set[int] | None:
    """The pipelines whose workflow runs; None while Temporal is away."""
    from temporalio.service import RPCError

    from activities.temporal_client import connect
    from workflows.runs import Runs

    try:
        async with asyncio.timeout(10):
            return await Runs(await connect(settings)).opened()
    except (RPCError, RuntimeError, TimeoutError):
        return None


async def _against(database: Database, running: set[int]) -> list[Broken]:
    async with database.read() as connection:
        live = await invariants.live(connection, _a_moment_ago())
        known = await invariants.statuses(connection, sorted(running))
    return against_temporal(live, known, running, may_wait={n for n, status in known.items() if status != "success"})


def _a_moment_ago() -> datetime:
    return system_clock() - timedelta(seconds=30)


def _rows(found: Sequence[Broken], name: str = "stored state") -> list[Check]:
    """A row for each fault, at most so many of a rule; the others are counted."""
    counted = Counter(one.rule for one in found)
    if not counted:
        return [Check(name, State.OK, f"as it must be ({len(Rule)} rules)")]
    shown: Counter[Rule] = Counter()
    checks = []
    for one in found:
        shown[one.rule] += 1
        if shown[one.rule] <= MAX_OF_A_RULE:
            checks.append(Check(one.rule, State.FAIL, one.sentence, one.remedy))
    checks += [
        Check(rule, State.FAIL, f"{count - MAX_OF_A_RULE} more like these", "")
        for rule, count in counted.items()
        if count > MAX_OF_A_RULE
    ]
    return checks
