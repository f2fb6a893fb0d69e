"""Which of the calls that the front holds gives way when there is no place for one more."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from pods.holding import Holding
from pods.patience import PatienceTable
from pods.upstream import Away
from settings import FrontLimits, Settings

NEVER = 3_600.0
CALLS = {
    "result": ("PUT", "/api/v4/jobs/7"),
    "log": ("PATCH", "/api/v4/jobs/7/trace"),
    "git": ("GET", "/group/project.git/info/refs"),
}
TABLE = PatienceTable(Settings())


async def is_away() -> bool:
    """The API is."""
    return False


@dataclass
class Calls:
    """Calls that came, by the order in which they did."""

    holding: Holding
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    async def come(self, what: str, address: str, size: int = 0) -> None:
        """One more."""
        patience = TABLE.of(*CALLS[what])
        deadline = asyncio.get_running_loop().time() + NEVER
        self.tasks.append(asyncio.create_task(self.holding.wait(patience, deadline, size, address)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    def refused(self) -> list[int]:
        """The numbers of those that were sent away."""
        return [number for number, task in enumerate(self.tasks) if task.done() and isinstance(task.exception(), Away)]


@asynccontextmanager
async def held(places: int, memory: int = 1000) -> AsyncIterator[Calls]:
    """A front that holds so many."""
    calls = Calls(Holding(FrontLimits(held_memory=memory), places, is_away))
    try:
        yield calls
    finally:
        await calls.holding.close()
        await asyncio.gather(*calls.tasks, return_exceptions=True)


@pytest.mark.parametrize(
    ("came", "refused"),
    [
        ("git bob, git eve, git eve, git ada", [1]),
        ("git bob, git eve, git eve, git eve", [1]),
        ("git bob, git ada, git cyd, git eve", [0]),
        ("git bob, git ada, git eve, git eve", [2]),
        ("result eve, result eve, git bob, git eve", [3]),
        ("result eve, result eve, git bob, log ada", [2]),
        ("result eve, result eve, result bob, log ada", [3]),
        ("result bob, result eve, result eve, result ada", [1]),
        ("log bob, result eve, result eve, result eve", [0]),
    ],
)
async def test_of_the_least_worth_gives_way_who_holds_the_most(came: str, refused: Sequence[int]) -> None:
    addresses = {"bob": "192.0.2.1", "ada": "192.0.2.2", "cyd": "192.0.2.3", "eve": "2001:db8::1"}
    async with held(3) as calls:
        for call in came.split(", "):
            what, who = call.split()
            await calls.come(what, addresses[who])
        assert calls.refused() == refused


async def test_a_network_of_ipv6_is_one_client() -> None:
    async with held(3) as calls:
        for address in ("192.0.2.1", "2001:db8::1", "2001:db8::2", "192.0.2.9"):
            await calls.come("git", address)
        assert calls.refused() == [1]


async def test_memory_is_taken_from_who_holds_the_most_of_it() -> None:
    async with held(100, memory=100) as calls:
        await calls.come("log", "bob", 10)
        for size in (40, 40):
            await calls.come("log", "192.0.2.66", size)
        await calls.come("log", "192.0.2.2", 20)
        assert calls.refused() == [1]


async def test_one_address_is_held_as_long_as_there_is_room() -> None:
    async with held(50) as calls:
        for _ in range(50):
            await calls.come("result", "192.0.2.1")
        assert calls.refused() == []
