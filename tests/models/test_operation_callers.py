"""Who asks for a command becomes the user of what it starts; whom nobody knows gets no more than the pipeline has."""

from typing import Any

import pytest

from domain.messages import Command
from domain.pipelines.portions import portions
from domain.pipelines.status import Status
from models.columns import table_of
from models.repositories.accounts import accounts
from models.repositories.environments import environment_lifecycle
from models.repositories.pipelines import operation_callers
from models.tables.environments import Environment
from models.tables.outbox import OperationCaller, OperationKey
from tests.models.world import World, job

GATE = "gate: {script: x, when: manual, allow_failure: false}\nafter: {stage: deploy, script: x}\n"
GRADUAL = """
stages: [build, test, deploy]
build: {stage: build, script: x}
test: {stage: test, script: x}
ship: {stage: deploy, script: x, when: manual}
"""


async def person(world: World, name: str) -> int:
    """An account."""
    async with world.database.write() as connection:
        return await accounts.create_user(connection, name, name.title(), f"{name}@example.com", world.now())


async def asks(world: World, user_id: int, pipeline_id: int, *commands: Command) -> tuple[Command, ...]:
    """Note the caller of commands, as the API does before it asks the workflow."""
    async with world.database.write() as connection:
        for one in commands:
            await operation_callers.put(connection, pipeline_id, one.job_id, user_id, name=one.name, key=one.key)
    return commands


async def owners(world: World, pipeline_id: int) -> dict[str, tuple[int, bool]]:
    """By the name of the latest attempts: the user, and whether somebody unknown has started it."""
    rows = await world.rows(job, pipeline_id=pipeline_id, retried=False)
    return {row.name: (row.user_id, row.unknown_caller) for row in rows}


async def the(world: World, name: str) -> int:
    """The id of the latest attempt of a job."""
    return int((await world.row(job, name=name, retried=False)).id)


async def test_whoever_plays_a_job_is_its_user_and_only_its(world: World) -> None:
    bob = await person(world, "bob")
    pipeline_id = await world.begin(GATE)
    await world.settle(
        pipeline_id, *await asks(world, bob, pipeline_id, Command("play_job", "k", await the(world, "gate")))
    )
    ada = world.user_id
    assert await owners(world, pipeline_id) == {"gate": (bob, False), "after": (ada, False)}
    assert await world.rows(table_of(OperationCaller)) == []
    assert [row.caller_id for row in await world.rows(table_of(OperationKey))] == [bob]


async def test_one_that_nobody_knows_gets_the_rights_of_the_pipelines_user_and_is_marked(world: World) -> None:
    bob = await person(world, "bob")
    pipeline_id = await world.begin(GATE)
    gate = await the(world, "gate")
    await world.settle(pipeline_id, *await asks(world, bob, pipeline_id, Command("play_job", "k", gate)))
    await world.end(await world.take(), Status.FAILED)
    await world.settle(pipeline_id)
    await world.settle(pipeline_id, Command("retry_job", "by hand", gate))
    assert (await owners(world, pipeline_id))["gate"] == (world.user_id, True)
    assert [row.caller_id for row in await world.rows(table_of(OperationKey), key="by hand")] == [None]


async def test_a_caller_is_good_for_their_own_command_only(world: World) -> None:
    """A signal may name the key of what somebody asks for just now."""
    bob = await person(world, "bob")
    pipeline_id = await world.begin(GATE)
    gate = await the(world, "gate")
    await asks(world, bob, pipeline_id, Command("cancel_job", "k", gate))
    await world.settle(pipeline_id, Command("play_job", "k", gate))
    assert (await owners(world, pipeline_id))["gate"] == (world.user_id, True)


async def test_the_first_caller_of_a_key_stays(world: World) -> None:
    bob, eve = await person(world, "bob"), await person(world, "eve")
    pipeline_id = await world.begin(GATE)
    command = Command("play_job", "k", await the(world, "gate"))
    await asks(world, bob, pipeline_id, command)
    await world.settle(pipeline_id, *await asks(world, eve, pipeline_id, command))
    assert (await owners(world, pipeline_id))["gate"] == (bob, False)


async def test_a_retry_gives_what_it_repeats_and_what_comes_to_life_to_its_caller(world: World) -> None:
    bob = await person(world, "bob")
    pipeline_id = await world.begin(GRADUAL)
    await world.end(await world.take(), Status.FAILED)
    await world.settle(pipeline_id)
    ada = (world.user_id, False)
    assert await world.statuses(pipeline_id) == {"build": "failed", "test": "skipped", "ship": "skipped"}
    assert await owners(world, pipeline_id) == {"build": ada, "test": ada, "ship": ada}
    await world.settle(pipeline_id, *await asks(world, bob, pipeline_id, Command("retry_pipeline", "k")))
    assert await owners(world, pipeline_id) == dict.fromkeys(("build", "test", "ship"), (bob, False))


async def test_a_job_that_repeats_itself_stays_with_its_user(world: World) -> None:
    bob = await person(world, "bob")
    pipeline_id = await world.begin("gate: {script: x, when: manual, retry: 1}\n")
    gate = await the(world, "gate")
    await world.settle(pipeline_id, *await asks(world, bob, pipeline_id, Command("play_job", "k", gate)))
    await world.end(await world.take(), Status.FAILED)
    await world.settle(pipeline_id)
    assert await the(world, "gate") != gate
    assert (await owners(world, pipeline_id))["gate"] == (bob, False)


async def test_two_who_ask_in_one_turn_each_get_their_own(world: World) -> None:
    bob, eve = await person(world, "bob"), await person(world, "eve")
    pipeline_id = await world.begin("one: {script: x, when: manual}\ntwo: {script: x, when: manual}\n")
    first = await asks(world, bob, pipeline_id, Command("play_job", "1", await the(world, "one")))
    second = await asks(world, eve, pipeline_id, Command("play_job", "2", await the(world, "two")))
    await world.turn(pipeline_id, *first, *second)
    assert await owners(world, pipeline_id) == {"one": (bob, False), "two": (eve, False)}


async def test_each_portion_gives_its_jobs_to_the_caller_before_anybody_sees_them(world: World) -> None:
    """The response comes with the last portion; a job of the first one may be running by then."""
    bob = await person(world, "bob")
    pipeline_id = await world.begin("many: {script: x, parallel: 7, when: manual}\nfails: {script: x}\n")
    await world.end(await world.take(), Status.FAILED)
    await world.settle(pipeline_id)
    plays = [Command("play_job", row.name, row.id) for row in await world.rows(job, status="manual")]
    commands = [*plays, Command("retry_pipeline", "all")]
    decision = await world.decision(pipeline_id, *await asks(world, bob, pipeline_id, *commands))
    assert decision is not None
    cut = portions(decision, most=2)
    assert len(cut) == 4
    seen = 0
    for portion in cut:
        await world.record(world.numbered(portion))
        seen += len(portion.transitions) + len(portion.attempts)
        assert list((await owners(world, pipeline_id)).values()).count((bob, False)) == seen
    assert seen == 8
    assert await world.rows(table_of(OperationCaller)) == []


@pytest.mark.parametrize("is_asked", [True, False])
async def test_stopping_an_environment_runs_for_who_stops_it(world: World, is_asked: bool) -> None:
    bob = await person(world, "bob")
    config = """
        deploy: {script: x, environment: {name: review, on_stop: stop}}
        stop: {script: x, when: manual, environment: {name: review, action: stop}}
    """
    pipeline_id = await world.begin(config)
    await world.end(await world.take())
    await world.settle(pipeline_id)
    row = await world.row(table_of(Environment))
    caller: dict[str, Any] = {"caller_id": bob} if is_asked else {}
    async with world.database.write() as connection:
        (environment_id,) = await environment_lifecycle.stop(connection, [row.id], world.now(), **caller)
        assert await environment_lifecycle.pipelines_to_stop(connection, environment_id) == [pipeline_id]
    (row,) = await world.outbox(pipeline_id, "command")
    await world.settle(pipeline_id, Command(row.payload["name"], row.payload["key"], row.job_id))
    assert (await owners(world, pipeline_id))["stop"] == (bob if is_asked else world.user_id, False)
