"""`perdure backup`: the whole installation in one file, while it runs.

The database is taken first, as it was at one moment. Everything else is copied after it, and only ever grows: each
commit and each object that a row speaks of is there by then. What was removed meanwhile (a file whose time was over)
is named in the manifest, and the restore forgets it.
"""

import asyncio
import importlib.metadata
import json
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from sqlalchemy.ext.asyncio import AsyncConnection

from cli.json_option import JsonOption
from cli.main import read_settings
from domain.errors import Invalid, NotFound, Unavailable
from git.repository import Repositories, Repository
from git.transport.snapshot import head_of, pack_of, refs_of
from models.repositories.installation import stored_facts
from models.snapshot import Snapshot, snapshot
from pods.restore_marker import refuse_half_restored
from settings import Settings
from storage.backup_archive import ArchiveWriter
from storage.objects import ObjectStore
from storage.read_ahead import read_ahead

DATABASE_FILE: Final = "database/perdure.db"
KEYS: Final = "keys"
CREDENTIALS: Final = "credentials.json"
_PACK_PART: Final = 8 * 1024 * 1024
_TELL_EVERY: Final = 1.0


class Progress:
    """Lines on stderr: what is done, at most one a second."""

    def __init__(self) -> None:
        """Nothing was told yet."""
        self._told = 0.0

    def tell(self, text: str, *, at_last: bool = False) -> None:
        """Say how far it is."""
        if at_last or time.monotonic() - self._told >= _TELL_EVERY:
            self._told = time.monotonic()
            typer.echo(text, err=True)


@dataclass(slots=True)
class Copied:
    """What was copied beside the database."""

    repositories: int = 0
    objects: int = 0
    keys: int = 0
    missing: list[str] = field(default_factory=list)
    without_repository: list[int] = field(default_factory=list)


def backup(
    output: Annotated[
        Path | None,
        typer.Option("--output", help="The file: NAME.tar.zst or NAME.tar.gz. Without it one is named in this folder."),
    ] = None,
    without_keys: Annotated[
        bool, typer.Option("--without-keys", help="Leave out the keys of `home/keys` and the first credentials.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Write everything into one file while Perdure runs: database, repositories, logs, artifacts, keys."""
    settings = read_settings()
    path = (output or Path(f"perdure-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.tar.zst")).resolve()
    manifest = asyncio.run(write_backup(settings, path, keys=not without_keys))
    if as_json:
        typer.echo(json.dumps({"file": str(path), **manifest}))
        return
    typer.echo(str(path))
    if without_keys:
        typer.echo("It holds no keys: keep those of `home/keys` elsewhere, it is worth nothing without them.", err=True)
    else:
        typer.echo("It holds every secret of this installation: keep it as you keep its keys.", err=True)


async def write_backup(settings: Settings, path: Path, *, keys: bool = True) -> dict[str, Any]:
    """Write the file; gives back its manifest. Raises `Invalid`, `NotFound`, `Unavailable`, `StorageFull`."""
    refuse_half_restored(settings.home)
    if not path.parent.is_dir():
        raise NotFound(f"There is no folder {path.parent} for the backup.")
    progress, copied, begun = Progress(), Copied(), datetime.now(UTC)
    async with AsyncExitStack() as stack:
        archive = stack.enter_context(ArchiveWriter(path))
        scratch = path.with_name(f".{path.name}.db")
        taken = await stack.enter_async_context(snapshot(settings.database, scratch))
        facts = await _facts(taken, begun)
        await _write_database(archive, taken, progress)
        await _write_repositories(archive, taken.connection, settings, copied, progress)
        await _write_objects(archive, taken.connection, ObjectStore.open(settings.store), copied, progress)
        if keys:
            _write_keys(archive, settings, copied)
        manifest = archive.finish(
            {
                **facts,
                "repositories": copied.repositories,
                "objects": copied.objects,
                "keys": copied.keys,
                "missing_objects": copied.missing,
                "without_repository": copied.without_repository,
                "ended_at": datetime.now(UTC).isoformat(),
            }
        )
    progress.tell(f"{manifest['members']} members, {_size(manifest['bytes'])}: {path}", at_last=True)
    return manifest


async def _facts(taken: Snapshot, begun: datetime) -> dict[str, Any]:
    """What the manifest says of the database. Raises `Invalid` for one without installation."""
    mine = await stored_facts.installation(taken.connection)
    if mine is None:
        raise Invalid("This database was never used: there is nothing to back up.")
    return {
        "perdure": importlib.metadata.version("perdure"),
        "begun_at": begun.isoformat(),
        "installation_id": mine.installation_id,
        "pod": mine.pod,
        "database": "sqlite" if taken.file is not None else "postgresql",
        "schema": await stored_facts.revision(taken.connection),
        "tables": taken.tables,
        "sequences": taken.sequences,
        "rows": await stored_facts.counts(taken.connection),
    }


async def _write_database(archive: ArchiveWriter, taken: Snapshot, progress: Progress) -> None:
    if taken.file is not None:
        archive.add_file(DATABASE_FILE, taken.file)
    else:
        numbers: dict[str, int] = {}
        async for part in taken.parts():
            numbers[part.table] = number = numbers.get(part.table, 0) + 1
            archive.add(f"database/{part.table}/{number:08}", part.content)
            progress.tell(f"database: {part.table}, {_size(archive.bytes)} so far")
    progress.tell(f"database: {_size(archive.bytes)}", at_last=True)


async def _write_repositories(
    archive: ArchiveWriter, connection: AsyncConnection, settings: Settings, copied: Copied, progress: Progress
) -> None:
    repositories = Repositories(settings.repository_root)
    known = await stored_facts.projects(connection)
    for number, row in enumerate(known, 1):
        try:
            repository = repositories.get(row.id)
        except NotFound:
            copied.without_repository.append(row.id)
            continue
        await _write_repository(archive, row.id, repository, await stored_facts.commits(connection, row.id))
        copied.repositories += 1
        progress.tell(f"repositories: {number} of {len(known)}")
    progress.tell(f"repositories: {copied.repositories}", at_last=True)


async def _write_repository(
    archive: ArchiveWriter, project_id: int, repository: Repository, commits: dict[int, str]
) -> None:
    """Its pack in parts, then its refs: whoever reads the refs has had the objects."""
    refs = await refs_of(repository, commits)
    held, number = bytearray(), 0
    if refs:
        async for chunk in pack_of(repository, refs.values()):
            held += chunk
            if len(held) >= _PACK_PART:
                number += 1
                archive.add(f"repositories/{project_id}/pack/{number:08}", bytes(held))
                held.clear()
        if held:
            archive.add(f"repositories/{project_id}/pack/{number + 1:08}", bytes(held))
    document = {"head": await head_of(repository), "refs": refs}
    archive.add(f"repositories/{project_id}/refs.json", json.dumps(document).encode())


async def _write_objects(
    archive: ArchiveWriter, connection: AsyncConnection, store: ObjectStore, copied: Copied, progress: Progress
) -> None:
    async for found in read_ahead(store, stored_facts.object_keys(connection)):
        if found.size is None:
            copied.missing.append(found.key)
            continue
        if found.content is not None:
            archive.add(f"objects/{found.key}", found.content)
        else:
            await _write_large(archive, store, found.key, found.size)
        copied.objects += 1
        progress.tell(f"objects: {copied.objects}, {_size(archive.bytes)} so far")
    progress.tell(f"objects: {copied.objects}", at_last=True)


async def _write_large(archive: ArchiveWriter, store: ObjectStore, key: str, size: int) -> None:
    try:
        await archive.add_stream(f"objects/{key}", size, store.read(key))
    except NotFound as error:
        raise Unavailable(f"{key} was removed from the store while it was read; make the backup again.") from error


def _write_keys(archive: ArchiveWriter, settings: Settings, copied: Copied) -> None:
    """The files of `home/keys`. Those that the settings name are not ours to copy."""
    folder = settings.home / KEYS
    found = [path for path in sorted(folder.glob("*")) if path.suffix in {".pem", ".key"}] if folder.is_dir() else []
    for path in [*found, settings.home / CREDENTIALS]:
        if path.is_file():
            archive.add_file(f"home/{path.relative_to(settings.home)}", path)
            copied.keys += 1


def _size(count: int) -> str:
    number = float(count)
    for unit in ("B", "KiB", "MiB"):
        if number < 1024:
            return f"{number:.0f} {unit}"
        number /= 1024
    return f"{number:.1f} GiB"
