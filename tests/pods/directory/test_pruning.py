"""Claims that were released long ago are forgotten, and nothing else is: whoever follows has the right directory."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, update

from domain.pods.claims import RELEASED_KEPT
from pods.directory import claim_rows
from pods.directory.pruning import prune, pruning
from pods.directory.server import opened
from pods.directory.store import Store
from pods.directory.tables import CLAIMS
from tests.pods.directory.databases import as_of_schema_2
from tests.pods.directory.process import directory_process
from tests.pods.directory.served import Served, an_id, directory_settings, served, take
from tests.waiting import eventually

BLOCK = 2**40
NOW = 2_000_000_000
LONG_AGO = NOW - RELEASED_KEPT


def set_clock(store: Store, second: int) -> None:
    """It is so late from now on."""
    store._now = lambda: second


async def released(directory: Served, second: int, name: str, **more: Any) -> str:
    """A claim of pod 7 that was confirmed, and released then."""
    claim_id = await take(directory, 7, name, **more)
    set_clock(directory.parts.store, second)
    assert (await directory.call("DELETE", f"/v1/claims/{claim_id}", 7))[0] == 204
    set_clock(directory.parts.store, NOW)
    return claim_id


async def known(store: Store, *claim_ids: str) -> list[bool]:
    """Which of these claims there are."""
    found = await store.read(lambda connection: [claim_rows.find_claim(connection, each) for each in claim_ids])
    return [claim is not None for claim in found]


async def test_a_release_is_forgotten_when_its_time_is_over(directory: Served) -> None:
    store = directory.parts.store
    old, newer = await released(directory, LONG_AGO, "old"), await released(directory, LONG_AGO + 1, "newer")
    mail = await released(directory, LONG_AGO, "jo@example.org", kind="email")
    begun = an_id()
    await directory.call("PUT", f"/v1/claims/{begun}", 7, {"kind": "path", "name": "begun", "pod": 7})
    set_clock(store, LONG_AGO)
    await directory.call("DELETE", f"/v1/claims/{begun}", 7)
    set_clock(store, NOW)
    assert await prune(store) == 3
    assert await known(store, old, mail, begun, newer) == [False, False, False, True]
    assert await prune(store) == 0
    again = {"kind": "path", "name": "newer", "pod": 7}
    status, document = await directory.call("PUT", f"/v1/claims/{newer}", 7, again)
    assert (status, "was released" in document["message"]) == (409, True)
    assert (await directory.call("DELETE", f"/v1/claims/{old}", 7))[0] == 204, "a late call finds nothing to do"


def _with_wrong_times(connection: Connection, _: int) -> tuple[None, bool]:
    """Every claim has a time of release, as none does that is held."""
    connection.execute(update(CLAIMS).values(released_at=1))
    return None, False


async def test_nothing_that_is_held_is_removed_however_old_it_is(directory: Served) -> None:
    store = directory.parts.store
    set_clock(store, 1)
    held = [await take(directory, 7, "acme", 7 * BLOCK + 1), await take(directory, 7, "jo@a.b", kind="email")]
    held.append(an_id())
    await directory.call("PUT", f"/v1/claims/{held[-1]}", 7, {"kind": "path", "name": "begun", "pod": 7})
    await released(directory, 1, "taken")
    held.append(await take(directory, 0, "taken"))
    before = await directory.all()
    await store.write(_with_wrong_times)
    assert await prune(store) == 1
    assert await known(store, *held) == [True] * 4
    assert await directory.all() == before
    wanted = {"kind": "path", "name": "taken", "pod": 7}
    status, document = await directory.call("PUT", f"/v1/claims/{an_id()}", 7, wanted)
    assert (status, document["own"]) == (409, False)


async def test_a_reader_of_before_is_told_everything_and_a_later_one_what_has_changed(directory: Served) -> None:
    claim_id, store = await take(directory, 7, "acme"), directory.parts.store
    seen = await directory.all()
    set_clock(store, LONG_AGO)
    await directory.call("DELETE", f"/v1/claims/{claim_id}", 7)
    set_clock(store, NOW)
    after_release = await directory.all()
    await take(directory, 0, "new")
    assert await prune(store) == 1
    for before, complete in ((seen, True), (after_release, False)):
        address = f"/v1/directory?epoch={before['epoch']}&after={before['version']}&wait=30"
        status, changes = await directory.call("GET", address, directory.read)
        assert (status, changes["complete"], changes["organisations"]) == (200, complete, {"new": 0})
        assert [pod["number"] for pod in changes["pods"]] == ([0, 7] if complete else [])


async def test_readers_are_told_changes_after_what_they_never_saw_was_pruned(directory: Served) -> None:
    seen = await directory.all()
    await take(directory, 0, "acme")
    await released(directory, LONG_AGO, "jo@example.org", kind="email")
    assert await prune(directory.parts.store) == 1
    _, changes = await directory.call("GET", f"/v1/directory?epoch={seen['epoch']}&after={seen['version']}")
    assert (changes["complete"], changes["organisations"]) == (False, {"acme": 0})


async def test_a_second_process_knows_what_the_first_one_has_pruned(
    directory: Served, directory_url: str, tmp_path: Path
) -> None:
    async with served(tmp_path, directory_url) as other:
        claim_id = await take(directory, 7, "acme")
        seen = await other.all()
        set_clock(directory.parts.store, LONG_AGO)
        await directory.call("DELETE", f"/v1/claims/{claim_id}", 7)
        set_clock(directory.parts.store, NOW)
        assert await prune(directory.parts.store) == 1
        _, changes = await other.call("GET", f"/v1/directory?epoch={seen['epoch']}&after={seen['version']}")
        assert (changes["complete"], changes["organisations"]) == (True, {})


async def test_ids_given_elsewhere_are_found_after_the_path_that_moved_was_released(directory: Served) -> None:
    organisation, store = 7 * BLOCK + 5, directory.parts.store
    old = await take(directory, 7, "acme", organisation)
    for pod, expected in ((0, 7), (7, 0)):
        await directory.call("PUT", "/v1/organisations/acme", body={"pod": pod, "expected": expected})
    await take(directory, 7, "renamed", organisation)
    set_clock(store, LONG_AGO)
    await directory.call("DELETE", f"/v1/claims/{old}", 7)
    set_clock(store, NOW)
    assert await prune(store) == 0
    assert (await directory.all())["moved"] == {str(organisation): 7}


async def test_many_are_removed_in_several_transactions(directory: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    claims = [await released(directory, LONG_AGO, f"name{number}") for number in range(5)]
    store, sizes = directory.parts.store, list[int]()
    real = claim_rows.prune_released

    def counted(*given: Any) -> tuple[int, int]:
        removed = real(*given)
        sizes.append(removed[0])
        return removed

    monkeypatch.setattr(claim_rows, "prune_released", counted)
    assert await prune(store, max_batch=2) == 5
    assert sizes == [2, 2, 1]
    assert await known(store, *claims) == [False] * 5


async def test_a_fault_ends_a_round_only(directory: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    claim_id, store = await released(directory, LONG_AGO, "old"), directory.parts.store
    real, faults = store._database.run, [OSError("away"), RuntimeError("a fault of ours")]

    async def run(work: Any, *, writes: bool) -> Any:
        if writes and faults:
            raise faults.pop(0)
        return await real(work, writes=writes)

    async def is_gone() -> bool:
        return await known(store, claim_id) == [False]

    monkeypatch.setattr(store._database, "run", run)
    async with pruning(store, every=0.01):
        await eventually(is_gone, "the claim is gone")
    assert faults == []


async def test_releases_of_before_schema_3_stay_for_the_whole_time(
    directory: Served, directory_url: str, tmp_path: Path
) -> None:
    claim_id, held = await released(directory, 1, "old"), await take(directory, 0, "acme")
    before = await directory.all()
    await as_of_schema_2(directory.parts.store)
    async with opened(directory_settings(tmp_path, directory_url)) as parts:
        store, brought_up = parts.store, parts.store.unix_time()
        set_clock(store, brought_up + RELEASED_KEPT - 60)
        assert await prune(store) == 0
        set_clock(store, brought_up + RELEASED_KEPT)
        assert await prune(store) == 1
        assert await known(store, claim_id, held) == [False, True]
    assert (await directory.all())["organisations"] == before["organisations"] == {"acme": 0}


async def test_the_process_prunes(tmp_path: Path) -> None:
    """One start of the process."""
    async with served(tmp_path) as directory:
        await directory.add_pod(7, "seven")
        await released(directory, 1, "old")
    database = tmp_path / "directory.db"

    async def is_gone() -> bool:
        with sqlite3.connect(database) as connection:
            count: int = connection.execute("SELECT count(*) FROM directory_claims").fetchone()[0]
        connection.close()
        return count == 0

    assert not await is_gone()
    async with directory_process(tmp_path) as process:
        await process.start()
        await eventually(is_gone, "the claim is gone")
