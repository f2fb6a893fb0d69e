"""Artifacts go when their time is over: the row first, then the object, and never one that is kept."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from domain.errors import Unavailable
from domain.pipelines.status import Status
from loops import artifacts as loops
from loops.artifacts import ArtifactLoop
from models.columns import table_of
from models.repositories.artifacts import artifacts, unused_objects
from models.tables.artifacts import Artifact, ObjectToDelete
from storage.objects import ObjectStore
from tests.models.world import World, job, pipeline

artifact = table_of(Artifact)
to_delete = table_of(ObjectToDelete)
ONE = "one: {script: x, artifacts: {paths: [out]}}\n"
PAST = datetime(2020, 1, 1, tzinfo=UTC)


class Keeping:
    """A world whose jobs hand in files, and the loop that removes them."""

    def __init__(self, world: World, root: Path) -> None:
        self.world = world
        self.root = root
        self.store = ObjectStore.open(root.as_uri())
        self.loop = ArtifactLoop(world.database, self.store, 1)

    async def hand_in(self, expire_at: datetime | None = PAST, kinds: Sequence[str] = ("archive",), **of: Any) -> int:
        """A pipeline that has succeeded, whose job handed in files; the job's id."""
        pipeline_id = await self.world.begin(ONE)
        job_id = (await self.world.row(job, pipeline_id=pipeline_id)).id
        values = {"status": Status.SUCCESS, **of}
        async with self.world.database.write() as connection:
            await connection.execute(update(pipeline).where(pipeline.c.id == pipeline_id).values(**values))
            for kind in kinds:
                key = f"projects/1/jobs/{job_id}/{kind}"
                await self.store.put(key, b"content")
                await artifacts.add(
                    connection,
                    PAST,
                    job_id=job_id,
                    project_id=self.world.project_id,
                    file_type=kind,
                    file_format="zip",
                    filename="a",
                    size=7,
                    sha256="",
                    object_key=key,
                    expire_at=expire_at,
                )
        return int(job_id)

    async def available(self, job_id: int) -> bool:
        """Whether a reader finds the archive."""
        async with self.world.database.read() as connection:
            return await artifacts.available(connection, job_id, "archive") is not None

    def files(self) -> list[str]:
        """What the store holds."""
        return sorted(str(file.relative_to(self.root)) for file in self.root.rglob("*") if file.is_file())

    async def project(self, **values: Any) -> None:
        """Write columns of the project."""
        async with self.world.database.write() as connection:
            await connection.execute(update(artifacts.project).values(**values))


@pytest.fixture
def keeping(world: World, tmp_path: Path) -> Keeping:
    """A world with a store."""
    return Keeping(world, tmp_path / "objects")


async def test_expired_artifacts_go_but_for_those_of_the_latest_success_of_their_ref(keeping: Keeping) -> None:
    old = await keeping.hand_in(kinds=("archive", "junit"))
    lasting = await keeping.hand_in(expire_at=None)
    later = await keeping.hand_in(expire_at=datetime.now(UTC) + timedelta(days=1))
    other_ref = await keeping.hand_in(ref="stable")
    latest = await keeping.hand_in()
    failed = await keeping.hand_in(status=Status.FAILED)
    assert await keeping.loop.expire() == 2
    kept = {number: await keeping.available(number) for number in (old, lasting, later, other_ref, latest, failed)}
    assert kept == {old: False, lasting: True, later: True, other_ref: True, latest: True, failed: True}
    assert await keeping.loop.delete_unused() == 2
    assert len(keeping.files()) == 5
    assert await keeping.loop.expire() == await keeping.loop.delete_unused() == 0


async def test_a_project_may_let_its_latest_artifacts_go(keeping: Keeping) -> None:
    latest = await keeping.hand_in()
    await keeping.project(keep_latest_artifacts=False)
    assert not await keeping.available(latest)
    assert await keeping.loop.expire() == 1


@pytest.mark.parametrize("newer", [{"source": "parent_pipeline"}, {"tag": True}, {"ref": "other"}])
async def test_a_success_elsewhere_takes_nothing_away(keeping: Keeping, newer: dict[str, Any]) -> None:
    latest = await keeping.hand_in()
    await keeping.hand_in(expire_at=None, **newer)
    assert await keeping.loop.expire() == 0
    assert await keeping.available(latest)


async def test_of_an_archive_the_row_stays_so_that_nobody_runs_without_it(keeping: Keeping) -> None:
    old = await keeping.hand_in(kinds=("archive", "junit"))
    await keeping.hand_in()
    await keeping.loop.expire()
    row = await keeping.world.row(artifact, job_id=old)
    assert (row.file_type, row.object_key) == ("archive", "")
    async with keeping.world.database.read() as connection:
        assert await artifacts.of_jobs(connection, [old]) == []


async def test_a_report_that_nobody_has_read_stays(keeping: Keeping) -> None:
    old = await keeping.hand_in(kinds=("junit",))
    await keeping.hand_in(expire_at=None)
    async with keeping.world.database.write() as connection:
        await connection.execute(update(artifact).where(artifact.c.job_id == old).values(parsed=False))
    assert await keeping.loop.expire() == 0


async def test_many_go_in_portions(keeping: Keeping, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "BATCH", 2)
    for _ in range(5):
        await keeping.hand_in()
    await keeping.hand_in(expire_at=None)
    assert await keeping.loop.expire() == 5
    assert await keeping.loop.delete_unused() == 5
    assert len(keeping.files()) == 1


async def test_killed_after_the_row_the_object_goes_later(keeping: Keeping) -> None:
    old = await keeping.hand_in()
    await keeping.hand_in(expire_at=None)
    await keeping.loop.expire()
    assert not await keeping.available(old)
    assert len(keeping.files()) == 2
    again = ArtifactLoop(keeping.world.database, keeping.store, 1)
    assert await again.delete_unused() == 1
    assert len(keeping.files()) == 1


async def test_killed_before_the_end_of_the_transaction_nothing_has_happened(
    keeping: Keeping, monkeypatch: pytest.MonkeyPatch
) -> None:
    await keeping.hand_in()
    await keeping.hand_in(expire_at=None)
    doom = unused_objects.doom

    async def killed(*given: Any) -> None:
        await doom(*given)
        raise RuntimeError("on purpose")

    with monkeypatch.context() as patched:
        patched.setattr(unused_objects, "doom", killed)
        with pytest.raises(RuntimeError, match="on purpose"):
            await keeping.loop.expire()
    assert await keeping.world.rows(to_delete) == []
    assert await keeping.loop.expire() == 1


async def test_a_store_that_is_away_is_asked_again(keeping: Keeping, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*_: Any) -> None:
        raise Unavailable("The store is away, on purpose.")

    await keeping.hand_in()
    await keeping.hand_in(expire_at=None)
    await keeping.loop.expire()
    with monkeypatch.context() as patched:
        patched.setattr(ObjectStore, "delete", away)
        assert await keeping.loop.delete_unused() == 0
    assert len(keeping.files()) == 2
    assert await keeping.loop.delete_unused() == 1
