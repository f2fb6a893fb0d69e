"""`perdure upgrade`: what a new version needs before and after its processes are started, in the right order.

First the schema, since new code must not meet an old one (old code works with a new one); then Temporal's search
attributes, since a workflow cannot be started with one that is missing; at last the build of the workers that new
pipelines go to, once one of it has polled. Each step says what it did, and does nothing when it is done already.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from typing import Annotated, Final

import typer
from temporalio.client import Client
from temporalio.service import RPCError

from activities.temporal_client import connect
from activities.temporal_namespace import missing_attributes, prepare_namespace
from activities.worker_version import UNNAMED, builds_of, make_current, move_windows
from application.installation.identity import recognized
from cli.exit_codes import ExitCode
from cli.json_option import JsonOption
from cli.main import read_settings
from domain.errors import Unavailable
from models.migrate import migrate, pending
from models.repositories.installation import installations
from models.session import Database
from pods.restore_marker import refuse_half_restored
from settings import Settings

MOVED_WITHIN: Final = 30.0
"""Seconds in which pipelines that only wait for a retry leave an older build."""
BACKUP_FIRST: Final = "Make a backup first: `perdure backup`. A schema does not go back."


@dataclass(frozen=True, slots=True)
class Step:
    """A step: what it found or did, and whether something is left to do."""

    name: str
    text: str
    is_due: bool = False


def upgrade(
    check: Annotated[bool, typer.Option("--check", help="Only say what there is to do; exit 1 if there is.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Bring database and Temporal to this version of Perdure; may be repeated."""
    settings = read_settings()
    refuse_half_restored(settings.home)
    tell: Callable[[Step], None] = (lambda _step: None) if as_json else _tell
    steps = asyncio.run(_Upgrade(settings, tell, check=check).run())
    if as_json:
        typer.echo(json.dumps([asdict(step) for step in steps]))
    raise typer.Exit(ExitCode.FAILED if any(step.is_due for step in steps) else ExitCode.OK)


def _tell(step: Step) -> None:
    typer.echo(f"{step.name:<18} {step.text}")


class _Upgrade:
    """The steps, one after the other."""

    def __init__(self, settings: Settings, tell: Callable[[Step], None], *, check: bool) -> None:
        self._settings = settings
        self._tell = tell
        self._check = check
        self._database = Database(settings.database)

    async def run(self) -> list[Step]:
        """Raises `Invalid` for a database that is newer than this code, or a namespace of another installation."""
        todo: list[Callable[[], Awaitable[Step]]] = [self._schema, self._attributes, self._version]
        steps: list[Step] = []
        try:
            self._settings = await recognized(self._settings, self._database)
            for step in todo:
                steps.append(await step())
                self._tell(steps[-1])
        finally:
            await self._database.close()
        return steps

    async def _schema(self) -> Step:
        name = "schema"
        version, ahead = await pending(self._database)
        if not ahead:
            return Step(name, f"{version} is the newest.")
        way = " -> ".join([version or "nothing", *ahead])
        if self._check:
            return Step(name, f"{way}.{f' {BACKUP_FIRST}' if version else ''}", is_due=True)
        if version:
            typer.echo(BACKUP_FIRST, err=True)
        await migrate(self._database)
        return Step(name, f"{way}: done.")

    async def _attributes(self) -> Step:
        name = "search attributes"
        try:
            client = await self._client()
            missing = await missing_attributes(client)
            if self._check or not missing:
                words = f"{', '.join(missing)} are missing." if missing else "All are there."
                return Step(name, words, is_due=bool(missing))
            async with self._database.write() as connection:
                mine = await installations.find(connection)
            if mine is None:
                return Step(name, "They come with the first start.")
            await prepare_namespace(
                client,
                mine.installation_id,
                self._settings.temporal_retention,
                restored_from=mine.restored_from,
                is_copy=mine.is_copy,
            )
        except Unavailable as error:
            return Step(name, f"{error} They are added when a worker joins it.")
        return Step(name, f"{', '.join(missing)} added.")

    async def _version(self) -> Step:
        name, deployment = "worker version", self._settings.worker_deployment
        build = self._settings.worker_build or UNNAMED
        if not deployment:
            return Step(name, "Not used (PERDURE_WORKER_DEPLOYMENT).")
        client = await self._client()
        builds = await builds_of(client, deployment)
        if builds.current == build:
            return await self._moved(client, Step(name, f"{build} is current."))
        if build not in builds.known:
            return Step(name, f"No worker of {build} has polled: start some, then run this again.", is_due=True)
        if self._check:
            return Step(name, f"{builds.current or 'none'} -> {build}.", is_due=True)
        await make_current(client, deployment, build)
        said = f"{builds.current or 'none'} -> {build}: new pipelines go there."
        return await self._moved(client, Step(name, said))

    async def _moved(self, client: Client, step: Step) -> Step:
        """Send along what only waits for a retry, on workers of another build."""
        settings = self._settings
        build = settings.worker_build or UNNAMED
        patience = 0.0 if self._check else MOVED_WITHIN
        moved = await move_windows(client, settings.queue, settings.worker_deployment, build, patience)
        text = f" {moved.gone} that wait for a retry went there." if moved.gone else ""
        if moved.left:
            text += f" {moved.left} wait for a retry on another build: let its workers run, and run this again."
        return Step(step.name, step.text + text, is_due=bool(moved.left))

    async def _client(self) -> Client:
        try:
            return await connect(self._settings)
        except (RPCError, RuntimeError, OSError) as error:
            raise Unavailable(f"Temporal does not answer at {self._settings.temporal}.") from error
