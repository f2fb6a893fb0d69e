"""Visits between pods, on both databases."""

import asyncio
from datetime import timedelta

from domain.pods.claims import ClaimKind
from models.repositories.accounts import accounts, visits
from models.repositories.installation import name_claims
from models.session import Database
from tests.models.world import BEGIN

HOUR = timedelta(hours=1)


async def person(database: Database, username: str) -> int:
    async with database.write() as connection:
        return await accounts.create_user(connection, username, username, f"{username}@example.com", BEGIN)


async def visitor(database: Database, username: str, home_id: int | None = None) -> int | None:
    values = {"name": username, "email": f"{username}@home.example", "home_pod": 7, "home_id": home_id}
    async with database.write() as connection:
        return await visits.add(connection, username, BEGIN, **values)


async def test_where_somebody_went_and_when_last(database: Database) -> None:
    ada, bob = await person(database, "ada"), await person(database, "bob")
    async with database.write() as connection:
        for number, hours in ((3, 0), (1, 1), (3, 2)):
            await visits.note_ticket(connection, ada, number, BEGIN + hours * HOUR)
    async with database.read() as connection:
        found = [(row.pod_number, row.last_ticket_at) for row in await visits.of_person(connection, ada)]
        assert found == [(1, BEGIN + HOUR), (3, BEGIN + 2 * HOUR)]
        assert await visits.of_person(connection, bob) == []


async def test_a_ticket_is_taken_once_by_whoever_comes_first(database: Database) -> None:
    async def take(ticket: str) -> bool:
        async with database.write() as connection:
            return await visits.use_ticket(connection, ticket, BEGIN + HOUR, BEGIN)

    assert sorted(await asyncio.gather(*(take("7 a") for _ in range(8)))) == [False] * 7 + [True]
    assert await take("8 a")
    async with database.write() as connection:
        assert not await visits.use_ticket(connection, "7 a", BEGIN + HOUR, BEGIN + HOUR)
        assert await visits.use_ticket(connection, "7 b", BEGIN + 3 * HOUR, BEGIN + 2 * HOUR)
        rows = (await connection.execute(visits.used_ticket.select())).all()
    assert [row.ticket_id for row in rows] == ["7 b"], "what nobody would take any more is forgotten"


async def test_a_visitor_is_found_by_home_and_by_name_and_signs_in_by_neither(database: Database) -> None:
    key = await visitor(database, "Ada", 12)
    assert key is not None
    assert await visitor(database, "Ada", 13) is None
    assert await visitor(database, "other", 12) is None
    assert await visitor(database, "one") is not None
    assert await visitor(database, "two") is not None, "several are expected"
    async with database.read() as connection:
        for found in (await visits.by_home(connection, 7, 12), await visits.by_name(connection, "aDA")):
            assert found is not None
            assert (found.id, found.home_pod, found.state, found.password_hash) == (key, 7, accounts.ACTIVE, "")
        assert await visits.by_home(connection, 7, 13) is None
        assert await visits.by_home(connection, 1, 12) is None
        assert await visits.by_name(connection, "nobody") is None
        for login in ("Ada", "ada@home.example"):
            assert await accounts.by_login(connection, login) is None


async def test_an_address_that_a_visitor_has_too_signs_its_own_person_in(database: Database) -> None:
    own = await person(database, "ada")
    async with database.write() as connection:
        values = {"name": "A", "email": "ada@example.com", "home_pod": 7, "home_id": 1}
        assert await visits.add(connection, "lovelace", BEGIN, **values) is not None
        found = await accounts.by_login(connection, "ada@example.com")
    assert found is not None
    assert found.id == own


async def test_names_of_visitors_are_not_claimed_here(database: Database) -> None:
    await person(database, "bob")
    await visitor(database, "Ada", 12)
    async with database.read() as connection:
        found = {(kind, name) for kind, name, _ in await name_claims.unclaimed(connection, 100)}
    assert found == {(ClaimKind.PATH, "bob"), (ClaimKind.EMAIL, "bob@example.com")}
