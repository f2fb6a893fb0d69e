"""`perdure restore`: what `perdure backup` has written, back into an empty home.

The whole file is verified before anything is written. A marker in the home says that a restore has begun: nothing
starts there until it has ended, and one that was killed is begun anew. The database comes last, in one step.
"""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final
from uuid import uuid4

import typer

from cli.installation.backup import CREDENTIALS, DATABASE_FILE, KEYS, Progress
from cli.installation.bootstrap import RUNNER
from cli.installation.own_installation import COPY, stored_installation
from cli.installation.up import supervisor_runs
from cli.json_option import JsonOption
from cli.main import read_settings
from domain.errors import Invalid, Refused
from files import durable
from fleet.config import load_config, remove_runners
from git.repository import Repositories
from git.transport.snapshot import set_refs, take_pack
from models.migrate import check_known
from models.repositories.installation.restoring import settle
from models.restored import is_empty, open_postgres, put_sqlite, sqlite_path
from pods import restore_marker
from pods.embedded_pods import home_of_processes
from pods.run_folder import RunFolder
from pods.stack import runner_config
from settings import Settings
from storage.backup_archive import Member, members, verified_manifest
from storage.objects import ObjectStore

_OBJECTS: Final = "objects/"
_REPOSITORIES: Final = "repositories/"
_HOME: Final = "home/"
_DATABASE: Final = "database/"


def restore(
    file: Annotated[Path, typer.Argument(help="What `perdure backup` has written.")],
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
    promoted: Annotated[
        bool,
        typer.Option(
            "--promote",
            help="What was backed up is gone: take its place. Without it a copy is made, which acts on nobody.",
        ),
    ] = False,
    check: Annotated[bool, typer.Option("--check", help="Only verify the file; nothing is written.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Put a backup back into an empty home; Perdure must be down."""
    settings = read_settings()
    progress, made = Progress(), ""
    progress.tell(f"verifying {file}", at_last=True)
    manifest = verified_manifest(file)
    if not check:
        made = asyncio.run(put_back(settings, file, manifest, force=force, promoted=promoted, progress=progress))
    if as_json:
        typer.echo(json.dumps(manifest))
    elif check:
        typer.echo(f"{file} is whole: {manifest['members']} members of {manifest['begun_at']}.")
    else:
        typer.echo(f"Restored {settings.home.resolve()} as of {manifest['begun_at']}. Next: start Perdure.")
        if made:
            typer.echo(COPY.format(original=manifest["installation_id"]), err=True)


async def put_back(
    settings: Settings, file: Path, manifest: dict[str, Any], *, force: bool, promoted: bool = False, progress: Progress
) -> str:
    """Restore a verified file; gives back the id of the copy that it was made to, empty for what takes its old place.

    Such is what goes back over the same installation, or is `promoted`. Raises `Refused` for what is in the way,
    `Invalid` for what does not fit here.
    """
    _refuse_what_does_not_fit(settings, manifest)
    store = ObjectStore.open(settings.store)
    in_place = promoted or await _is_there(settings, manifest)
    if not in_place and force:
        await _refuse_places_of_another(settings, store)
    if not (force or restore_marker.is_begun(settings.home)):
        await _refuse_what_is_there(settings, manifest, store)
    else:
        await is_empty(settings.database)  # nobody else may be connected
    copy_id = "" if in_place else str(uuid4())
    restore_marker.begin(settings.home, file, in_place=in_place)
    await _clear(settings, manifest, store)
    await _Restore(settings, file, manifest, store, progress, copy_id).run()
    restore_marker.end(settings.home)
    return copy_id


async def _is_there(settings: Settings, manifest: dict[str, Any]) -> bool:
    """Whether what is replaced is the installation that was backed up, also where a killed restore has begun so."""
    if restore_marker.is_begun(settings.home):
        return restore_marker.is_in_place(settings.home)
    here = await stored_installation(settings)
    ours = here.installation_id if here else _noted_id(settings.home / CREDENTIALS)
    return ours == str(manifest["installation_id"])


def _noted_id(path: Path) -> str:
    """Which installation was in a home that has lost its database; empty where nothing says so."""
    try:
        return str(json.loads(path.read_text())["installation_id"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


async def _refuse_places_of_another(settings: Settings, store: ObjectStore) -> None:
    """Raise `Refused` where a copy would clear what the original may live from: such a place says not whose it is."""
    used = []
    if settings.object_store and not await store.is_empty():
        used.append(f"PERDURE_OBJECT_STORE={_without_password(settings.store)}")
    if settings.repositories and any(settings.repository_root.glob("*.git")):
        used.append(f"PERDURE_REPOSITORIES={settings.repository_root}")
    if used:
        raise Refused(
            f"{' and '.join(used)} is not empty, and this would be a copy: --force does not clear what the original "
            "may use. Name empty places of the copy's own; if the original is gone, add --promote."
        )


def _refuse_what_does_not_fit(settings: Settings, manifest: dict[str, Any]) -> None:
    kind = "sqlite" if settings.database.startswith("sqlite") else "postgresql"
    if manifest["database"] != kind:
        raise Invalid(
            f"The backup is of {manifest['database']}, PERDURE_DATABASE_URL names {kind}; they must be alike."
        )
    if manifest["pod"] != settings.pod:
        raise Invalid(f"The backup is of pod {manifest['pod']}, PERDURE_POD is {settings.pod}.")
    check_known(manifest["schema"])
    home = home_of_processes(settings)
    if supervisor_runs(RunFolder(home)):
        raise Refused(f"Perdure runs in {home.resolve()}. Run `perdure down` first.")


async def _refuse_what_is_there(settings: Settings, manifest: dict[str, Any], store: ObjectStore) -> None:
    """Raise `Refused` with all that a restore would replace."""
    there: list[str] = []
    if not await is_empty(settings.database):
        there.append(f"database {_without_password(settings.database)}")
    if settings.repository_root.is_dir() and any(settings.repository_root.glob("*.git")):
        there.append(f"repositories in {settings.repository_root}")
    if not await store.is_empty():
        there.append(f"objects in {settings.store}")
    if manifest["keys"] and (settings.home / KEYS).is_dir() and any((settings.home / KEYS).iterdir()):
        there.append(f"keys in {settings.home.resolve() / KEYS}")
    if there:
        raise Refused(f"In the way: {', '.join(there)}. Restore into an empty home, or replace this with --force.")


def _without_password(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"


async def _clear(settings: Settings, manifest: dict[str, Any], store: ObjectStore) -> None:
    """Nothing of what was there, or of a restore that was killed, is left; the database goes when the new one comes."""
    if settings.database.startswith("sqlite"):
        path = sqlite_path(settings.database)
        for name in (path.name, f"{path.name}-wal", f"{path.name}-shm", f"{path.name}.restored"):
            path.with_name(name).unlink(missing_ok=True)
    for folder in [*settings.repository_root.glob("*.git"), *settings.repository_root.glob(".[0-9]*-*")]:
        await asyncio.to_thread(shutil.rmtree, folder)
    await store.clear()
    if manifest["keys"]:
        shutil.rmtree(settings.home / KEYS, ignore_errors=True)
        (settings.home / CREDENTIALS).unlink(missing_ok=True)
    _forget_runner(settings)


def _forget_runner(settings: Settings) -> None:
    """`perdure up` registers another built-in runner: the database may not know the one of here, or another's token."""
    path = runner_config(settings)
    if path.exists():
        entries = [entry for entry in load_config(path).runners if entry.name == RUNNER["description"]]
        remove_runners(path, {entry.token for entry in entries})


class _Restore:
    """One pass through the file. Members come in its order: database, repositories, objects, keys."""

    def __init__(
        self,
        settings: Settings,
        file: Path,
        manifest: dict[str, Any],
        store: ObjectStore,
        progress: Progress,
        copy_id: str,
    ) -> None:
        self._settings = settings
        self._file = file
        self._manifest = manifest
        self._store = store
        self._progress = progress
        self._settle = partial(
            settle,
            pod_number=settings.pod_number,
            missing=frozenset(manifest["missing_objects"]),
            now=datetime.now(UTC),
            copy_id=copy_id,
        )
        self._copy_id = copy_id

    async def run(self) -> None:
        """Everything beside the database first; it is what makes the home a home."""
        await self._put_files()
        await self._put_database()
        self._progress.tell("database: restored", at_last=True)

    async def _put_files(self) -> None:
        repositories = Repositories(self._settings.repository_root)
        left = _Ahead(members(self._file))
        count = 0
        while (member := left.take()) is not None:
            if member.name.startswith(_REPOSITORIES):
                await self._put_repository(repositories, member, left)
            elif member.name.startswith(_OBJECTS):
                await self._store.put(member.name.removeprefix(_OBJECTS), member.stream())
            elif member.name.startswith(_HOME):
                self._put_in_home(member)
            count += 1
            self._progress.tell(f"restored {count} of {self._manifest['members']} members")
        for project_id in self._manifest["without_repository"]:
            await repositories.create(project_id, "main")

    async def _put_repository(self, repositories: Repositories, member: Member, left: "_Ahead") -> None:
        folder = member.name.rpartition("/")[0]
        project_id = int(member.name.split("/")[1])
        repository = await repositories.create(project_id, "main")
        if folder.endswith("/pack"):

            async def pack() -> AsyncIterator[bytes]:
                part: Member | None = member
                while part is not None:
                    for chunk in part.chunks():
                        yield chunk
                    part = left.take(f"{folder}/")

            await take_pack(repository, pack())
            return
        document = json.loads(member.read())
        await set_refs(repository, document["refs"])
        await repository.set_default_branch(document["head"])

    def _put_in_home(self, member: Member) -> None:
        name = member.name.removeprefix(_HOME)
        if name != CREDENTIALS and (Path(name).parent != Path(KEYS) or Path(name).name in {"", "..", "."}):
            raise Invalid(f"{self._file} is no backup of Perdure: {member.name} has no place.")
        path = self._settings.home / name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        durable.replace(path, self._at_home(member.read()) if name == CREDENTIALS else member.read())

    def _at_home(self, credentials: bytes) -> bytes:
        """The file of the first administrator, which must not lead to where the original is."""
        found = json.loads(credentials) | {"url": self._settings.url}
        return json.dumps(found | ({"installation_id": self._copy_id} if self._copy_id else {}), indent=2).encode()

    async def _put_database(self) -> None:
        url = self._settings.database
        if url.startswith("sqlite"):
            target = sqlite_path(url)
            target.parent.mkdir(parents=True, exist_ok=True)
            draft = target.with_name(f"{target.name}.restored")
            self._write_draft(draft)
            await put_sqlite(draft, target, self._settle)
            return
        async with open_postgres(url, self._manifest["schema"]) as target_database:
            left = _Ahead(member for member in members(self._file) if member.name.startswith(_DATABASE))
            for table, columns in self._manifest["tables"].items():
                await target_database.put(table, columns, _rows(left, table))
            await target_database.settle(self._manifest["sequences"], self._settle)

    def _write_draft(self, draft: Path) -> None:
        for member in members(self._file):
            if member.name == DATABASE_FILE:
                with draft.open("wb") as file:
                    draft.chmod(0o600)
                    for chunk in member.chunks():
                        file.write(chunk)
                return
        raise Invalid(f"{self._file} has no {DATABASE_FILE}.")


async def _rows(left: "_Ahead", table: str) -> AsyncIterator[bytes]:
    while (part := left.take(f"{_DATABASE}{table}/")) is not None:
        for chunk in part.chunks():
            yield chunk


class _Ahead:
    """Members, of which the next one can be left to somebody else."""

    def __init__(self, found: Iterator[Member]) -> None:
        self._found = iter(found)
        self._next: Member | None = next(self._found, None)
        self._taken = False

    def take(self, prefix: str = "") -> Member | None:
        """The next member if its name begins so. The one before it has been read by then."""
        if self._taken:
            self._next, self._taken = next(self._found, None), False
        if self._next is None or not self._next.name.startswith(prefix):
            return None
        self._taken = True
        return self._next
