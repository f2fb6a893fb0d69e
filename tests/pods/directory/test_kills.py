"""The directory is killed at each step of a claim: who exists notices nothing, and nothing stays taken.

Real processes and SIGKILL. The database is that of PostgreSQL or a file; what was acknowledged is in it.
"""

import asyncio
import random
import signal
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import TypeVar
from uuid import UUID, uuid4

import pytest

from domain.errors import Refused, Taken, Unavailable
from domain.pods.claims import Claim, ClaimKind, ClaimState
from domain.pods.routing import Head, ToPod, decide
from pods.directory_client import DirectoryClient
from pods.directory_follower import CACHE, DirectoryFollower
from tests.pods.directory.process import DirectoryProcess, directory_process
from tests.pods.directory.served import public_keys, ring_of, shown
from tests.waiting import eventually

T = TypeVar("T")


@pytest.fixture
async def running(tmp_path: Path, directory_url: str) -> AsyncIterator[DirectoryProcess]:
    """A directory with two pods and an organisation, which does not run now."""
    async with directory_process(tmp_path, directory_url) as process:
        await process.start()
        async with process.client() as admin:
            for number, name in enumerate(("zero", "one")):
                keys = public_keys(ring_of(tmp_path, name))
                await admin.put_pod(number, name=name, address=f"10.0.0.{number}:1", public_keys=keys)
            old = uuid4()
            await admin.claim(old, ClaimKind.PATH, "old", 1)
            await admin.confirm(old)
        await process.kill()
        yield process


def of_pod(process: DirectoryProcess, name: str) -> DirectoryClient:
    """Calls of a pod, by its own signature."""
    ring = ring_of(process.home, name)
    return DirectoryClient(process.url, lambda: shown(ring))


async def repeated(call: Callable[[], Awaitable[T]]) -> T:
    """The result of a call that is repeated while the directory is away."""
    while True:
        try:
            return await call()
        except Unavailable:
            await asyncio.sleep(0.05)  # as a pod does


@pytest.mark.slow
@pytest.mark.parametrize("point", ["arrived", "before", "after"])
@pytest.mark.parametrize("step", ["claim", "confirm", "release"])
async def test_a_kill_at_a_step_leaves_nothing_half(running: DirectoryProcess, step: str, point: str) -> None:
    """Two starts of a process each."""
    claim_id = uuid4()
    async with AsyncExitStack() as stack:
        one, zero = [await stack.enter_async_context(of_pod(running, name)) for name in ("one", "zero")]
        steps: dict[str, Callable[[], Awaitable[Claim | None]]] = {
            "claim": lambda: one.claim(claim_id, ClaimKind.PATH, "new", 1),
            "confirm": lambda: one.confirm(claim_id, 2**40 + 1),
            "release": lambda: one.release(claim_id),
        }
        await running.start(step, point)
        reader = await stack.enter_async_context(DirectoryClient(running.url, lambda: running.read))
        follower = await stack.enter_async_context(DirectoryFollower(reader, running.home / CACHE))
        await follower.first(10)
        names = list(steps)
        for name in names[: names.index(step)]:
            await steps[name]()
        with pytest.raises(Unavailable):
            await steps[step]()
        assert await running.ended() == -signal.SIGKILL

        went_on = decide(Head("GET", "/old/app", {}), follower.current())
        assert isinstance(went_on, ToPod)
        assert went_on.pod == 1, "who exists is found while the directory is away"

        await running.start()
        for name in names[names.index(step) :]:
            await steps[name]()
            await steps[name]()
            if name != "release":
                with pytest.raises(Taken):
                    await zero.claim(uuid4(), ClaimKind.PATH, "NEW", 0)
        theirs = uuid4()
        await zero.claim(theirs, ClaimKind.PATH, "new", 0)
        await zero.confirm(theirs)
        for late in ("claim", "confirm"):
            with pytest.raises(Refused):
                await steps[late]()

        async def heard() -> bool:
            return dict(follower.current().organisations) == {"old": 1, "new": 0}

        await eventually(heard, "the copy follows the directory that came back")


@pytest.mark.slow
@pytest.mark.parametrize("point", ["before", "after"])
async def test_what_a_pod_never_wrote_is_free_again(running: DirectoryProcess, point: str) -> None:
    """The pod died too: it finds its tentative claim, if there is one, and none of its own rows, and releases it."""
    async with of_pod(running, "one") as one, of_pod(running, "zero") as zero:
        await running.start("claim", point)
        with pytest.raises(Unavailable):
            await one.claim(uuid4(), ClaimKind.EMAIL, "jo@example.org", 1)
        await running.ended()
        await running.start()
        left_over = [claim async for claim in one.claims(1, ClaimState.TENTATIVE)]
        assert len(left_over) == (1 if point == "after" else 0)
        for claim in left_over:
            await one.release(UUID(claim.claim_id))
        await zero.claim(uuid4(), ClaimKind.EMAIL, "jo@example.org", 0)
        assert [claim async for claim in one.claims(1, ClaimState.TENTATIVE)] == []


KILLS = 8
NAMES = 60


@pytest.mark.slow
async def test_kills_at_any_time_lose_nothing_that_was_acknowledged(running: DirectoryProcess) -> None:
    """Some twenty seconds: pods race for names while the directory is killed again and again."""
    chance, confirmed, lost = random.Random(7), dict[str, tuple[int, UUID]](), Counter[str]()
    is_over = asyncio.Event()

    async def race(name: str, number: int, client: DirectoryClient) -> None:
        while not is_over.is_set():
            path, claim_id = f"n{chance.randrange(NAMES)}", uuid4()
            try:
                await repeated(partial(client.claim, claim_id, ClaimKind.PATH, path, number))
            except Taken:
                lost[name] += 1
                mine = confirmed.get(path)
                if mine is not None and mine[0] == number and chance.random() < 0.3:
                    del confirmed[path]
                    await repeated(partial(client.release, mine[1]))
                continue
            if chance.random() < 0.2:
                await repeated(partial(client.release, claim_id))
                continue
            await repeated(partial(client.confirm, claim_id))
            assert path not in confirmed, "somebody else was told the same"
            confirmed[path] = (number, claim_id)

    await running.start()
    async with of_pod(running, "zero") as zero, of_pod(running, "one") as one:
        racers = [
            asyncio.create_task(race(name, number, client))
            for name, number, client in (("zero", 0, zero), ("one", 1, one))
            for _ in range(4)
        ]
        for _ in range(KILLS):
            await asyncio.sleep(chance.uniform(0.1, 0.8))  # there is nothing to await: any time will do
            await running.kill()
            await running.start()
        is_over.set()
        await asyncio.gather(*racers)
        assert lost.total() > 0
        held = {
            claim.name: (claim.pod_number, UUID(claim.claim_id))
            for client, number in ((zero, 0), (one, 1))
            async for claim in client.claims(number)
            if claim.name != "old"
        }
        assert held == confirmed
        seen = dict((await one.changes()).organisations)
        assert seen == {"old": 1, **{path: number for path, (number, _) in confirmed.items()}}
