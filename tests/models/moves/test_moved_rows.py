"""Rows of every table leave one database and come to another: the same, with the ids that they had."""

from typing import Any

import pytest
from sqlalchemy import insert, select, update
from sqlalchemy.exc import DBAPIError

from application.moves.sealed import opened, resealed
from domain.errors import Refused
from domain.pods.belongings import BELONGINGS, Carried
from domain.pods.directory import BLOCK_BITS
from models.columns import table_of
from models.repositories.accounts import accounts
from models.repositories.installation import installations
from models.repositories.moves import packing, unpacking
from models.repositories.moves.ownership import carried, own_rules, people_columns
from models.repositories.moves.unpacking import Place, Sums
from models.schema import METADATA
from models.tables.accounts import AccessToken
from models.tables.pipelines import Job
from models.tables.projects import Project
from models.tables.runners import Runner
from models.tables.sharing import ProjectShare
from models.tables.subscriptions import PipelineSubscription
from tests.models.moves.conftest import PodDatabase
from tests.models.moves.furnished import MOMENT, Furnished, everything, make_people

pytestmark = pytest.mark.slow
"""A pod that is filled and moved for each test; a second and more of each."""

Pods = tuple[PodDatabase, PodDatabase]
NAMES = ("ada", "bob", "token_bot")


async def furnish(pod: PodDatabase, path: str) -> Furnished:
    """An organisation in a pod, with people and a bot of its own."""
    async with pod.database.write() as connection:
        people = await make_people(connection, *(f"{path}_{name}" for name in NAMES))
        made = Furnished(connection, pod.sealer, path, people)
        await made.make()
    return made


async def rows_of(pod: PodDatabase, organisation_id: int) -> dict[str, list[dict[str, Any]]]:
    """The organisation's rows, by table, with what is sealed in them opened."""
    read = opened(pod.sealer)
    rules = own_rules(organisation_id)
    found = {}
    async with pod.database.read() as connection:
        for table, _ in carried():
            rows = await connection.execute(select(table).where(rules[table.name]).order_by(*table.primary_key.columns))
            found[table.name] = [read(table.name, dict(row)) for row in rows.mappings()]
    return found


async def pack(pod: PodDatabase, organisation_id: int) -> packing.Packed:
    async with pod.database.write() as connection:
        await packing.begin_whole(connection)
        return await packing.pack(connection, "move", organisation_id)


async def unpack(source: PodDatabase, target: PodDatabase) -> tuple[Sums, dict[int, int]]:
    """The move's second half; what the rows come to, and the people by what they were."""
    reseal = resealed(source.sealer, target.sealer)
    async with source.database.read() as packed, target.database.write() as connection:
        place = Place(target.number, reseal, opened(target.sealer))
        people = await unpacking.take_people(connection, packing.packs(packed, "move", people=True), place, MOMENT)
        place = Place(target.number, reseal, opened(target.sealer), people)
        return await unpacking.unpack(connection, packing.packs(packed, "move", people=False), place), people


def expected(rows: dict[str, list[dict[str, Any]]], people: dict[int, int]) -> dict[str, list[dict[str, Any]]]:
    """What the rows are to be in the other pod, by the words of the table of belongings."""
    found = {}
    for table, belonging in carried():
        found[table.name] = [
            {
                **row,
                **{name: people[row[name]] for name in people_columns(table, belonging) if row[name]},
                **{name: [people[each] for each in row[name]] for name in belonging.people_lists},
                **belonging.anew,
            }
            for row in rows[table.name]
        ]
    return found


async def test_every_row_comes_with_its_ids_and_what_is_sealed(pods: Pods) -> None:
    source, target = pods
    mine, other = await furnish(source, "acme"), await furnish(source, "other")
    there = await furnish(target, "there")
    before = await rows_of(source, mine.organisation_id)
    assert all(before[table.name] for table, _ in carried()), "each table has rows"
    beside, beside_there = await rows_of(source, other.organisation_id), await rows_of(target, there.organisation_id)

    packed = await pack(source, mine.organisation_id)
    assert not any((await rows_of(source, mine.organisation_id)).values())
    assert not packed.left_out
    assert packed.counts == {name: len(rows) for name, rows in before.items()}
    sums, people = await unpack(source, target)

    assert await rows_of(target, mine.organisation_id) == expected(before, people)
    assert await rows_of(source, other.organisation_id) == beside
    assert await rows_of(target, there.organisation_id) == beside_there
    async with target.database.read() as connection:
        assert await unpacking.added_up(connection, mine.organisation_id, opened(target.sealer)) == sums
    assert {name: count for name, (count, _) in sums.items()} == packed.counts


async def test_a_row_that_differs_is_seen_in_the_sums(pods: Pods) -> None:
    source, target = pods
    mine = await furnish(source, "acme")
    await pack(source, mine.organisation_id)
    sums, _ = await unpack(source, target)
    job = table_of(Job)
    async with target.database.write() as connection:
        await connection.execute(update(job).where(job.c.id == mine.ids["job"][0]).values(exit_code=99))
    async with target.database.read() as connection:
        after = await unpacking.added_up(connection, mine.organisation_id, opened(target.sealer))
    assert {name for name in sums if sums[name] != after[name]} == {"job"}


async def test_new_ids_are_still_of_the_pods_own_block(pods: Pods) -> None:
    source, target = pods
    mine = await furnish(source, "acme")
    await pack(source, mine.organisation_id)
    await unpack(source, target)
    there = await furnish(target, "there")
    for name, ids in there.ids.items():
        assert {row_id >> BLOCK_BITS for row_id in ids} == {target.number}, name
    async with source.database.read() as connection:
        last = await installations.last_ids(connection)
    assert last["job"] >= max(mine.ids["job"]), "no id is used again where they were"


async def test_people_are_found_by_their_home_and_come_as_visitors_once(pods: Pods) -> None:
    source, target = pods
    mine = await furnish(source, "acme")
    ids = dict(zip(NAMES, mine._people, strict=True))
    async with target.database.write() as connection:
        (bob,) = await make_people(connection, "called_otherwise")
        await accounts.change(connection, bob, home_pod=source.number, home_id=ids["bob"])
    await pack(source, mine.organisation_id)
    _, people = await unpack(source, target)
    assert people[ids["bob"]] == bob
    assert people[ids["ada"]] >> BLOCK_BITS == target.number
    assert people[ids["token_bot"]] == ids["token_bot"], "bots are called by their ids"
    async with target.database.read() as connection:
        rows = (await everything(connection))["account"]
    ada = next(row for row in rows if row["username"] == "acme_ada")
    assert (ada["password_hash"], ada["is_admin"], ada["bot"]) == ("", False, False)
    assert (ada["home_pod"], ada["home_id"]) == (source.number, ids["ada"])


async def test_whom_home_has_blocked_is_blocked_by_home_where_they_come_to(pods: Pods) -> None:
    """So home lets them in there, too; a visitor whom the source has blocked stays blocked."""
    source, target = pods
    mine = await furnish(source, "acme")
    ada, bob = mine._people[:2]
    async with source.database.write() as connection:
        await accounts.change(connection, ada, state="blocked")
        await accounts.change(connection, bob, state="blocked", home_pod=7, home_id=9)
    await pack(source, mine.organisation_id)
    _, people = await unpack(source, target)
    async with target.database.read() as connection:
        states = [(await accounts.get(connection, people[each])).state for each in (ada, bob)]
    assert states == ["blocked_at_home", "blocked"]


async def test_who_is_at_home_in_the_other_pod_is_who_they_are_there(pods: Pods) -> None:
    source, target = pods
    async with target.database.write() as connection:
        (bob,) = await make_people(connection, "renamed")
    mine = await furnish(source, "acme")
    ids = dict(zip(NAMES, mine._people, strict=True))
    async with source.database.write() as connection:
        await accounts.change(connection, ids["bob"], home_pod=target.number, home_id=bob)
    await pack(source, mine.organisation_id)
    _, people = await unpack(source, target)
    assert people[ids["bob"]] == bob


async def test_who_is_expected_by_name_is_found_and_who_only_has_the_name_is_somebody_else(pods: Pods) -> None:
    source, target = pods
    mine = await furnish(source, "acme")
    ids = dict(zip(NAMES, mine._people, strict=True))
    async with target.database.write() as connection:
        (bob,) = await make_people(connection, "ACME_Bob")
        await accounts.change(connection, bob, home_pod=source.number)
    await pack(source, mine.organisation_id)
    async with target.database.write() as connection:
        (ada,) = await make_people(connection, "acme_ada")
    with pytest.raises(Refused, match="Somebody else is called acme_ada"):
        await unpack(source, target)
    async with target.database.write() as connection:
        await accounts.change(connection, ada, username="acme_other")
    _, people = await unpack(source, target)
    assert people[ids["bob"]] == bob
    async with target.database.read() as connection:
        row = await accounts.get(connection, bob)
    assert (row.home_pod, row.home_id) == (source.number, ids["bob"]), "home speaks of them by this id"


async def test_what_is_packed_is_put_back_as_it_was(pods: Pods) -> None:
    source, _ = pods
    mine = await furnish(source, "acme")
    async with source.database.read() as connection:
        before = await everything(connection)
    await pack(source, mine.organisation_id)
    read = opened(source.sealer)
    place = Place(source.number, lambda _, row: row, read, is_new=False)
    async with source.database.write() as connection:
        await unpacking.unpack(connection, packing.packs(connection, "move", people=False), place)
        await packing.forget(connection, "move")
    ended = {"lease"}
    async with source.database.read() as connection:
        after = await everything(connection)
    assert {name: rows for name, rows in after.items() if name not in ended} == {
        name: rows for name, rows in before.items() if name not in ended
    }


async def test_ties_to_others_are_cut_where_they_must_be(pods: Pods) -> None:
    source, target = pods
    mine, other = await furnish(source, "acme"), await furnish(source, "other")
    job, share, project, token = (table_of(each) for each in (Job, ProjectShare, Project, AccessToken))
    runner = table_of(Runner)
    async with source.database.write() as connection:
        made = insert(runner).values(token_hash="instance", created_at=MOMENT).returning(runner.c.id)
        instance = (await connection.execute(made)).scalar_one()
        to_other = {"runner_id": instance, "downstream_id": other.ids["pipeline"][0]}
        await connection.execute(update(job).where(job.c.id == mine.ids["job"][0]).values(to_other))
        to_mine = {"downstream_id": mine.ids["pipeline"][0]}
        await connection.execute(update(job).where(job.c.id == other.ids["job"][0]).values(to_mine))
        fork = {"forked_from_id": mine.ids["project"][0]}
        await connection.execute(update(project).where(project.c.id == other.ids["project"][0]).values(fork))
        for one, group in ((mine, other), (other, mine)):
            shared = {"project_id": one.ids["project"][0], "namespace_id": group.ids["namespace"][0]}
            await connection.execute(insert(share).values(**shared, access_level=30, created_at=MOMENT))
        shares = (await everything(connection))["project_share"]
    packed = await pack(source, mine.organisation_id)
    assert packed.left_out == {"project_share": 1}
    _, _ = await unpack(source, target)
    async with target.database.read() as connection:
        there = await everything(connection)
    moved = next(row for row in there["job"] if row["id"] == mine.ids["job"][0])
    assert (moved["runner_id"], moved["downstream_id"]) == (None, other.ids["pipeline"][0]), "called alike everywhere"
    async with source.database.read() as connection:
        left = await everything(connection)
    stayed = next(row for row in left["job"] if row["id"] == other.ids["job"][0])
    assert stayed["downstream_id"] == mine.ids["pipeline"][0]
    assert next(row for row in left["project"] if row["id"] == other.ids["project"][0])["forked_from_id"] is None
    assert len(left["project_share"]) + len(there["project_share"]) == len(shares) - 2
    assert not {row["project_id"] for row in left["access_token"]} & set(mine.ids["project"])
    assert not {row["namespace_id"] for row in left["access_token"]} & set(mine.ids["namespace"])
    assert {row["id"] for row in left["access_token"]} == set(other.ids["access_token"]), "none becomes a person's own"
    assert token is not None


async def test_an_organisation_comes_once_or_not_at_all(pods: Pods) -> None:
    source, target = pods
    mine = await furnish(source, "acme")
    await pack(source, mine.organisation_id)
    async with target.database.read() as connection:
        before = await everything(connection)
    job = table_of(Job)

    async def dies() -> None:
        async with source.database.read() as packed, target.database.write() as connection:
            place = Place(target.number, lambda _, row: row, lambda _, row: row)
            people = await unpacking.take_people(connection, packing.packs(packed, "move", people=True), place, MOMENT)
            place = Place(target.number, lambda _, row: row, lambda _, row: row, people)
            await unpacking.unpack(connection, packing.packs(packed, "move", people=False), place)
            assert (await connection.execute(select(job.c.id))).scalars().all()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await dies()
    async with target.database.read() as connection:
        assert await everything(connection) == before
    await unpack(source, target)
    with pytest.raises(DBAPIError):
        await unpack(source, target)


async def test_sqlite_takes_no_ids_above_its_own(pods: Pods) -> None:
    """It counts on from the highest id of a table, which would be one of another pod."""
    target, source = pods
    mine = await furnish(source, "acme")
    await pack(source, mine.organisation_id)
    if not target.database.is_sqlite:
        await unpack(source, target)
        there = await furnish(target, "there")
        assert {row_id >> BLOCK_BITS for row_id in there.ids["job"]} == {target.number}
        return
    with pytest.raises(Refused, match="SQLite counts on"):
        await unpack(source, target)
    async with target.database.read() as connection:
        assert not (await everything(connection))["job"]


async def test_tables_that_end_with_the_move_are_empty_of_it(pods: Pods) -> None:
    source, _ = pods
    mine = await furnish(source, "acme")
    lease = METADATA.tables["lease"]
    async with source.database.write() as connection:
        await connection.execute(insert(lease).values(job_id=mine.ids["job"][0], hand_out=1))
    await pack(source, mine.organisation_id)
    async with source.database.read() as connection:
        rows = await everything(connection)
    assert not rows["lease"]
    kept = {name for name, belonging in BELONGINGS.items() if isinstance(belonging, Carried)} & {
        name for name, found in rows.items() if found
    }
    assert not kept, "nobody else was there"


async def test_a_subscription_follows_its_upstream_to_another_pod_and_back(pods: Pods) -> None:
    """Whoever stays, and whoever goes, names the other one as before: ids are of one set (docs/pods.md)."""
    source, target = pods
    mine, other = await furnish(source, "acme"), await furnish(source, "other")
    subscription = table_of(PipelineSubscription)
    pairs = ((mine, other), (other, mine))
    async with source.database.write() as connection:
        for one, upstream in pairs:
            rule = subscription.c.id == one.ids["pipeline_subscription"][0]
            values = {"upstream_project_id": upstream.ids["project"][0], "upstream_path": "", "told_at": MOMENT}
            await connection.execute(update(subscription).where(rule).values(**values))
    await pack(source, mine.organisation_id)
    _, _ = await unpack(source, target)
    for place, (one, upstream) in zip((target, source), pairs, strict=True):
        async with place.database.read() as connection:
            rows = (await everything(connection))["pipeline_subscription"]
        row = next(row for row in rows if row["id"] == one.ids["pipeline_subscription"][0])
        assert row["upstream_project_id"] == upstream.ids["project"][0]
        assert (row["told_at"] is None) is (one is mine), "the pod that it has left is told at once"
