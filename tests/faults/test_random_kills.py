"""`kill -9` of the server process and of Temporal again and again, under a pipeline of 200 jobs with every feature.

However often they die, it ends as it does when nobody disturbs it. `PERDURE_FAULTS` says how many pipelines are
disturbed (one without), `PERDURE_SEED` when; both are printed.
"""

import asyncio
import os
import random
import sqlite3
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path

import pytest

from domain.pipelines.status import COMPLETE
from tests.faults.all_features import files
from tests.faults.ledger import Ledger
from tests.faults.played_pod import PlayedPod, played_pod
from tests.faults.players import Seen
from tests.server import Server
from tests.temporal import TemporalServer

pytestmark = pytest.mark.slow

TIMES = int(os.environ.get("PERDURE_FAULTS", "1"))
SEED = int(os.environ.get("PERDURE_SEED", "20261121"))

PAUSES = (2.0, 10.0)
"""Seconds between two kills."""
MAX_JOB = 1.5
PATIENCE = 300.0


@pytest.fixture
async def pod(tmp_path: Path) -> AsyncIterator[PlayedPod]:
    async with played_pod(tmp_path, files()) as running:
        yield running


@pytest.mark.nightly  # a push has a death at each single point (test_kill_points.py)
async def test_it_ends_as_if_nothing_had_happened(pod: PlayedPod) -> None:
    async with pod.playing() as players:
        undisturbed = await pod.push()
        await pod.over(undisturbed)
    expected = pod.ledger.ends(undisturbed)
    assert sum(len(end.jobs) for end in expected) >= 200
    _nothing_was_applied_twice(pod.ledger, undisturbed, players.seen)
    for number in range(TIMES):
        async with pod.playing(seed=SEED + number, longest=MAX_JOB) as players:
            pipeline = await pod.push()
            kills = await _kill_until_over(pod, pipeline, random.Random(SEED + number))
        print(f"seed {SEED + number}: {dict(kills)}, {players.seen.hand_outs.total()} hand-outs")
        assert kills.total() >= 2
        assert pod.ledger.ends(pipeline) == expected
        _nothing_was_applied_twice(pod.ledger, pipeline, players.seen)


async def _kill_until_over(pod: PlayedPod, pipeline: int, chance: random.Random) -> Counter[str]:
    """Kill servers at random moments, and start each again at once; how often each was killed."""
    over = asyncio.create_task(pod.over(pipeline, within=PATIENCE))
    kills: Counter[str] = Counter()
    victims: dict[str, Server | TemporalServer] = {"server": pod.server, "temporal": pod.temporal}
    while not (await asyncio.wait([over], timeout=chance.uniform(*PAUSES)))[0]:
        names = chance.choice((["server"], ["temporal"], ["server", "temporal"]))
        for name in names:
            await victims[name].kill()
        await asyncio.gather(*(victims[name].start() for name in names))
        kills.update(names)
    await over
    return kills


def _nothing_was_applied_twice(ledger: Ledger, pipeline: int, seen: Seen) -> None:
    rows = ledger.attempts(pipeline)
    by_id = {row["id"]: row for row in rows}
    assert seen.asked_again == []
    for job_id, state in seen.acknowledged.items():
        assert (by_id[job_id]["status"], by_id[job_id]["folded"]) == (state, 1)
    ran = {row["id"] for row in rows if row["started_at"] and not row["bridge"]}
    assert ran == set(seen.acknowledged), "every job that ran was ended by its runner, once"
    for row in rows:
        assert row["hand_out"] >= seen.hand_outs[row["id"]]
    _attempts_are_counted(rows)
    _one_slot_at_a_time(ledger, rows)
    _one_deployment_each(ledger, rows)


def _attempts_are_counted(rows: list[sqlite3.Row]) -> None:
    """One row for each attempt of a job, numbered from 1; only the last one is not retried."""
    jobs: defaultdict[int, list[sqlite3.Row]] = defaultdict(list)
    for row in rows:
        jobs[row["first_id"]].append(row)
    for attempts in jobs.values():
        assert [row["attempt"] for row in attempts] == list(range(1, len(attempts) + 1))
        assert [row["retried"] for row in attempts] == [1] * (len(attempts) - 1) + [0]


def _one_slot_at_a_time(ledger: Ledger, rows: list[sqlite3.Row]) -> None:
    """Jobs of a resource group followed one another."""
    turns = sorted((row["started_at"], row["finished_at"]) for row in rows if row["resource_group_id"])
    assert turns
    assert all(end <= begin for (_, end), (begin, _) in pairwise(turns))
    holders = ledger.rows("SELECT job.status FROM resource_group JOIN job ON job.id = resource_group.holder_id")
    assert all(row["status"] in COMPLETE for row in holders)


def _one_deployment_each(ledger: Ledger, rows: list[sqlite3.Row]) -> None:
    """Each job that deployed has one deployment."""
    deployed = sorted(row["id"] for row in rows if row["environment_action"] == "start" and row["started_at"])
    marks = ", ".join("?" * len(rows))
    query = f"SELECT job_id FROM deployment WHERE job_id IN ({marks}) ORDER BY job_id"
    found = ledger.rows(query, *(row["id"] for row in rows))
    assert deployed
    assert [row["job_id"] for row in found] == deployed
