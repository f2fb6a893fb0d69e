"""Lists of archives that are kept: read once, however many want them, and only as many as there is room for."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from domain.errors import Invalid
from storage.objects import ObjectStore
from storage.opened_archives import OpenedArchives
from tests.api.v4.jobs.test_artifacts import archive


class Counting:
    """Counts what a store is asked for."""

    def __init__(self, store: ObjectStore) -> None:
        self.store = store
        self.sizes = 0

    async def size(self, key: str) -> int:
        self.sizes += 1
        return await self.store.size(key)

    def read(self, key: str, start: int = 0, end: int | None = None) -> AsyncIterator[bytes]:
        return self.store.read(key, start, end)


@pytest.fixture
def store(tmp_path: Path) -> Any:
    return Counting(ObjectStore.open(f"file://{tmp_path}/store"))


async def test_one_list_serves_all_who_want_it(store: Any) -> None:
    await store.store.put("a", archive({"x": "1", "y": "2"}))
    opened = OpenedArchives()
    found = await asyncio.gather(*(opened.open(store, "a") for _ in range(20)))
    assert {entry.name for entry in found[0].entries} == {"x", "y"}
    assert all(one is found[0] for one in found)
    assert await opened.open(store, "a") is found[0]
    assert store.sizes == 1


async def test_who_goes_away_leaves_the_others_waiting(store: Any) -> None:
    await store.store.put("a", archive({"x": "1"}))
    opened = OpenedArchives()
    first, second = (asyncio.ensure_future(opened.open(store, "a")) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert (await second).entries[0].name == "x"


async def test_a_broken_one_is_looked_at_again(store: Any) -> None:
    await store.store.put("a", b"none")
    opened = OpenedArchives()
    for _ in range(2):
        with pytest.raises(Invalid):
            await opened.open(store, "a")
    await store.store.put("a", archive({"x": "1"}))
    assert (await opened.open(store, "a")).entries[0].name == "x"


async def test_what_was_wanted_last_is_kept_as_far_as_there_is_room(store: Any) -> None:
    for name in "abc":
        await store.store.put(name, archive({f"{name}{number}": "" for number in range(10)}))
    opened = OpenedArchives(room=2 * 10 * 302)
    first = await opened.open(store, "a")
    await opened.open(store, "b")
    assert await opened.open(store, "a") is first
    await opened.open(store, "c")
    assert await opened.open(store, "a") is first
    assert store.sizes == 3
    await opened.open(store, "b")
    assert store.sizes == 4, "that one had to go"
