"""Objects that are read ahead: in order, whole or told of, and far cheaper than one after the other."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from domain.errors import Unavailable
from storage import read_ahead as module
from storage.objects import ObjectStore
from storage.read_ahead import WHOLE, read_ahead
from tests.storage.test_objects import bucket, s3_address, store  # noqa: F401


async def _keys(names: Sequence[str]) -> AsyncIterator[str]:
    for name in names:
        yield name


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> int:
    """So many are read at a time."""
    monkeypatch.setattr(module, "MAX_BATCH", 4)
    return 4


async def test_objects_come_in_order_and_those_that_are_gone_are_told(store: ObjectStore, many: int) -> None:  # noqa: F811
    """Those that are small come whole, larger ones by their size."""
    names = [f"a/{number}" for number in range(2 * many + 3)]
    sizes = {name: number for number, name in enumerate(names) if number % 5}
    sizes |= {names[1]: WHOLE, names[2]: WHOLE + 1}
    for name, size in sizes.items():
        await store.put(name, name[-1:].encode() * size)
    found = [one async for one in read_ahead(store, _keys(names))]
    assert [one.key for one in found] == names
    for one in found:
        there = sizes.get(one.key)
        whole = None if there is None or there > WHOLE else one.key[-1:].encode() * there
        assert (one.size, one.content) == (there, whole)


async def test_an_object_that_cannot_be_read_is_no_missing_one(tmp_path: Path, many: int) -> None:
    """What comes before it is there."""
    files = ObjectStore.open(tmp_path.as_uri())
    names = [f"{number}" for number in range(3 * many)]
    for name in names:
        (tmp_path / name).write_bytes(b"log")
    (tmp_path / names[-1]).unlink()
    (tmp_path / names[-1]).mkdir()
    found = read_ahead(files, _keys(names))
    assert [(await anext(found)).key for _ in range(2 * many)] == names[: 2 * many]
    with pytest.raises(Unavailable, match=names[-1]):
        await anext(found)


async def test_it_costs_a_third_of_one_after_the_other_at_most(tmp_path: Path) -> None:
    """A backup of many logs took three turns of the event loop for each, which was nearly all of its time."""
    files = ObjectStore.open(tmp_path.as_uri())
    names = [f"{number}" for number in range(1_000)]
    for name in names:
        (tmp_path / name).write_bytes(b"log")

    async def ahead() -> None:
        assert len([one async for one in read_ahead(files, _keys(names))]) == len(names)

    async def one_after_the_other() -> None:
        for name in names:
            assert [await files.size(name), [chunk async for chunk in files.read(name)]] == [3, [b"log"]]

    assert 3 * await _cost(ahead) < await _cost(one_after_the_other)


async def _cost(work: Callable[[], Awaitable[None]]) -> float:
    """Processor time, the lesser one of two runs."""
    costs = []
    for _ in range(2):
        begin = time.process_time()
        await work()
        costs.append(time.process_time() - begin)
    return min(costs)
