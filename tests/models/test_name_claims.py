"""The pod's own claims on names, on both databases."""

from datetime import timedelta

from domain.pods.claims import ClaimKind
from domain.pods.own_claims import NEXT, NOTED_FOR, OwnClaim
from models.repositories.accounts import accounts
from models.repositories.installation import name_claims
from models.repositories.namespaces import namespaces
from models.session import Database
from tests.models.world import BEGIN

PATH, EMAIL = ClaimKind.PATH, ClaimKind.EMAIL


async def states(database: Database) -> dict[str, str]:
    """Of each claim, by its id."""
    async with database.read() as connection:
        return {row.claim_id: row.state for row in await name_claims.of_ids(connection, ["a", "b", "c"])}


async def test_a_claim_goes_only_where_the_table_leads(database: Database) -> None:
    for before in OwnClaim:
        for after in OwnClaim:
            async with database.write() as connection:
                await connection.execute(name_claims.name_claim.delete())
                await name_claims.note(connection, "a", PATH, "acme", BEGIN)
                await connection.execute(name_claims.name_claim.update().values(state=before))
                turned = await name_claims.turn(connection, ["a", "b"], after)
            assert turned == (after in NEXT[before])
            assert (await states(database))["a"] == (after if turned else before)


async def test_what_is_noted_for_too_long_is_dropped_and_then_cannot_be_used(database: Database) -> None:
    async with database.write() as connection:
        await name_claims.note(connection, "a", PATH, "old", BEGIN)
        await name_claims.note(connection, "b", PATH, "new", BEGIN + NOTED_FOR)
        assert await name_claims.drop_abandoned(connection, BEGIN + NOTED_FOR + timedelta(seconds=1)) == 1
        assert await name_claims.turn(connection, ["a", "b"], OwnClaim.USED, 7) == 1
        due = await name_claims.due(connection, 10)
    assert [(row.claim_id, row.state, row.organisation_id) for row in due] == [
        ("a", "dropped", None),
        ("b", "used", 7),
    ]
    async with database.write() as connection:
        await name_claims.forget(connection, "a")
        await name_claims.forget(connection, "b")  # it is used: nothing forgets it
        assert await name_claims.known_among(connection, ["a", "b", "c"]) == {"b"}


async def test_names_in_use_are_found_until_they_are_claimed(database: Database) -> None:
    async with database.write() as connection:
        key = await namespaces.create(connection, "Acme", "Acme", BEGIN)
        parent = await namespaces.get_by(connection, key=key)
        await namespaces.create(connection, "within", "within", BEGIN, parent=parent)
        ada = await accounts.create_user(connection, "Ada", "Ada", "Ada@example.org", BEGIN)
        await accounts.create_user(connection, "bot", "bot", "bot@noreply.invalid", BEGIN, bot=True)
        await namespaces.create(connection, "Ada", "Ada", BEGIN, kind="user", owner_id=ada)
        found = await name_claims.unclaimed(connection, 100)
        assert found == [(PATH, "acme", key), (PATH, "ada", None), (EMAIL, "ada@example.org", None)]
        for claim_id, (kind, name, organisation_id) in zip("abc", found, strict=True):
            await name_claims.adopt(connection, claim_id, kind, name, organisation_id, BEGIN)
        assert await name_claims.unclaimed(connection, 100) == []
        await name_claims.drop_name(connection, PATH, "acme")
    assert await states(database) == {"a": "dropped", "b": "used", "c": "used"}
