"""The key changes while jobs run, and nobody notices but the old key.

Source: docs/reference/reliability.md, "Key rotation".
"""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from auth.job_token import PREFIX, JobTokens
from auth.key_ring import KeyRing, Purpose, Turns
from auth.session_token import COOKIE, issue_session
from auth.signed_token import key_of
from settings import Settings
from tests.api.runner.world import World, opened_world
from tests.auth.rings import Time

pytestmark = pytest.mark.both_databases

TURNS = Turns(lead=10, overlap=31 * 86400)


def ring(folder: Path, time: Time) -> KeyRing:
    """A process's view of the keys."""
    return KeyRing(Purpose.SIGNING, folder, "perdure:default", TURNS, now=time)


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
async def world(tmp_path: Path, database_url: str, time: Time) -> AsyncIterator[World]:
    """A world whose keys follow the time of the test."""
    keys = ring(tmp_path / "keys", time)
    settings = Settings(home=tmp_path, database_url=database_url)
    async with opened_world(settings, key=keys, job_tokens=JobTokens(keys)) as world:
        yield world


async def alive(world: World, jobs: list[dict[str, Any]], session: str) -> set[int]:
    """How the heartbeats of jobs, their logs and somebody's session are answered."""
    responses = [await world.put(job, "running") for job in jobs]
    responses += [await world.patch(job, 0, b"x") for job in jobs]
    responses.append(await world.client.get("/api/v4/user", headers={"Cookie": f"{COOKIE}={session}"}))
    return {response.status_code for response in responses}


async def test_jobs_go_on_while_the_key_changes_and_the_old_key_dies_after_the_overlap(
    world: World, time: Time, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("auth.key_ring.LOOK_EVERY", 0)
    await world.pipeline("".join(f"job {number}: {{script: a}}\n" for number in range(20)))
    before = [await world.job() for _ in range(10)]
    session = issue_session(world.services.key, world.user_id, world.services.clock())
    ring(tmp_path / "keys", time).rotate()  # by another process
    assert await alive(world, before, session) == {200, 202}
    time.now += TURNS.lead
    after = [await world.job() for _ in range(10)]
    assert len({key_of(job["token"].removeprefix(PREFIX)) for job in (*before, *after)}) == 2
    assert await alive(world, [*before, *after], session) == {200, 202, 416}  # some send their first byte again
    time.now += TURNS.overlap
    assert await alive(world, before, session) == {403, 401}
    assert {(await world.put(job, "success", b"x")).status_code for job in after} == {200}
