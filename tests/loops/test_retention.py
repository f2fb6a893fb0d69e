"""What is too old goes with all it had, and nothing else does."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, insert, select, update
from sqlmodel import SQLModel

from domain.pipelines.status import Status
from git.repository import LOOSE_REFS, Repositories
from git.transport.snapshot import KEPT
from loops.retention import RetentionLoop
from models.columns import table_of
from models.repositories.artifacts import artifacts
from models.tables.accounts import AccessToken
from models.tables.artifacts import ObjectToDelete
from models.tables.contributions import Contribution
from models.tables.environments import Deployment, Environment, Release
from models.tables.incoming_hooks import IncomingDelivery, IncomingHook
from models.tables.logs import Trace
from models.tables.outbox import Push
from models.tables.projects import Project
from models.tables.subscriptions import SubscribedRun
from settings import Retention
from tests.git.serving import git, new_work_tree
from tests.models.world import World, job, pipeline

DAY = 86_400
ONE = "one: {script: x}\n"

to_delete = table_of(ObjectToDelete)
project = table_of(Project)


class House:
    """A world with a repository, and the loop that keeps it."""

    def __init__(self, world: World, folder: Path) -> None:
        self.world = world
        self.folder = folder
        self.repositories = Repositories(folder / "repositories")
        self.retention = Retention(pipelines_kept=7 * DAY)

    @property
    def loop(self) -> RetentionLoop:
        """The loop, with the policy as it is now."""
        return RetentionLoop(self.world.database, self.repositories, self.world.now, self.retention)

    async def repository(self) -> None:
        """One with a branch `main`."""
        repository = await self.repositories.create(self.world.project_id, "main")
        self.sha = await new_work_tree(self.folder / "tree", {"a": "a"})
        await git("push", "-q", repository.path, "main", cwd=self.folder / "tree")
        self.repository_of = repository

    async def old(self, *, ref: str = "main", status: Status = Status.SUCCESS, days: float = 8, **values: Any) -> int:
        """A pipeline that ended so many days ago, with a log and an artifact in the store."""
        key = await self.world.create(ONE, ref)
        await self.world.settle(key)
        ended = self.world.now() - timedelta(days=days)
        job_id = (await self.world.row(job, pipeline_id=key)).id
        async with self.world.database.write() as connection:
            wish = {"status": status, "finished_at": ended, **values}
            await connection.execute(update(pipeline).where(pipeline.c.id == key).values(**wish))
            await connection.execute(update(job).where(job.c.id == job_id).values(status=status))
            trace = {"generation": 0, "size": 1, "crc": 1, "frozen": True, "copied": True, "stored": True}
            await connection.execute(insert(table_of(Trace)).values(job_id=job_id, **trace))
            await artifacts.add(
                connection,
                ended,
                job_id=job_id,
                project_id=self.world.project_id,
                file_type="archive",
                file_format="zip",
                filename="a",
                size=1,
                sha256="",
                object_key=f"artifact-{key}",
            )
        return key

    async def left(self) -> list[int]:
        """The pipelines there are."""
        async with self.world.database.read() as connection:
            return list((await connection.execute(select(pipeline.c.id).order_by(pipeline.c.id))).scalars())

    async def write(self, statement: Any) -> Any:
        """One statement; the id of a row that it inserts."""
        async with self.world.database.write() as connection:
            result = await connection.execute(statement)
            key = result.inserted_primary_key if result.is_insert else None
            return None if key is None else key[0]


@pytest.fixture
def house(world: World, tmp_path: Path) -> House:
    """A house without pipelines."""
    return House(world, tmp_path)


async def test_an_old_pipeline_goes_with_all_rows_objects_and_its_ref(house: House) -> None:
    await house.repository()
    gone = [await house.old(), await house.old(status=Status.FAILED)]
    kept = [await house.old(days=6), await house.old()]
    for key in (*gone, *kept):
        await house.repository_of.keep(key, house.sha)
    jobs = {key: (await house.world.row(job, pipeline_id=key)).id for key in gone}
    assert await house.loop.remove_pipelines() == 2
    assert await house.left() == kept
    async with house.world.database.read() as connection:
        for table in SQLModel.metadata.sorted_tables:
            for column, ids in (("pipeline_id", gone), ("job_id", list(jobs.values()))):
                if column in table.c:
                    count = select(func.count()).select_from(table).where(table.c[column].in_(ids))
                    assert (await connection.execute(count)).scalar() == 0, table.name
        doomed = set((await connection.execute(select(to_delete.c.object_key).where(to_delete.c.doomed))).scalars())
    logs = {
        f"projects/{house.world.project_id}/jobs/{job_id}/trace-0.{kind}"
        for job_id in jobs.values()
        for kind in ("log", "index")
    }
    assert doomed == {f"artifact-{key}" for key in gone} | logs
    assert {ref.name for ref in await house.repository_of.refs(KEPT.rstrip("/"))} == {f"{KEPT}{key}" for key in kept}
    assert await house.loop.remove_pipelines() == 0


async def test_what_has_not_ended_stays_with_its_family(house: House) -> None:
    await house.write(update(project).values(keep_latest_artifacts=False))
    running = await house.old(status=Status.RUNNING)
    manual = await house.old(status=Status.MANUAL)
    parent = await house.old()
    child = await house.old(status=Status.RUNNING, upstream_id=parent, root_id=parent, source="parent_pipeline")
    brother = await house.old(upstream_id=parent, root_id=parent, source="parent_pipeline")
    lone = await house.old()
    assert await house.loop.remove_pipelines() == 1
    assert await house.left() == [running, manual, parent, child, brother]
    assert lone not in await house.left()
    await house.write(update(pipeline).where(pipeline.c.id == child).values(status=Status.SUCCESS))
    assert await house.loop.remove_pipelines() == 3
    assert await house.left() == [running, manual]


async def test_the_latest_of_a_ref_stays_while_the_project_wants_it_and_the_ref_is_there(house: House) -> None:
    await house.repository()
    latest, failed_before = await house.old(), await house.old(status=Status.FAILED)
    failed_after = await house.old(status=Status.FAILED)
    gone_branch = await house.old(ref="gone")
    assert await house.loop.remove_pipelines() == 2
    assert await house.left() == [latest, failed_after]
    assert gone_branch not in await house.left()
    assert failed_before not in await house.left()
    await house.write(update(project).values(keep_latest_artifacts=False))
    await house.loop.remove_pipelines()
    assert await house.left() == []


async def test_what_a_release_or_an_environment_needs_stays(house: House) -> None:
    await house.write(update(project).values(keep_latest_artifacts=False))
    released, tagged, older, deployed, plain = [await house.old() for _ in range(5)]
    now = house.world.now()
    ids = {"project_id": house.world.project_id, "user_id": house.world.user_id}
    await house.write(update(pipeline).where(pipeline.c.id == tagged).values(ref="v2", tag=True))
    release = {"sha": "c0ffee", "milestones": [], "assets": {}, "released_at": now, "created_at": now, **ids}
    made_by = (await house.world.row(job, pipeline_id=released)).id
    await house.write(insert(table_of(Release)).values(tag="v1", name="v1", job_id=made_by, **release))
    await house.write(insert(table_of(Release)).values(tag="v2", name="v2", job_id=None, **release))
    place = {"name": "live", "slug": "live", "tier": "production", "created_at": now, "updated_at": now}
    environments = table_of(Environment)
    await house.write(insert(environments).values(project_id=house.world.project_id, state="available", **place))
    where = (await house.world.row(environments, name="live")).id
    for number, key in enumerate((older, deployed), 1):
        job_id = (await house.world.row(job, pipeline_id=key)).id
        facts = {"ref": "main", "sha": "c0ffee", "created_at": now, "iid": number, **ids}
        await house.write(
            insert(table_of(Deployment)).values(environment_id=where, job_id=job_id, pipeline_id=key, **facts)
        )
    assert await house.loop.remove_pipelines() == 2
    assert await house.left() == [released, tagged, deployed]
    assert plain not in await house.left()
    await house.write(update(environments).values(state="stopped"))
    assert await house.loop.remove_pipelines() == 1


async def test_a_project_says_otherwise(house: House) -> None:
    await house.write(update(project).values(keep_latest_artifacts=False, ci_delete_pipelines_in_seconds=0))
    await house.old()
    assert await house.loop.remove_pipelines() == 0
    house.retention = Retention(pipelines_kept=0)
    assert await house.loop.remove_pipelines() == 0
    await house.write(update(project).values(ci_delete_pipelines_in_seconds=DAY))
    assert await house.loop.remove_pipelines() == 1


async def test_two_loops_remove_each_pipeline_once(house: House) -> None:

    await house.write(update(project).values(keep_latest_artifacts=False))
    for _ in range(45):
        await house.old()
    counts = await asyncio.gather(house.loop.remove_pipelines(), house.loop.remove_pipelines())
    assert sum(counts) == 45
    assert await house.left() == []


async def test_refs_that_a_killed_process_left_go_at_the_next_start(house: House) -> None:
    await house.repository()
    kept = await house.old()
    for key in (kept, kept + 1, kept + 2):
        await house.repository_of.keep(key, house.sha)
    await git("pack-refs", "--all", cwd=house.repository_of.path)
    assert await house.loop.sweep_refs() == 2
    assert [ref.name for ref in await house.repository_of.refs(KEPT.rstrip("/"))] == [f"{KEPT}{kept}"]


async def test_refs_of_many_pipelines_are_packed_and_still_there(house: House) -> None:
    await house.repository()
    assert await house.loop.pack_refs() == 0
    for key in range(1, LOOSE_REFS + 2):
        await house.repository_of.keep(key, house.sha)
    (house.repository_of.path / "packed-refs.lock").touch()  # another process packs
    assert await house.loop.pack_refs() == 0
    (house.repository_of.path / "packed-refs.lock").unlink()
    assert await house.loop.pack_refs() == 1
    assert not list((house.repository_of.path / "refs" / "pipelines").iterdir())
    assert len(await house.repository_of.refs(KEPT.rstrip("/"))) == LOOSE_REFS + 1
    assert await house.loop.pack_refs() == 0


async def test_rows_that_nobody_needs_go_after_their_time(house: House) -> None:
    token, push = table_of(AccessToken), table_of(Push)
    now = house.world.now()
    tokens = {"user_id": house.world.user_id, "scopes": ["api"], "created_at": now}
    ends: list[dict[str, Any]] = [
        {"revoked_at": now - timedelta(days=31), "expires_on": None},
        {"revoked_at": None, "expires_on": (now - timedelta(days=32)).date()},
        {"revoked_at": now - timedelta(days=29), "expires_on": None},
        {"revoked_at": None, "expires_on": None},
    ]
    for number, end in enumerate(ends):
        await house.write(insert(token).values(name=str(number), token_hash=str(number), **end, **tokens))
    pushes = {"project_id": house.world.project_id, "user_id": house.world.user_id, "updates": [], "options": []}
    for done in (now - timedelta(days=8), now - timedelta(days=6), None):
        await house.write(insert(push).values(done_at=done, created_at=now - timedelta(days=9), **pushes))
    assert await house.loop.remove_dead_rows() == 3
    async with house.world.database.read() as connection:
        assert list((await connection.execute(select(token.c.name).order_by(token.c.name))).scalars()) == ["2", "3"]
        assert (await connection.execute(select(func.count()).select_from(push))).scalar() == 2
    house.retention = Retention(dead_tokens_kept=0, pushes_kept=0)
    assert await house.loop.remove_dead_rows() == 0


async def test_what_others_told_goes_after_its_time(house: House) -> None:
    hook, delivery, run = table_of(IncomingHook), table_of(IncomingDelivery), table_of(SubscribedRun)
    now, by = house.world.now(), {"user_id": house.world.user_id}
    hook_id = await house.write(
        insert(hook).values(project_id=house.world.project_id, forge="github", secret="s", created_at=now, **by)
    )
    for number, days in enumerate((91, 89, None)):
        done = None if days is None else now - timedelta(days=days)
        times = {"created_at": now - timedelta(days=92), "not_before": now, "done_at": done}
        told = {"hook_id": hook_id, "delivery_id": str(number), "event": "push", "request": {}}
        await house.write(insert(delivery).values(**told, **times))
        upstream = await house.world.create(ONE, "main")
        await house.write(insert(run).values(project_id=house.world.project_id, upstream_id=upstream, **by, **times))
    assert await house.loop.remove_dead_rows() == 2
    for table in (delivery, run):
        async with house.world.database.read() as connection:
            assert (await connection.execute(select(func.count()).select_from(table))).scalar() == 2


async def test_events_of_people_go_after_three_years(house: House) -> None:
    table, now = table_of(Contribution), house.world.now()
    made = {"project_id": house.world.project_id, "author_id": house.world.user_id, "action": "joined"}
    nothing = {"target_type": "", "target_title": "", "push": {}}
    for age in (3 * 365 + 1, 3 * 365 - 1):
        await house.write(insert(table).values(**made, **nothing, created_at=now - timedelta(days=age)))
    assert await house.loop.remove_dead_rows() == 1
    house.retention = Retention(contributions_kept=DAY)
    assert await house.loop.remove_dead_rows() == 1
