"""A name is one pod's in the whole cluster, whatever dies between the pod's own write and the directory's."""

from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, update

from application.pods import names
from domain.errors import Invalid, PathTaken, Refused, Unavailable
from models.repositories.accounts import accounts
from models.repositories.installation import name_claims
from models.repositories.installation.name_claims import name_claim
from models.repositories.namespaces import group_removal, namespaces
from tests.application.pods.cluster_of_two import Killed, OnePod, Two, cluster_of_two

LATER = timedelta(minutes=2)
STEPS = ("noted", "claimed", "used", "told", "confirmed")
"""After which a process is killed."""


@pytest.fixture
async def two(tmp_path: Path) -> AsyncIterator[Two]:
    async with cluster_of_two(tmp_path) as both:
        yield both


async def test_a_name_is_one_pods_whatever_the_size_of_its_letters(two: Two) -> None:
    one, other = two.pods
    key = await one.add_group("Acme")
    await one.add_person("ada", "Ada@example.org")
    await two.require_agreement()
    document = await two.directory.all()
    assert {"acme", "ada"} <= {path for path, number in document["organisations"].items() if number == one.number}
    for path in ("acme", "ACME", "Ada"):
        with pytest.raises(PathTaken, match="path has already been taken"):
            await other.add_group(path)
    with pytest.raises(Refused, match="Email has already been taken"):
        await other.add_person("bob", "ada@EXAMPLE.org")
    with pytest.raises(Invalid, match="has already been taken"):
        await one.add_group("acme")
    assert key
    await two.require_agreement()


async def test_what_was_not_written_leaves_its_name_free(two: Two) -> None:
    one, other = two.pods
    with pytest.raises(ZeroDivisionError):
        async with names.claimed(one.services, names.path("acme")):
            raise ZeroDivisionError
    await two.require_agreement()
    await other.add_group("acme")
    await two.require_agreement()


async def test_while_the_directory_is_away_only_new_names_wait(two: Two) -> None:
    one, other = two.pods
    await one.add_group("before")
    one.line.is_cut = True
    with pytest.raises(Unavailable, match="The directory of the pods is away, which has to know that the name acme"):
        await one.add_group("acme")
    assert "before" in await one.used()
    await one.round()
    one.line.is_cut = False
    await other.add_group("acme")
    await one.round()
    await two.require_agreement()


async def test_a_confirmation_that_was_not_heard_is_repeated(two: Two) -> None:
    one, other = two.pods
    async with names.claimed(one.services, names.path("acme")) as claimed:
        await one.write_group("acme", claimed)
        one.line.is_cut = True
    assert (await one.states())["acme"] == "used"
    with pytest.raises(PathTaken):
        await other.add_group("acme")
    one.line.is_cut = False
    await one.round()
    await two.require_agreement()


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("is_late", [False, True], ids=["at once", "later"])
async def test_a_process_that_is_killed_leaves_nothing_taken_for_ever(
    two: Two, monkeypatch: pytest.MonkeyPatch, step: str, is_late: bool
) -> None:
    """Another one of the pod goes on: what was written has its name, what was not leaves it to everybody."""
    one, other = two.pods
    with monkeypatch.context() as patch:
        _kill_after(patch, one, step)
        with suppress(Killed):
            await one.add_group("acme")
    one.clock.later = LATER if is_late else timedelta()
    await one.round()
    was_written = "acme" in await one.used()
    assert was_written == (STEPS.index(step) >= STEPS.index("used"))
    if was_written:
        await two.require_agreement()
        with pytest.raises(PathTaken):
            await other.add_group("acme")
    elif is_late:
        await two.require_agreement()
        await other.add_group("acme")
        await two.require_agreement()


def _kill_after(patch: pytest.MonkeyPatch, pod: OnePod, step: str) -> None:
    """Let the process of a pod end after a step: what would come next, and what would tidy up, does not happen."""

    async def die(*_: Any, **__: Any) -> None:
        raise Killed

    patch.setattr(name_claims, "drop_unused", die)
    if step in {"noted", "claimed", "used"}:
        patch.setattr(names, "settle_some", die)
    client = pod.cluster.client
    match step:
        case "noted":
            patch.setattr(client, "claim", die)
        case "claimed":
            patch.setattr(namespaces, "create", die)
        case "told":
            confirm = client.confirm

            async def told(*values: Any) -> None:
                await confirm(*values)
                raise Killed

            patch.setattr(client, "confirm", told)


async def test_who_took_too_long_does_not_get_the_name_any_more(two: Two) -> None:
    one, other = two.pods

    async def write_late() -> None:
        async with names.claimed(one.services, names.path("acme")) as claimed:
            one.clock.later = LATER
            await one.round()
            await other.add_group("acme")
            await one.write_group("acme", claimed)

    with pytest.raises(Unavailable, match="took too long"):
        await write_late()
    await two.require_agreement()


async def test_names_of_before_are_claimed_and_what_two_have_is_said(two: Two) -> None:
    one, other = two.pods
    for pod, paths in ((one, ("shared", "first")), (other, ("shared", "second"))):
        async with pod.services.database.write() as connection:
            for path in paths:
                await namespaces.create(connection, path, path, pod.clock())
    await one.round()
    await other.round()
    assert (await other.states())["shared"] == "refused"
    assert set(await two.claims(one)) >= {"shared", "first"}
    assert "shared" not in await two.claims(other)
    assert (await two.claims(other))["second"] == "confirmed"


async def test_what_is_given_back_is_free(two: Two) -> None:
    one, other = two.pods
    key = await one.add_group("acme")
    async with one.services.database.write() as connection:
        row = await namespaces.get_by(connection, key=key)
        await group_removal.mark(connection, row, one.clock())
        assert await group_removal.remove_empty(connection) == 1
    await one.round()
    await two.require_agreement()
    await other.add_group("acme")


async def test_a_database_that_was_put_back_gives_back_what_it_does_not_know(two: Two) -> None:
    one, other = two.pods
    await one.add_group("kept")
    await one.add_group("lost")
    async with one.services.database.write() as connection:
        await connection.execute(delete(name_claim).where(name_claim.c.name == "lost"))
        await connection.execute(delete(namespaces.namespace).where(namespaces.namespace.c.path == "lost"))
    await one.round()
    await two.require_agreement()
    await other.add_group("lost")


async def test_a_directory_that_was_put_back_is_told_again_what_it_has_lost(two: Two) -> None:
    one, other = two.pods
    await one.add_group("kept")
    status, claims = await two.directory.call("GET", f"/v1/claims?pod={one.number}")
    assert status == 200
    for claim in claims:
        assert (await two.directory.call("DELETE", f"/v1/claims/{claim['claim_id']}"))[0] < 300
    await one.round()
    await two.require_agreement()
    with pytest.raises(PathTaken):
        await other.add_group("kept")


async def test_a_database_that_knows_nothing_gives_nothing_back(two: Two) -> None:
    """It is rather the wrong one."""
    one, _ = two.pods
    await one.add_group("acme")
    async with one.services.database.write() as connection:
        await connection.execute(delete(name_claim))
        await connection.execute(delete(namespaces.namespace))
        await connection.execute(update(accounts.user).values(bot=True))
    before = await two.claims(one)
    await one.round()
    assert await two.claims(one) == before
