"""`perdure pod move`: an organisation with all that it has goes to another pod while its runners ask for work.

The runners belong to it, some of which nobody here wrote. They know one address and one token, and nobody tells them of
anything.
"""

import asyncio
import json
import os
import signal
import sqlite3
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from domain.pods.directory import BLOCK_BITS
from domain.pods.moving import Move
from pods.embedded_pods import all_settings
from settings import Settings
from tests.amounts import amount
from tests.e2e.organisation import JOBS, Organisation, Person, all_of, found_organisation
from tests.faults.stack import PATIENT, Stack, running
from tests.foreign import organisation as foreign
from tests.git.serving import git
from tests.project import Project
from tests.waiting import eventually

pytestmark = pytest.mark.slow

Document = dict[str, Any]

SOURCE, TARGET = 1, 2
PIPELINES: Final = amount(8, 20)
FOREIGN: Final = amount(3, 6)
"""Pipelines that have jobs for them."""
KILLED_AT: Final = amount((Move.HELD, Move.ARRIVED), tuple(Move)[: tuple(Move).index(Move.ARRIVED) + 1])
"""States in which the command dies, after one death that is followed by calling it off."""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with running(tmp_path_factory.mktemp("moves") / "home", PATIENT, "--pods", "3") as started:
        yield started


@pytest.fixture
async def people(stack: Stack) -> AsyncIterator[list[Person]]:
    async with AsyncExitStack() as exits:
        found = []
        for number, settings in enumerate(all_settings(stack.settings)):
            token = json.loads((settings.home / "credentials.json").read_text())["token"]
            client = httpx.AsyncClient(
                base_url=settings.url, headers={"PRIVATE-TOKEN": token}, trust_env=False, timeout=60
            )
            found.append(Person(await exits.enter_async_context(client), token, number))
        yield found


async def moving(stack: Stack, path: str, *options: str, kill_at: Move | None = None) -> tuple[int, str, list[str]]:
    """Run the command, with `kill_at` until it says so: its exit status, what it printed, the states that it named."""
    words = [sys.executable, "-m", "cli.main", "pod", "move", path, "--to", "pod-2", *options]
    environment = {**os.environ, **stack.environment}
    process = await asyncio.create_subprocess_exec(
        *words, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    assert process.stderr is not None
    assert process.stdout is not None
    states, said = [], []
    while line := (await process.stderr.readline()).decode():
        said.append(line)
        word = line.partition(" ")[0]
        if word in set(Move):
            states.append(word)
            if word == kill_at:
                process.send_signal(signal.SIGKILL)
    out = (await process.stdout.read()).decode()
    return await process.wait(), out + "".join(said), states


@pytest.fixture
async def nobody(stack: Stack) -> AsyncIterator[httpx.AsyncClient]:
    """Without any credential."""
    limits = httpx.Limits(max_connections=40)
    async with httpx.AsyncClient(base_url=stack.settings.url, trust_env=False, timeout=60, limits=limits) as client:
        yield client


async def test_an_organisation_moves_under_load_whatever_dies(
    people: list[Person], nobody: httpx.AsyncClient, stack: Stack, tmp_path: Path
) -> None:
    """20 pipelines (a push: 8) run; the command is killed at each of its steps, called off once, and run to its end."""
    before, after = people[SOURCE], people[TARGET]
    acme = await found_organisation(before, nobody, "acme", tmp_path / "acme")
    done = asyncio.Event()
    async with asyncio.TaskGroup() as playing:  # a player that fails ends the test
        for player in acme.runners:
            playing.create_task(acme.play(player, done))
        first = await acme.project.push()
        assert (await acme.project.ended(first["id"], 60))["status"] == "success"
        token = await before.call("POST", f"/groups/{acme.group_id}/runners/reset_registration_token")
        is_pending = partial(acme.is_pending, (before, after))
        async with foreign.serving(stack.settings.url, token["token"], is_pending, tmp_path / "foreign"):
            seen = await all_of(acme, before, first["id"])
            assert len([name for name in seen if name.startswith("log of")]) == JOBS
            await _move_with_running_pipelines(people, nobody, stack, acme, first["id"])
            await _check_what_is_there(acme, after, first["id"], seen)
            done.set()
    await _check_what_is_left(people, acme, nobody)


async def _move_with_running_pipelines(
    people: list[Person], nobody: httpx.AsyncClient, stack: Stack, acme: Organisation, first: int
) -> None:
    before, after = people[SOURCE], people[TARGET]
    pipelines = [await _start(before, acme, **_foreign(number)) for number in range(PIPELINES - 1)]
    gated = await _start(before, acme, GATE="1")
    stops = asyncio.Event()
    triggering = asyncio.create_task(acme.trigger_for_ever(nobody, stops))
    code, said, states = await moving(stack, "acme", kill_at=Move.PACKED)
    assert (code, states[-1:]) == (-signal.SIGKILL, [Move.PACKED]), said
    polled = await nobody.post("/api/v4/jobs/request", json={"token": acme.runners[0]._token})
    assert polled.status_code in {httpx.codes.NO_CONTENT, httpx.codes.SERVICE_UNAVAILABLE}, polled.text
    page = await before.client.get(f"/api/v4/projects/{acme.project.id}")
    assert (page.status_code, page.headers["retry-after"]) == (503, "2")
    code, said, _ = await moving(stack, "acme", "--call-off")
    assert code == 0, said
    await eventually(partial(_is_served, before, acme), "it is served where it was", 20)
    count = len(acme.taken)
    await eventually(partial(_more_than, acme.taken, count), "its jobs go on where they were", 60)

    for state in KILLED_AT:
        code, said, states = await moving(stack, "acme", kill_at=state)
        assert (code, states[-1:]) == (-signal.SIGKILL, [state]), said
    held = asyncio.create_task(git("ls-remote", acme.remote(after), cwd=acme.project.tree))
    refused, said, _ = await moving(stack, "acme", "--call-off")
    assert refused, "it has arrived"
    assert "has arrived in pod pod-2" in said
    code, said, states = await moving(stack, "acme", "--json")
    assert (code, states) == (0, [Move.ARRIVED]), said
    moved = json.loads(said[: said.index("}") + 1])
    assert (moved["state"], moved["source"], moved["target"], moved["left_out"]) == ("switched", "pod-1", "pod-2", 0)

    async with asyncio.timeout(60):
        assert f"refs/pipelines/{gated['id']}" in await held, "it waited where it was, and went on in the other pod"
    count = len(acme.made)
    await eventually(partial(_more_than, acme.made, count), "what is triggered is made in the other pod", 30)
    stops.set()
    await triggering
    assert acme.made[-1] >> BLOCK_BITS == TARGET
    assert acme.statuses.keys() == {httpx.codes.CREATED, httpx.codes.SERVICE_UNAVAILABLE}
    there = acme.seen_from(after)
    gate = await there.job_with(gated["id"], "gate", "manual", within=120)
    await after.call("POST", f"/projects/{acme.project.id}/jobs/{gate['id']}/play")
    late = await _start(after, acme, **_foreign(0))
    ids = [first, gated["id"], late["id"], *(pipeline["id"] for pipeline in pipelines), *acme.made]
    for pipeline_id in ids:
        ended = await there.ended(pipeline_id, 240)
        jobs = (await there.jobs(pipeline_id)).values()
        assert ended["status"] == "success", [
            (job["name"], job["status"], job.get("failure_reason"), await there.log(job["id"]))
            for job in jobs
            if job["status"] != "success"
        ]
    await eventually(partial(_all_acknowledged, acme), "the end of each job is acknowledged", 20)
    assert set(acme.ends) == {httpx.codes.OK}
    counts = Counter(acme.taken)
    assert set(counts.values()) == {1}, "no job is handed out twice"
    known = [job for pipeline_id in ids for job in (await there.jobs(pipeline_id)).values()]
    assert {job["id"] for job in known if job["name"] not in foreign.RUNNERS} == set(counts), "none is lost"
    assert {job["id"] >> BLOCK_BITS for job in known} == {SOURCE, TARGET}
    await _check_foreign(all_settings(stack.settings)[TARGET], there, known)


async def _start(person: Person, acme: Organisation, **variables: str) -> Document:
    given = [{"key": key, "value": value} for key, value in variables.items()]
    path = f"/projects/{acme.project.id}/pipeline"
    made: Document = await person.call("POST", path, json={"ref": "main", "variables": given})
    return made


def _foreign(number: int) -> dict[str, str]:
    return {foreign.ASKED: "1"} if number < FOREIGN else {}


async def _check_foreign(settings: Settings, there: Project, known: Sequence[Document]) -> None:
    """Each of the others' runners has ended its jobs in either pod, each job once, and its log is there."""
    theirs = [job for job in known if job["name"] in foreign.RUNNERS]
    assert Counter(job["name"] for job in theirs) == dict.fromkeys(foreign.RUNNERS, FOREIGN + 1)
    for job in theirs:
        assert foreign.said(job["name"]) in await there.log(job["id"])
    with closing(sqlite3.connect(settings.home / "perdure.db")) as database:
        named = ", ".join(str(job["id"]) for job in theirs)
        rows = database.execute(f"SELECT status, hand_out FROM job WHERE id IN ({named})").fetchall()
    assert Counter(rows) == {("success", 1): len(theirs)}, "none is handed out twice"


async def _check_what_is_there(acme: Organisation, after: Person, done: int, seen: Document) -> None:
    """The same as before, by the same ids, and tokens that were made before open it."""
    found = await all_of(acme, after, done)
    assert {name: found[name] for name in seen} == seen


async def _check_what_is_left(people: list[Person], acme: Organisation, nobody: httpx.AsyncClient) -> None:
    """Nothing answers for it where it was."""
    source = people[SOURCE]
    await eventually(partial(_is_unknown, source, acme), "it is unknown where it was", 90)
    assert not [group for group in await source.call("GET", "/groups?per_page=100") if group["path"] == acme.path]
    taken = await nobody.get(f"/api/v4/groups/{acme.group_id}")
    assert taken.status_code == httpx.codes.NOT_FOUND, "it is private, and its pod says so"


async def _is_served(person: Person, acme: Organisation) -> bool:
    return (await person.client.get(f"/api/v4/projects/{acme.project.id}")).status_code == httpx.codes.OK


async def _is_unknown(person: Person, acme: Organisation) -> bool:
    status = (await person.client.get(f"/api/v4/projects/{acme.project.id}")).status_code
    assert status in {httpx.codes.NOT_FOUND, httpx.codes.SERVICE_UNAVAILABLE}
    return status == httpx.codes.NOT_FOUND


async def _all_acknowledged(acme: Organisation) -> bool:
    return len(acme.ends) == len(acme.taken)


async def _more_than(taken: list[int], count: int) -> bool:
    return len(taken) > count
