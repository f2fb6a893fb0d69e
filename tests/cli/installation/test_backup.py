"""`perdure backup` and `perdure restore`: what is in the file, what comes back, what is refused untouched."""

import json
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from api.startup import open_services
from auth.encryption import new_key, open_sealer
from cli.installation.backup import Progress, write_backup
from cli.installation.restore import put_back
from domain.errors import Invalid, NotFound, Refused
from fleet.config import load_config
from git.transport.snapshot import KEPT
from models.clock import system_clock
from models.columns import table_of
from models.repositories.accounts import accounts
from models.repositories.artifacts import artifacts
from models.repositories.installation.installations import installation
from models.repositories.namespaces import namespaces
from models.repositories.projects import projects
from models.session import Database
from models.tables.artifacts import Artifact
from models.tables.logs import Trace
from models.tables.pipelines import Job, Pipeline
from models.tables.projects import Project
from models.tables.queue import Lease, LeaseClock
from models.tables.secure_files import SecureFile
from models.tables.uploads import ProjectUpload
from rigs.postgres import fresh_database
from settings import Settings
from storage.backup_archive import members, verified_manifest
from storage.objects import ObjectStore
from tests.api.v4.projects.test_removal import ended
from tests.api.v4.site import Site, open_site
from tests.cli.conftest import Perdure
from tests.git.serving import git
from tests.program import Program, environment
from tests.storage.test_objects import BUCKET, bucket, s3_address  # noqa: F401

pytestmark = pytest.mark.slow

QUIET = Progress()
SKIPPED = 1_000_000
PIPELINE_YAML = "one: {script: x}\n"


@dataclass
class Kept:
    """A backup of a site, and a place to restore it to."""

    site: Site
    file: Path
    target: Settings

    @property
    def settings(self) -> Settings:
        """Those of the site."""
        return self.site.services.settings

    async def back_up(self, **options: Any) -> dict[str, Any]:
        """Write the file."""
        return await write_backup(self.settings, self.file, **options)

    async def restore(self, *, force: bool = False, promoted: bool = False) -> str:
        """Verify the file and put it back; the id of the copy."""
        manifest = verified_manifest(self.file)
        return await put_back(self.target, self.file, manifest, force=force, promoted=promoted, progress=QUIET)

    async def restored(self, statement: Any) -> Any:
        """Rows of the restored database."""
        database = Database(self.target.database)
        try:
            async with database.read() as connection:
                return (await connection.execute(statement)).all()
        finally:
            await database.close()


@pytest.fixture(params=["sqlite", "postgresql"])
async def kept(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Kept]:
    """A site with one commit on `main`, and an empty home."""
    file = tmp_path / "kept.tar.zst"
    if request.param == "sqlite":
        async with open_site(tmp_path, "") as site:
            await site.commit({".gitlab-ci.yml": PIPELINE_YAML})
            yield Kept(site, file, Settings(home=tmp_path / "new"))
        return
    server = request.getfixturevalue("postgres")
    async with fresh_database(server) as one, fresh_database(server) as other, open_site(tmp_path, one) as site:
        await site.commit({".gitlab-ci.yml": PIPELINE_YAML})
        yield Kept(site, file, Settings(home=tmp_path / "new", database_url=other))


async def rows_of(site: Site, statement: Any) -> Any:
    """Rows of the site."""
    async with site.services.database.read() as connection:
        return (await connection.execute(statement)).all()


async def test_rows_commits_logs_artifacts_and_keys_come_back(kept: Kept) -> None:
    await ended(kept.site)
    await kept.site.masked_variable("hidden-value")
    manifest = await kept.back_up()
    assert manifest["rows"]["pipeline"] == 1
    assert (manifest["repositories"], manifest["objects"], manifest["missing_objects"]) == (1, 2, [])
    await kept.restore()
    for model in (Job, Pipeline, Artifact, Project, Trace):
        table = table_of(model)
        whole = [column for column in table.c if column.name not in {"run", "tick"}]
        statement = select(*whole).order_by(*table.primary_key)
        assert await kept.restored(statement) == await rows_of(kept.site, statement)
    old, new = ObjectStore.open(kept.settings.store), ObjectStore.open(kept.target.store)
    keys = [member.name.removeprefix("objects/") for member in members(kept.file) if "objects/" in member.name]
    assert len(keys) == 2
    for key in keys:
        assert [part async for part in new.read(key)] == [part async for part in old.read(key)]
    here, there = kept.settings.repository_root, kept.target.repository_root
    name = f"{kept.site.world.project_id}.git"
    assert await git("rev-parse", "main", cwd=there / name) == await git("rev-parse", "main", cwd=here / name)
    await git("fsck", "--strict", cwd=there / name)
    for path in (kept.settings.home / "keys").iterdir():
        copy = kept.target.home / "keys" / path.name
        assert copy.read_bytes() == path.read_bytes()
        assert copy.stat().st_mode & 0o777 == 0o600


async def test_it_starts_and_its_ids_have_skipped_a_million(kept: Kept) -> None:
    await ended(kept.site)
    await kept.back_up()
    await kept.restore()
    services = await open_services(kept.target, system_clock)
    try:
        async with services.database.write() as connection:
            row = (await connection.execute(select(installation))).one()
            assert row.restored_at is not None
            await namespaces.create(connection, "fresh", "Fresh", system_clock())
            owner = await namespaces.get_by(connection, path="fresh")
            user = await accounts.by_username(connection, "root")
            assert user is not None
            newest = await projects.create_project(connection, owner, "x", "X", user.id, system_clock())
        assert newest > SKIPPED
    finally:
        await services.notifications.stop()
        services.compilers.shutdown(wait=False, cancel_futures=True)
        await services.polls.close()
        await services.contacts.close()
        await services.database.close()


async def test_every_pipeline_keeps_its_commit_also_after_a_force_push(kept: Kept) -> None:
    first = await git("rev-parse", "main", cwd=kept.site.folder / "tree")
    pipeline_id = await kept.site.world.pipeline()
    async with kept.site.services.database.write() as connection:
        await connection.execute(table_of(Pipeline).update().values(sha=first))
    tree, name = kept.site.folder / "tree", f"{kept.site.world.project_id}.git"
    await git("commit", "-q", "--amend", "-m", "another", cwd=tree)
    await git("push", "-q", "--force", kept.settings.repository_root / name, "main", cwd=tree)
    await git("tag", "-a", "v1", "-m", "one", cwd=tree)
    await git("push", "-q", kept.settings.repository_root / name, "v1", cwd=tree)
    later = await git("rev-parse", "main", cwd=tree)
    await git("update-ref", f"{KEPT}999", later, cwd=kept.settings.repository_root / name)
    await kept.back_up()
    await kept.restore()
    restored = kept.target.repository_root / name
    assert await git("rev-parse", f"{KEPT}{pipeline_id}", cwd=restored) == first
    assert await git("cat-file", "-t", "refs/tags/v1", cwd=restored) == "tag"
    assert await git("rev-parse", "main", cwd=restored) == later
    assert f"{KEPT}999" not in (await git("for-each-ref", cwd=restored)).split()


async def test_objects_come_from_s3_and_go_there(tmp_path: Path, bucket: Any) -> None:  # noqa: F811
    stores = [f"s3://{BUCKET}/{name}" for name in ("here", "there")]
    async with open_site(tmp_path, "", object_store=stores[0]) as site:
        kept = Kept(site, tmp_path / "kept.tar.zst", Settings(home=tmp_path / "new", object_store=stores[1]))
        await site.commit({".gitlab-ci.yml": PIPELINE_YAML})
        await ended(site)
        manifest = await kept.back_up()
        assert (manifest["objects"], manifest["missing_objects"]) == (2, [])
        await kept.restore()
    found = {item.key: item.get()["Body"].read() for item in bucket.objects.all()}
    here = {key.removeprefix("here/"): content for key, content in found.items() if key.startswith("here/")}
    there = {key.removeprefix("there/"): content for key, content in found.items() if key.startswith("there/")}
    assert len(there) == 2
    assert there.items() <= here.items()


async def test_an_object_that_is_gone_by_then_is_forgotten(kept: Kept) -> None:
    _, job_id = await ended(kept.site)
    store = ObjectStore.open(kept.settings.store)
    for row in await rows_of(kept.site, select(table_of(Artifact).c.object_key)):
        await store.delete(row.object_key)
    await store.delete(f"projects/{kept.site.world.project_id}/jobs/{job_id}/trace-0.log")
    manifest = await kept.back_up()
    assert len(manifest["missing_objects"]) == 2
    await kept.restore()
    assert [row.object_key for row in await kept.restored(select(table_of(Artifact)))] == [""]
    assert await kept.restored(select(table_of(Trace))) == []
    assert [row.log_incomplete for row in await kept.restored(select(table_of(Job)))] == [True]
    database = Database(kept.target.database)
    async with database.read() as connection:
        assert await artifacts.available(connection, job_id, artifacts.ARCHIVE) is None
    await database.close()


async def test_secure_files_come_back_and_those_whose_content_is_gone_are_forgotten(kept: Kept) -> None:
    where = f"/api/v4/projects/{kept.site.world.project_id}/secure_files"
    async with kept.site.client(kept.site.root) as client:
        for name in ("kept", "gone"):
            made = await client.post(where, data={"name": name}, files={"file": ("x", name.encode())})
            assert made.status_code == 201
    files = table_of(SecureFile)
    gone = await rows_of(kept.site, select(files).where(files.c.name == "gone"))
    await ObjectStore.open(kept.settings.store).delete(gone[0].object_key)
    manifest = await kept.back_up()
    assert (manifest["objects"], manifest["missing_objects"]) == (1, [gone[0].object_key])
    await kept.restore()
    (row,) = await kept.restored(select(files))
    sealed = b"".join([part async for part in ObjectStore.open(kept.target.store).read(row.object_key)])
    assert open_sealer(kept.target).open_bytes(sealed, row.object_key) == b"kept"


async def test_uploads_come_back_and_those_whose_content_is_gone_are_forgotten(kept: Kept) -> None:
    where = f"/api/v4/projects/{kept.site.world.project_id}/uploads"
    async with kept.site.client(kept.site.root) as client:
        for name in ("kept", "gone"):
            assert (await client.post(where, files={"file": (name, name.encode())})).status_code == 201
    files = table_of(ProjectUpload)
    gone = await rows_of(kept.site, select(files).where(files.c.filename == "gone"))
    await ObjectStore.open(kept.settings.store).delete(gone[0].object_key)
    assert (await kept.back_up())["missing_objects"] == [gone[0].object_key]
    await kept.restore()
    (row,) = await kept.restored(select(files))
    parts = ObjectStore.open(kept.target.store).read(row.object_key)
    assert b"".join([part async for part in parts]) == b"kept"


async def test_what_runners_hold_gets_time_and_lost_hand_outs_open_nothing(kept: Kept) -> None:
    await kept.site.world.pipeline("a: {script: x}\nb: {script: x}\nc: {script: x}\n")
    taken, begun = await kept.site.world.job(), await kept.site.world.job()
    assert (await kept.site.world.put(begun, "running")).status_code == 200
    async with kept.site.services.database.write() as connection:
        lease = table_of(Lease)
        await connection.execute(lease.update().where(lease.c.job_id == begun["id"]).values(taken_up=True))
    await kept.back_up()
    await kept.restore()
    jobs = {row.id: row for row in await kept.restored(select(table_of(Job)).order_by(table_of(Job).c.id))}
    assert (jobs[begun["id"]].status, jobs[begun["id"]].hand_out) == ("running", 1)
    assert (jobs[taken["id"]].status, jobs[taken["id"]].hand_out) == ("pending", 1_001)
    others = [row for key, row in jobs.items() if key not in {begun["id"], taken["id"]}]
    assert [row.hand_out for row in others] == [1_000]
    assert [row.job_id for row in await kept.restored(select(table_of(Lease)))] == [begun["id"]]
    assert {row.ticked_at for row in await kept.restored(select(table_of(LeaseClock)))} <= {0.0}
    assert {row.job_id for row in await kept.restored(select(table_of(Trace)))} == set(jobs)


async def test_what_is_in_the_way_is_named_and_stays(kept: Kept) -> None:
    await kept.back_up()
    await kept.restore()
    before = await kept.restored(select(installation))
    with pytest.raises(Refused, match=r"In the way: database .*, repositories in .*keys in .*--force"):
        await kept.restore()
    assert await kept.restored(select(installation)) == before
    await kept.restore(force=True)
    assert len(await kept.restored(select(table_of(Project)))) == 1


async def test_what_is_restored_elsewhere_is_a_copy_with_an_id_and_an_address_of_its_own(kept: Kept) -> None:
    pipeline_id = await kept.site.world.pipeline()
    theirs = (await kept.back_up())["installation_id"]
    credentials = kept.settings.home / "credentials.json"
    made = await kept.restore()
    (row,) = await kept.restored(select(installation))
    assert made
    assert (row.installation_id, row.restored_from, row.held_up_to) == (made, theirs, pipeline_id)
    known = json.loads(credentials.read_text()) if credentials.exists() else {}
    if known:
        copied = json.loads((kept.target.home / "credentials.json").read_text())
        assert copied == known | {"url": kept.target.url, "installation_id": made}
    # Over a copy a copy comes back, also of what the copy has stored.
    assert await kept.restore(force=True) not in {"", made}


async def test_what_takes_the_place_of_the_one_that_was_backed_up_is_that_one(kept: Kept) -> None:
    await kept.site.world.pipeline()
    theirs = (await kept.back_up())["installation_id"]
    config = kept.target.home / "runner" / "config.toml"
    for options in ({"promoted": True}, {"force": True}):  # the second time the database says who is there
        config.parent.mkdir(parents=True, exist_ok=True)
        entries = ('name = "built-in"\ntoken = "glrt-1"', 'name = "mine"\ntoken = "glrt-2"')
        config.write_text("".join(f'[[runners]]\nurl = "http://x.example"\n{one}\n' for one in entries))
        assert await kept.restore(**options) == ""
        (row,) = await kept.restored(select(installation))
        assert (row.installation_id, row.restored_from, row.held_up_to) == (theirs, "", None)
        assert [entry.token for entry in load_config(config).runners] == ["glrt-2"]


async def test_a_copy_never_clears_places_that_the_original_may_use(kept: Kept, tmp_path: Path) -> None:
    await ended(kept.site)
    await kept.back_up()
    root, store = kept.settings.repository_root, kept.settings.store
    before = sorted(path.name for path in root.iterdir())
    shared = {"object_store": store, "repositories": root}
    for name, value in shared.items():
        target = kept.target.model_copy(update={name: value})
        manifest = verified_manifest(kept.file)
        with pytest.raises(Refused, match=rf"PERDURE_{name.upper()}=.* is not empty, and this would be a copy"):
            await put_back(target, kept.file, manifest, force=True, progress=QUIET)
    assert sorted(path.name for path in root.iterdir()) == before
    assert not await ObjectStore.open(store).is_empty()


async def test_a_backup_without_keys_has_none_and_wants_the_right_ones(kept: Kept) -> None:
    await kept.site.masked_variable("hidden-value")
    await kept.back_up(keys=False)
    assert not [member.name for member in members(kept.file) if member.name.startswith("home/")]
    await kept.restore()
    known = {
        "PERDURE_HOME": str(kept.target.home),
        "PERDURE_DATABASE_URL": kept.target.database_url,
        "PERDURE_TEMPORAL_ADDRESS": "127.0.0.1:1",
        "PERDURE_SECRETS_KEY": new_key(),
    }
    program = Program([sys.executable, "-m", "worker"], kept.file.with_name("worker.log"), env=environment(**known))
    await program.start()
    assert await program.wait(60) == 1
    (line,) = program.output().splitlines()
    assert line.startswith("perdure-worker: A secret was sealed with key")
    assert "PERDURE_SECRETS_KEY" in line


async def test_a_damaged_file_is_refused_before_anything_is_written(kept: Kept) -> None:
    await ended(kept.site)
    await kept.back_up()
    content = kept.file.read_bytes()
    middle = len(content) // 2
    # One bit is too little: 3 of 1,000 mean nothing, as where a copy of zeros begins.
    inverted = bytes(byte ^ 0xFF for byte in content[middle : middle + 64])
    for damaged in (content[:middle] + inverted + content[middle + 64 :], content[: len(content) // 3]):
        kept.file.write_bytes(damaged)
        with pytest.raises(Invalid, match=r"damaged|not whole"):
            await kept.restore()
        assert not kept.target.home.exists()


async def test_a_restore_that_was_broken_off_is_begun_anew(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    await ended(kept.site)
    await kept.back_up()

    async def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr("cli.installation.restore.take_pack", broken)
        with pytest.raises(ZeroDivisionError):
            await kept.restore()
    with pytest.raises(Refused, match=r"only half restored from a backup. Run `perdure restore .*kept.tar.zst` again"):
        await open_services(kept.target, system_clock)
    with pytest.raises(Refused, match="only half restored"):
        await write_backup(kept.target, kept.file.with_name("other.tar.zst"))
    await kept.restore()
    assert len(await kept.restored(select(table_of(Job)))) == 1


async def test_another_pod_or_kind_of_database_is_refused(kept: Kept, tmp_path: Path) -> None:
    await kept.back_up()
    manifest = verified_manifest(kept.file)
    unlike = "" if kept.target.database_url else "postgresql+asyncpg://x/y"
    other = Settings(home=tmp_path / "other", database_url=unlike)
    with pytest.raises(Invalid, match="they must be alike"):
        await put_back(other, kept.file, manifest, force=False, progress=QUIET)
    with pytest.raises(Invalid, match="The backup is of pod default, PERDURE_POD is east"):
        await put_back(kept.target.model_copy(update={"pod": "east"}), kept.file, manifest, force=False, progress=QUIET)
    with pytest.raises(Invalid, match="has schema 9999, which this Perdure does not know"):
        await put_back(kept.target, kept.file, {**manifest, "schema": "9999"}, force=False, progress=QUIET)
    assert not (tmp_path / "other").exists()


async def test_there_must_be_something_to_back_up(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="There is no database"):
        await write_backup(Settings(home=tmp_path / "none"), tmp_path / "kept.tar.zst")
    assert list(tmp_path.iterdir()) == []  # noqa: ASYNC240


def test_the_commands_refuse_in_one_line(perdure: Perdure, tmp_path: Path) -> None:
    missing = perdure("backup", "--output", str(tmp_path / "kept.tar.zst"))
    assert (missing.returncode, missing.stderr.count("\n")) == (3, 1)
    assert "There is no database" in missing.stderr
    checked = perdure("restore", "--check", str(tmp_path / "none.tar.zst"))
    assert checked.returncode == 3
    assert "There is no file" in checked.stderr
    perdure.home.mkdir(exist_ok=True)
    (perdure.home / "restoring.json").write_text('{"archive": "/kept.tar.zst"}')
    refused = perdure("up")
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert "Run `perdure restore /kept.tar.zst` again" in refused.stderr
