"""`perdure pod create`: makes all that a pod has, says what it did, and may be run again."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from typing import Annotated, Final
from uuid import uuid4

import typer
from temporalio.service import RPCError

from activities.temporal_client import connect
from activities.temporal_namespace import make_namespace, missing_attributes, prepare_namespace
from application.installation.identity import begin
from application.pods.cluster import public_keys
from auth.encryption import open_sealer
from auth.key_ring import Purpose, open_ring
from cli.json_option import JsonOption
from cli.main import read_settings
from domain.errors import Invalid, Unavailable
from domain.pods.identity import check_name
from models.clock import system_clock
from models.migrate import migrate, pending
from models.repositories.installation import installations
from models.session import Database
from pods.directory_client import DirectoryClient
from pods.directory_tokens import FILE, tokens_in
from pods.embedded_pods import add_pod, address_of, settings_of
from settings import Settings
from storage.objects import ObjectStore

THERE: Final = "there already"
MADE: Final = "made"
_PROBE: Final = b"perdure pod create"


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a pod: what it is, and whether it was made now or was there."""

    name: str
    text: str


def create(
    name: Annotated[
        str,
        typer.Argument(help="Of a further pod in this home; without it the pod is the one of PERDURE_POD."),
    ] = "",
    number: Annotated[
        int | None, typer.Option(min=0, help="Its number, which its ids carry for ever; else the next one.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a pod: keys, database, repositories, objects, its namespace in Temporal, its entry in the directory."""
    settings = read_settings()
    parts = asyncio.run(_Making(_pod(settings, name, number), None if as_json else _tell).run())
    if as_json:
        typer.echo(json.dumps([asdict(part) for part in parts]))
    elif name:
        typer.echo("Next: `perdure up` starts it beside the others.")


def _pod(settings: Settings, name: str, number: int | None) -> Settings:
    """The settings of the pod that is to be made. Raises `Invalid`, `Refused`."""
    if name and name != settings.pod:
        return settings_of(settings, add_pod(settings, name, number))
    if number not in {None, settings.pod_number}:
        raise Invalid(f"PERDURE_POD_NUMBER is {settings.pod_number}, --number {number}: leave one of them away.")
    return settings


def _tell(part: Part) -> None:
    typer.echo(f"{part.name:<18} {part.text}")


class _Making:
    """The parts, one after another; each is left as it is where it is there."""

    def __init__(self, settings: Settings, tell: Callable[[Part], None] | None) -> None:
        self._settings = settings
        self._tell = tell
        self._database = Database(settings.database)

    async def run(self) -> list[Part]:
        """Raises `Invalid` for a place that is another pod's, `Unavailable` for one that does not answer."""
        steps: list[tuple[str, Callable[[], Awaitable[str]]]] = [
            ("pod", self._identity),
            ("keys", self._keys),
            ("database", self._schema),
            ("repositories", self._repositories),
            ("object store", self._objects),
            ("namespace", self._namespace),
            ("directory", self._directory),
        ]
        parts = []
        self._settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            for name, step in steps:
                part = Part(name, await step())
                parts.append(part)
                if self._tell:
                    self._tell(part)
        finally:
            await self._database.close()
        return parts

    async def _identity(self) -> str:
        """Before anything is made: a name that cannot be, or a database of another pod, ends it here."""
        if (await pending(self._database))[0] is None:
            check_name(self._settings.pod)
        else:
            async with self._database.read() as connection:
                kept = await installations.kept_identity(connection)
            if kept is not None and kept.name != self._settings.pod:
                raise Invalid(f"The database {self._settings.database.rpartition('@')[2]} is that of pod {kept.name}.")
        return f"{self._settings.pod}, number {self._settings.pod_number}, in {self._settings.home.resolve()}"

    async def _keys(self) -> str:
        folder = self._settings.home / "keys"
        before = set(folder.glob("*")) if folder.is_dir() else set()
        for purpose in Purpose:
            open_ring(self._settings, purpose).held()
        open_sealer(self._settings)
        after = set(folder.glob("*")) if folder.is_dir() else set()
        return f"{MADE}: {', '.join(sorted(path.name for path in after - before))}" if after - before else THERE

    async def _schema(self) -> str:
        version, ahead = await pending(self._database)
        await migrate(self._database)
        self._settings = await begin(self._settings, self._database, system_clock())
        if not ahead:
            return f"{THERE}, schema {version}"
        return f"schema {version or 'none'} -> {ahead[-1]}"

    async def _repositories(self) -> str:
        root = self._settings.repository_root
        was_there = root.is_dir()
        root.mkdir(parents=True, exist_ok=True)
        return f"{root}: {THERE if was_there else MADE}"

    async def _objects(self) -> str:
        store, key = ObjectStore.open(self._settings.store), f"create/{uuid4().hex}"
        await store.put(key, _PROBE)
        await store.delete(key)
        return f"{self._settings.store.rpartition('@')[2]}: writes and removes"

    async def _namespace(self) -> str:
        settings, name = self._settings, self._settings.namespace
        try:
            client = await connect(settings)
            was_made = await make_namespace(client, settings.temporal_retention)
            missing = await missing_attributes(client)
            async with self._database.read() as connection:
                mine = await installations.find(connection)
            assert mine is not None  # the schema's step has made it
            await prepare_namespace(
                client,
                mine.installation_id,
                settings.temporal_retention,
                restored_from=mine.restored_from,
                is_copy=mine.is_copy,
            )
        except (RPCError, RuntimeError, OSError):
            return f"{name}: Temporal does not answer at {settings.temporal}; a worker makes it when it joins"
        attributes = f"; search attributes {MADE}: {len(missing)}" if missing else "; search attributes there"
        return f"{name}: {MADE if was_made else THERE}{attributes}; task queue {settings.queue}"

    async def _directory(self) -> str:
        settings = self._settings
        home = settings.home if (settings.home / FILE).exists() else settings.home.parent.parent
        token = settings.directory.token or (tokens_in(home).admin if (home / FILE).exists() else "")
        if not (settings.directory.url or token):
            return "none (PERDURE_DIRECTORY_URL); `perdure up` has one where there are several pods"
        keys = public_keys([open_ring(settings, purpose) for purpose in Purpose])
        try:
            async with DirectoryClient(settings.directory_url, lambda: token) as client:
                await client.put_pod(
                    settings.pod_number, name=settings.pod, address=address_of(settings), public_keys=keys
                )
        except Unavailable:
            return f"does not answer at {settings.directory_url}; `perdure up` tells it, or run this again"
        return f"{settings.directory_url} knows the pod, its address and its keys"
