"""A move between two pods and one directory, killed before and after everything that it writes."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Update, select, update

from application.moves import moving
from application.moves.away import FRESH, away_of
from application.moves.moving import Moved, Moving, Options
from application.moves.pod_place import PodPlace
from application.moves.sealed import opened
from application.moves.tag_sets import missing
from auth.encryption import Sealer
from domain.errors import NotFound, PerdureError, Refused
from domain.object_keys import secure_file_key, trace_key
from domain.pods.directory import IdKind
from domain.pods.moving import Move
from domain.pods.routing import Head
from git.transport.copying import all_refs
from loops.moved_away import MovedAwayLoop
from models.columns import table_of
from models.repositories.accounts import accounts, members, visits
from models.repositories.installation.name_claims import name_claim
from models.repositories.moves import moves, stored_objects
from models.repositories.moves.ownership import carried, own_rules, people_columns
from models.repositories.pipelines import outbox
from models.repositories.pipelines.cross_pod import pipeline, upstream
from models.repositories.pipelines.job_rows import job
from models.repositories.runners import runners
from models.session import Database
from models.tables.artifacts import Artifact, ObjectToDelete
from models.tables.logs import Trace
from models.tables.mirrors import Mirror
from models.tables.outbox import Push
from models.tables.projects import Project
from models.tables.queue import Lease, QueueDemand, QueueDemandTag
from models.tables.secure_files import SecureFile
from models.tables.uploads import ProjectUpload
from pods.directory_client import DirectoryClient
from rigs.postgres import fresh_database
from tests.amounts import amount
from tests.application.pods.cluster_of_two import Killed, Line, OnePod, Two, cluster_of_two
from tests.git.serving import git
from tests.models.moves.furnished import MOMENT, Furnished, make_people

pytestmark = pytest.mark.slow
"""A pod that is filled and moved for each test; a second and more of each."""

PATH = "acme"
EVERYWHERE = 20
"""More writes than a move has."""

artifact = table_of(Artifact)
secure_file = table_of(SecureFile)
upload = table_of(ProjectUpload)


@dataclass
class Death:
    """Kills at the write with this number, before or after it is done."""

    at: int = 0
    done: bool = False
    writes: int = 0

    @asynccontextmanager
    async def around(self) -> AsyncIterator[None]:
        """A write is the block's; it is undone when it is killed before its end."""
        self.writes += 1
        mine = self.writes == self.at
        yield
        if mine and not self.done:
            raise Killed

    def after(self) -> None:
        """The write is done."""
        if self.writes == self.at and self.done:
            raise Killed


class MortalDatabase(Database):
    """A database whose user may die."""

    def __init__(self, pod: OnePod, death: Death) -> None:
        super().__init__(pod.services.database.url)
        self._death = death

    @asynccontextmanager
    async def write(self, *, is_long: bool = False) -> AsyncIterator[Any]:
        """One write."""
        async with super().write(is_long=is_long) as connection, self._death.around():
            yield connection
        self._death.after()


class MortalDirectory(DirectoryClient):
    """A directory whose caller may die."""

    death: Death

    async def _call(self, method: str, path: str, **options: Any) -> Any:
        if method == "GET":
            return await super()._call(method, path, **options)
        self.death.writes += 1
        if self.death.writes == self.death.at and not self.death.done:
            raise Killed
        found = await super()._call(method, path, **options)
        self.death.after()
        return found


@dataclass
class World:
    """An organisation in a cluster of two pods."""

    two: Two
    made: Furnished
    ended: list[int] = field(default_factory=list)
    states: list[Move] = field(default_factory=list)

    @asynccontextmanager
    async def mover(self, source: OnePod, target: OnePod, death: Death | None = None) -> AsyncIterator[Moving]:
        """Who moves it, and may be killed."""
        death = death or Death()
        async with AsyncExitStack() as exits:
            client = MortalDirectory("http://directory", lambda: self.two.directory.admin, Line(self.two.directory))
            client.death = death
            await exits.enter_async_context(client)
            here, there = (replace(place_of(pod), database=MortalDatabase(pod, death)) for pod in (source, target))
            for place in (here, there):
                exits.push_async_callback(place.database.close)
            yield Moving(here, there, client, self.end, source.clock, Options(wait=0), self.tell)

    async def move(self, source: OnePod, target: OnePod, death: Death | None = None) -> Moved:
        async with self.mover(source, target, death) as mover:
            return await mover.run(PATH)

    async def call_off(self, source: OnePod, target: OnePod, death: Death | None = None) -> Moved:
        async with self.mover(source, target, death) as mover:
            return await mover.call_off(PATH)

    async def end(self, pipelines: Mapping[int, str], groups: Sequence[int]) -> None:
        assert groups
        self.ended = list(pipelines)

    def tell(self, state: Move, words: str) -> None:
        assert words
        self.states.append(state)

    async def rows(self, pod: OnePod) -> dict[str, list[dict[str, Any]]]:
        """Its rows in a pod, with what is sealed opened, and people by their names."""
        read, rules = opened(pod.services.sealer), own_rules(self.made.organisation_id)
        found = {}
        async with pod.services.database.read() as connection:
            for table, belonging in carried():
                statement = select(table).where(rules[table.name]).order_by(*table.primary_key.columns)
                rows = (await connection.execute(statement)).mappings()
                found[table.name] = [
                    {
                        name: value
                        for name, value in read(table.name, dict(row)).items()
                        if name not in {*belonging.anew, *belonging.people_lists, *people_of(table.name)}
                    }
                    for row in rows
                ]
        return {name: rows for name, rows in found.items() if rows}

    async def home(self) -> int:
        """The pod that the directory names."""
        status, document = await self.two.directory.call("GET", "/v1/directory")
        assert status == 200
        return int(document["organisations"][PATH])

    async def round(self) -> None:
        """Both pods compare their claims with the directory, as at their start."""
        for pod in self.two.pods:
            await pod.round()

    async def beside(self, pod: OnePod) -> tuple[dict[str, bytes], dict[int, dict[str, str]]]:
        """Objects (secure files as they are) and refs that the pod has for its rows."""
        objects, place = {}, place_of(pod)
        async with pod.services.database.read() as connection:
            async for one in stored_objects.objects_of(connection, self.made.organisation_id):
                content = b"".join([chunk async for chunk in place.store.read(one.key)])
                objects[one.key] = place.sealer.open_bytes(content, one.key) if one.is_sealed else content
        refs = {key: await all_refs(place.repositories.get(key)) for key in self.made.ids["project"]}
        return objects, refs


def people_of(name: str) -> list[str]:
    """Columns with ids of people, which each pod calls otherwise."""
    table, belonging = next((table, belonging) for table, belonging in carried() if table.name == name)
    return people_columns(table, belonging)


def place_of(pod: OnePod) -> PodPlace:
    services = pod.services
    return PodPlace(
        services.settings.pod, pod.number, services.database, services.store, services.repositories, services.sealer
    )


@asynccontextmanager
async def world_in(folder: Path, urls: tuple[str, str]) -> AsyncIterator[World]:
    """An organisation in the first pod, with rows in every table, objects and repositories."""
    async with cluster_of_two(folder, urls) as two:
        source = two.pods[0]
        services = source.services
        async with services.database.write() as connection:
            people = await make_people(connection, "ada", "bob", "a_bot")
            made = Furnished(connection, services.sealer, PATH, people)
            await made.make()
            await connection.execute(update(table_of(Trace)).values(copied=True))
            plain = (artifact, upload)
            keys = {(table, row): f"projects/1/{table.name}-{row}" for table in plain for row in made.ids[table.name]}
            for (table, row), key in keys.items():
                await connection.execute(update(table).where(table.c.id == row).values(object_key=key))
            sealed = {row: secure_file_key(1, f"unique-{row}") for row in made.ids["secure_file"]}
            for row, key in sealed.items():
                await connection.execute(update(secure_file).where(secure_file.c.id == row).values(object_key=key))
            traces = (await connection.execute(select(table_of(Trace).c.job_id, table_of(Trace).c.generation))).all()
            jobs = stored_objects.job
            projects = dict((await connection.execute(select(jobs.c.id, jobs.c.project_id))).all())
        for key in keys.values():
            await services.store.put(key, key.encode())
        for row, key in sealed.items():
            await services.store.put(key, services.sealer.seal_bytes(b"secure %d" % row, key))
        for job_id, generation in traces:
            await services.store.put(trace_key(projects[job_id], job_id, generation), b"log %d" % job_id)
        for project_id in made.ids["project"]:
            repository = await services.repositories.create(project_id, "trunk")
            await commit_to(repository.path, folder / f"tree-{project_id}", f"file of {project_id}")
        await source.round()
        yield World(two, made)


async def commit_to(repository: Path, tree: Path, text: str) -> None:
    """A commit on the branch `trunk`, one that only a pipeline names, and a tag."""
    await git("init", "-q", "-b", "trunk", tree, cwd=tree.parent)
    (tree / "file").write_text(text)
    await git("add", ".", cwd=tree)
    await git("commit", "-q", "-m", "One", cwd=tree)
    await git("push", "-q", str(repository), "trunk:refs/heads/trunk", "trunk:refs/tags/v1", cwd=tree)
    for hidden in ("refs/pipelines/7", "refs/keep-around/x"):
        await git("update-ref", hidden, "refs/heads/trunk", cwd=repository)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No other process has to notice anything."""
    monkeypatch.setattr(moving, "NOTICED", 0.0)


@pytest.fixture(params=["sqlite", "postgresql"])
async def world(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[World]:
    async with AsyncExitStack() as exits:
        urls = ("", "")
        if request.param == "postgresql":
            server = str(request.getfixturevalue("postgres"))
            one, other = [await exits.enter_async_context(fresh_database(server)) for _ in range(2)]
            urls = one, other
        yield await exits.enter_async_context(world_in(tmp_path, urls))


async def test_everything_moves_and_comes_back(world: World) -> None:
    one, other = world.two.pods
    rows, beside = await world.rows(one), await world.beside(one)
    assert len(beside[0]) == 12
    assert all(len(refs) == 4 for refs in beside[1].values())
    done = await world.move(one, other)
    assert world.states == [Move.COPYING, Move.DRAINING, Move.HELD, Move.PACKED, Move.ARRIVED]
    assert (done.state, done.objects, done.repositories, done.refs) == (Move.SWITCHED, 12, 3, 12)
    assert done.rows == {name: len(found) for name, found in rows.items()}
    assert world.ended == world.made.ids["pipeline"]
    assert (await world.rows(one), await world.rows(other)) == ({}, rows)
    assert await world.beside(other) == beside
    assert await world.home() == 1
    await world.round()
    assert await world.home() == 1
    # What is left in the first pod waits for its time, and must not go once the organisation is back.
    await world.move(other, one)
    one.clock.later = timedelta(days=2)
    assert await forget(one) == 0
    assert (await world.rows(one), await world.rows(other)) == (rows, {})
    assert await world.beside(one) == beside
    assert await world.home() == 0


async def test_homes_are_to_hear_where_people_are_by_a_move_that_counts(world: World) -> None:
    """Of the organisation's people one is at home here, one in the target, and one in a third pod."""
    one, other = world.two.pods
    ada, bob = world.made._people[:2]
    async with other.services.database.write() as connection:
        (dora,) = await make_people(connection, "dora")
    async with one.services.database.write() as connection:
        for name, home_pod, home_id in (("carol", 7, 47), ("dora", other.number, dora), ("expected", 7, None)):
            (person,) = await make_people(connection, name)
            await accounts.change(connection, person, home_pod=home_pod, home_id=home_id)
            await members.add_to_group(connection, world.made.organisation_id, person, 30)
    with pytest.raises(Killed):
        await world.move(one, other, Death(6))
    await world.call_off(one, other)
    assert await brought(one, ada, bob) == ([], [])
    await world.move(one, other)
    assert await brought(one, ada, bob) == ([(ada, 1), (bob, 1)], [(7, 47, 1)])
    await world.move(other, one)
    assert await brought(other) == ([], [(7, 47, 0)]), "others are at home where it comes to"


async def brought(pod: OnePod, *people: int) -> tuple[list[tuple[int, int]], list[tuple[int, int, int]]]:
    """The pods in which the pod's people are, and what it is to tell the homes of others."""
    async with pod.services.database.read() as connection:
        own = [(person, row.pod_number) for person in people for row in await visits.of_person(connection, person)]
        due = await visits.brought_due(connection, pod.clock(), 100)
    return own, sorted((row.home_pod, row.home_id, row.pod_number) for row in due)


async def forget(pod: OnePod) -> int:
    services = pod.services
    return await MovedAwayLoop(services.database, services.repositories, pod.clock).forget_due()


async def test_what_was_left_is_forgotten_after_the_grace_time(world: World) -> None:
    one, other = world.two.pods
    _, refs = await world.beside(one)
    objects, _ = await world.beside(one)
    await world.move(one, other)
    assert await forget(one) == 0
    one.clock.later = timedelta(hours=25)
    assert await forget(one) == 1
    assert await forget(one) == 0
    async with one.services.database.read() as connection:
        kept = await connection.execute(select(moves.moved_row))
        assert kept.all() == []
        doomed = await connection.execute(select(table_of(ObjectToDelete)))
        assert {row.object_key for row in doomed if row.doomed} == set(objects)
    for project_id in refs:
        with pytest.raises(NotFound):
            one.services.repositories.get(project_id)
    # Its objects are not deleted yet when it comes back.
    before = await world.beside(other)
    await world.move(other, one)
    async with one.services.database.read() as connection:
        assert not (await connection.execute(select(table_of(ObjectToDelete)))).all()
    assert await world.beside(one) == before


async def test_a_move_that_is_killed_anywhere_goes_on(world: World) -> None:
    """Forth and back between the two pods, one death each: whoever runs the command again ends it.

    A push leaves out deaths after a write: the next one is before the next write.
    """
    pods, at = world.two.pods, 0
    moments = amount((False,), (False, True))
    rows, beside = await world.rows(pods[0]), await world.beside(pods[0])
    deaths = [Death(at, done) for at in range(1, EVERYWHERE) for done in moments]
    for number, death in enumerate(deaths):
        source, target = pods[number % 2], pods[1 - number % 2]
        try:
            await world.move(source, target, death)
        except Killed:
            at = max(at, death.at)
        await world.round()
        everywhere = {**await world.rows(source), **await world.rows(target)}
        assert everywhere in ({}, rows), "rows are whole, or packed"
        if await is_open(source) or await world.home() != target.number:
            await world.move(source, target)
        assert (await world.rows(source), await world.rows(target)) == ({}, rows), death
        assert await world.beside(target) == beside
        assert await world.home() == target.number
        await world.round()
        assert await world.home() == target.number, "its name is not given back"
        assert await claims_of(world) == [(target.number, "confirmed")]
    assert 8 < at < EVERYWHERE - 1


async def is_open(pod: OnePod) -> bool:
    async with pod.services.database.read() as connection:
        return await moves.open_of(connection, PATH) is not None


async def claims_of(world: World) -> list[tuple[int, str]]:
    """Who has the claim on the path, and how far it is there."""
    found = []
    for pod in world.two.pods:
        async with pod.services.database.read() as connection:
            rows = await connection.execute(select(name_claim.c.state).where(name_claim.c.name == PATH))
            found += [(pod.number, row.state) for row in rows]
    return found


async def test_a_move_that_is_killed_anywhere_can_be_called_off_until_it_has_arrived(world: World) -> None:
    one, other = world.two.pods
    rows, beside = await world.rows(one), await world.beside(one)
    called_off = 0
    for death in (Death(at, done) for at in range(1, EVERYWHERE) for done in (False, True)):
        with pytest.raises(Killed):
            await world.move(one, other, death)
        await world.round()
        if not await is_open(one):
            continue  # it had not begun
        if (await world.rows(other)) == rows:
            with pytest.raises(Refused, match="has arrived in pod pod-1"):
                await world.call_off(one, other)
            break
        with pytest.raises(Killed):
            await world.call_off(one, other, Death(1 + called_off // 2 % 2, done=bool(called_off % 2)))
        if await is_open(one):
            await world.call_off(one, other)
        called_off += 1
        assert (await world.rows(one), await world.rows(other)) == (rows, {}), death
        assert await world.beside(one) == beside
        await world.round()
        assert await claims_of(world) == [(0, "confirmed")]
        assert await world.home() == 0
    assert called_off > 8
    assert (await world.move(one, other)).state is Move.SWITCHED


async def test_what_is_under_way_keeps_it_where_it_is(world: World) -> None:
    one, other = world.two.pods
    job, project = world.made.ids["job"][0], world.made.ids["project"][0]
    values = {
        "project_id": project,
        "user_id": world.made._people[0],
        "updates": [],
        "options": [],
        "created_at": MOMENT,
    }
    for what, table, row in (
        (f"job that a runner holds \\({job}\\)", table_of(Lease), {"job_id": job, "hand_out": 1}),
        ("push that is not over", table_of(Push), values),
    ):
        async with one.services.database.write() as connection:
            await connection.execute(table.insert().values(row))
        with pytest.raises(Refused, match=what):
            await world.move(one, other)
        assert not await is_open(one)
        assert await world.rows(other) == {}
        async with one.services.database.write() as connection:
            await connection.execute(table.delete().where(*(table.c[name] == row[name] for name in list(row)[:1])))
    mirror = table_of(Mirror)
    async with one.services.database.write() as connection:
        held = one.clock() + timedelta(minutes=1)
        await connection.execute(update(mirror).where(mirror.c.project_id == project).values(held_until=held))
    with pytest.raises(Refused, match="mirror that is being pulled"):
        await world.move(one, other)


async def test_a_job_that_is_handed_out_by_who_has_not_noticed_yet_is_awaited(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its runner would meet an organisation that is held, and be taken for silent: the job would run twice."""
    one, other = world.two.pods
    monkeypatch.setattr(moving, "NOTICED", FRESH + 0.5)
    handing_out: list[asyncio.Task[None]] = []
    job_id = world.made.ids["job"][0]

    async def hand_out() -> None:
        await asyncio.sleep(FRESH)  # a process that read just before it was drained reads again after so long
        async with one.services.database.write() as connection:
            await connection.execute(table_of(Lease).insert().values(job_id=job_id, hand_out=1))

    def tell(state: Move, words: str) -> None:
        world.states.append(state)
        if state is Move.DRAINING:
            handing_out.append(asyncio.create_task(hand_out()))

    monkeypatch.setattr(world, "tell", tell)
    with pytest.raises(Refused, match=f"job that a runner holds \\({job_id}\\)"):
        await world.move(one, other)
    assert world.states == [Move.COPYING, Move.DRAINING]
    await asyncio.gather(*handing_out)


async def test_what_is_under_way_between_it_and_other_pods_keeps_it_where_it_is(world: World) -> None:
    one, other = world.two.pods
    jobs, pipelines = job.c.project_id.in_(world.made.ids["project"]), pipeline.c.id.in_(select(upstream.c.pipeline_id))
    here, there = "bridge whose pipeline is in another pod", "pipeline of a bridge in another pod"
    for what, change, back in (
        (here, update(job).where(jobs).values(status="running"), update(job).where(jobs).values(status="success")),
        (
            there,
            update(pipeline).where(pipelines).values(status="running"),
            update(pipeline).where(pipelines).values(status="success"),
        ),
        (there, update(upstream).values(told_status="running"), update(upstream).values(told_status="success")),
    ):
        await refused(world, what, change)
        async with one.services.database.write() as connection:
            await connection.execute(back)
    async with one.services.database.write() as connection:
        named = [world.made.ids["job"][0]]
        await outbox.put(connection, outbox.BRIDGE_ELSEWHERE, world.made.ids["pipeline"][0], MOMENT, job_ids=named)
    await refused(world, here)
    assert await world.rows(other) == {}


async def refused(world: World, what: str, change: Update | None = None) -> None:
    """After this change the move says what it waits for, and is called off."""
    one, other = world.two.pods
    if change is not None:
        async with one.services.database.write() as connection:
            await connection.execute(change)
    with pytest.raises(Refused, match=what):
        await world.move(one, other)
    assert not await is_open(one)


async def test_only_what_is_there_moves_and_only_once(world: World) -> None:
    one, other = world.two.pods
    async with world.mover(one, other) as mover:
        with pytest.raises(NotFound, match="no group at the top with the path nobody"):
            await mover.run("nobody")
        with pytest.raises(NotFound, match="No move of acme is under way"):
            await mover.call_off(PATH)
    with pytest.raises(Killed):
        await world.move(one, other, Death(3))
    async with world.mover(one, one) as mover:
        with pytest.raises(Refused, match="on its way to pod pod-1"):
            await mover.run(PATH)


async def test_what_is_wrong_in_the_other_pod_is_seen_before_it_counts(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that come to something else leave nothing there; the next run brings them right."""
    one, other = world.two.pods
    rows = await world.rows(one)
    right = opened

    def wrong(sealer: Sealer) -> Any:
        read, calls = right(sealer), iter(range(1_000_000))
        return lambda name, row: {**read(name, row), "extra": next(calls) if name == "hook" else 0}

    with monkeypatch.context() as patched:
        patched.setattr(moving, "opened", wrong)
        with pytest.raises(PerdureError, match=r"not what was packed \(hook\)"):
            await world.move(one, other)
    assert (await world.rows(one), await world.rows(other)) == ({}, {})
    await world.move(one, other)
    assert await world.rows(other) == rows


async def test_a_process_knows_for_whom_it_has_no_answer(world: World) -> None:
    one, other = world.two.pods
    with pytest.raises(Killed):
        await world.move(one, other, Death(5))
    async with one.services.database.read() as connection:
        rows = await moves.known_here(connection, one.clock())
    away = away_of([replace(row, state=Move.HELD) for row in rows if row.facts])
    assert away.without_jobs == {world.made.organisation_id}
    project, group, hook = (world.made.ids[name][0] for name in ("project", "namespace", "incoming_hook"))
    for path in (
        "/acme/tool",
        "/Acme/tool.git/info/refs",
        "/groups/acme",
        f"/api/v4/projects/{project}/jobs",
        "/api/v4/projects/acme%2Ftool",
        f"/api/v4/groups/{group}",
        f"/api/hooks/{hook}",
        f"/api/v4/projects/{project}/trigger/pipeline",
    ):
        assert away.is_for_them(Head("GET", path, {})), path
        assert away.is_for_them(Head("POST", path, {})), path
        assert away.is_for_them(Head("GET", path, {"private-token": "glpat-old"})), path
    for path in ("/", "/other/tool", "/api/v4/projects/4000", "/api/v4/jobs/request", "/-/health", "/api/hooks/4000"):
        assert not away.is_for_them(Head("GET", path, {})), path
    assert IdKind.PROJECT in rows[0].facts["ids"]


async def test_it_is_told_before_what_no_runner_there_takes(world: World) -> None:
    one, other = world.two.pods
    demand, job = table_of(QueueDemand), stored_objects.job
    wanted = world.made.ids["queue_demand"][0]
    async with one.services.database.write() as connection:
        keys, root = {"tag_key": '["gpu"]', "tagged": True}, world.made.organisation_id
        await connection.execute(update(demand).where(demand.c.id == wanted).values(keys))
        tags = table_of(QueueDemandTag)
        await connection.execute(tags.delete())
        await connection.execute(tags.insert().values(demand_id=wanted, tag="gpu"))
        await connection.execute(update(job).values(demand_id=wanted, bridge=False))
        await connection.execute(update(runners.runner).values(runner_type="group_type", tags=["arm"]))
        await connection.execute(update(table_of(Project)).values(shared_runners_enabled=True, namespace_id=root))
    source, target = place_of(one), place_of(other)
    assert [found.tags for found in await missing(source, target, PATH, 3660)] == [("gpu",)]
    async with other.services.database.write() as connection:
        await runners.create(connection, "of the instance", other.clock(), tags=["gpu"], contacted_at=other.clock())
    assert await missing(source, target, PATH, 3660) == []
    await world.move(one, other)
    assert await missing(source, target, PATH, 3660) == [], "nothing is asked of what has gone"
