"""Protected environments in SQL: a job whose user may not deploy fails when it is enqueued, however it is started."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update

from domain.messages import Command
from domain.pipelines.status import Status
from models.columns import table_of
from models.repositories.accounts import accounts, members
from models.repositories.environments import (
    deploy_permissions,
    environment_lifecycle,
    environments,
    protected_environments,
)
from models.repositories.namespaces import namespaces
from models.repositories.owner import Owner
from models.repositories.pipelines import invariants, operation_callers
from models.repositories.projects import projects
from models.tables.environments import Deployment, Environment, ResourceGroup
from tests.models.world import BEGIN, World, job

environment = table_of(Environment)
deployment = table_of(Deployment)
group = table_of(ResourceGroup)

LIVE = "live: {script: x, environment: production}\n"
DEVELOPER, MAINTAINER = 30, 40


@pytest.fixture
async def world(world: World) -> World:
    """Its user is a developer of the project."""
    async with world.database.write() as connection:
        await members.remove_from_project(connection, world.project_id, world.user_id)
        await members.add_to_project(connection, world.project_id, world.user_id, DEVELOPER)
    return world


async def protect(world: World, name: str = "production", holder: Owner | None = None, **level: Any) -> None:
    """Let only these deploy."""
    async with world.database.write() as connection:
        holder = holder or Owner(project_id=world.project_id)
        rule_id = await protected_environments.add(connection, holder, name, BEGIN)
        await protected_environments.add_level(connection, rule_id, **{"group_inheritance_type": 0, **level})


async def person(world: World, name: str, level: int) -> int:
    """Somebody else, with this level in the project."""
    async with world.database.write() as connection:
        key = await accounts.create_user(connection, name, name, f"{name}@example.com", BEGIN)
        await members.add_to_project(connection, world.project_id, key, level)
    return key


async def by(world: World, pipeline_id: int, name: str, job_id: int, user_id: int) -> None:
    """Somebody asks for an operation on a job."""
    key = f"{name}-{job_id}-{user_id}"
    async with world.database.write() as connection:
        await operation_callers.put(connection, pipeline_id, job_id, user_id, name=name, key=key)
    await world.settle(pipeline_id, Command(name, key, job_id))


async def outcome(world: World, name: str) -> tuple[str, str]:
    """Status and reason of the latest attempt of a job."""
    row = await world.row(job, name=name, retried=False)
    return row.status, row.failure_reason


REFUSED = ("failed", "protected_environment_failure")


async def test_a_job_of_somebody_who_may_not_deploy_fails_before_a_runner_sees_it(world: World) -> None:
    await protect(world, access_level=MAINTAINER)
    pipeline_id = await world.begin("live: {script: x, environment: production, retry: 2}\nother: {script: x}\n")
    assert await outcome(world, "live") == REFUSED
    assert (await world.row(job, id=await world.take())).name == "other"
    assert await world.claim() is None
    await world.settle(pipeline_id)
    assert await world.outbox(pipeline_id, "outcome") == [], "the verdict is folded like any other"
    assert len(await world.rows(job, name="live")) == 1, "it is never retried by itself"
    async with world.database.read() as connection:
        assert await invariants.broken(connection, world.now()) == []


@pytest.mark.parametrize("action", ["start", "stop", "prepare", "verify", "access"])
async def test_every_action_on_a_protected_environment_asks_for_it(world: World, action: str) -> None:
    await protect(world, access_level=MAINTAINER)
    await world.begin(f"look: {{script: x, environment: {{name: production, action: {action}}}}}")
    assert await outcome(world, "look") == REFUSED


async def test_what_is_not_protected_runs_and_so_does_what_lets_its_user_in(world: World) -> None:
    await protect(world, "other", access_level=MAINTAINER)
    await protect(world, access_level=DEVELOPER)
    await world.begin(LIVE)
    assert await outcome(world, "live") == ("pending", "")


async def test_a_manual_job_waits_and_runs_for_who_may_play_it(world: World) -> None:
    await protect(world, access_level=MAINTAINER)
    pipeline_id = await world.begin("live: {script: x, when: manual, environment: production}")
    assert await outcome(world, "live") == ("manual", "")
    first = (await world.row(job, name="live")).id
    await by(world, pipeline_id, "play_job", first, world.user_id)
    assert await outcome(world, "live") == REFUSED
    await by(world, pipeline_id, "retry_job", first, await person(world, "grace", MAINTAINER))
    assert await outcome(world, "live") == ("pending", "")
    assert await world.take() == (await world.row(job, name="live", retried=False)).id


async def test_a_job_with_a_resource_group_gives_its_slot_back(world: World) -> None:
    await protect(world, access_level=MAINTAINER)
    pipeline_id = await world.begin("live: {script: x, environment: production, resource_group: live}")
    assert await outcome(world, "live") == ("waiting_for_resource", "")
    row = await world.row(job, name="live")
    async with world.database.write() as connection:
        await connection.execute(update(group).values(holder_id=row.id))
    await world.settle(pipeline_id)
    assert await outcome(world, "live") == REFUSED


async def test_a_bridge_to_a_protected_environment_triggers_nothing(world: World) -> None:
    await protect(world, access_level=MAINTAINER)
    pipeline_id = await world.begin("down: {trigger: acme/other, environment: production}")
    assert await outcome(world, "down") == REFUSED
    await world.settle(pipeline_id)
    assert await world.status(pipeline_id) == "failed"


@pytest.mark.parametrize(("tier", "expected"), [("production", REFUSED), ("staging", ("pending", ""))])
async def test_a_group_protects_a_tier_in_all_that_lies_in_it(
    world: World, tier: str, expected: tuple[str, str]
) -> None:
    async with world.database.write() as connection:
        top = await namespaces.get_by(connection, path="acme")
        inner = await namespaces.create(connection, "inner", "Inner", BEGIN, parent=top)
        await projects.change(connection, world.project_id, namespace_id=inner)
    await protect(world, "production", Owner(namespace_id=top.id), access_level=MAINTAINER)
    await world.begin(f"live: {{script: x, environment: {{name: eu, deployment_tier: {tier}}}}}")
    assert await outcome(world, "live") == expected


async def test_a_level_in_the_project_is_none_in_the_group_that_protects(world: World) -> None:
    owner = await person(world, "grace", 50)
    async with world.database.write() as connection:
        top = await namespaces.get_by(connection, path="acme")
        await connection.execute(environment.insert().values(**_place(world)))
    await protect(world, "production", Owner(namespace_id=top.id), access_level=MAINTAINER)
    assert "by a rule of its group" in await refused(world, owner)
    async with world.database.write() as connection:
        await members.add_to_group(connection, top.id, owner, MAINTAINER)
    assert await refused(world, owner) == ""


async def test_people_groups_and_those_above_them_are_let_in_by_name(world: World) -> None:
    other = await person(world, "grace", DEVELOPER)
    async with world.database.write() as connection:
        await connection.execute(environment.insert().values(**_place(world)))
        await namespaces.create(connection, "ops", "Ops", BEGIN)
        above = await namespaces.get_by(connection, path="ops")
        ops = await namespaces.create(connection, "live", "Live", BEGIN, parent=above)
        await members.add_to_group(connection, above.id, other, 20)
    await protect(world, user_id=world.user_id)
    assert (await refused(world, world.user_id), await refused(world, other) != "") == ("", True)
    async with world.database.write() as connection:
        row = await protected_environments.get(connection, Owner(project_id=world.project_id), "production")
        await protected_environments.add_level(connection, row.id, group_id=ops, group_inheritance_type=0)
    assert await refused(world, other) != ""
    async with world.database.write() as connection:
        (level,) = [
            one for one in (await protected_environments.levels_of(connection, [row.id]))[row.id] if one.group_id == ops
        ]
        await protected_environments.change_level(connection, row.id, level.id, group_inheritance_type=1)
    assert await refused(world, other) == ""
    async with world.database.write() as connection:
        await protected_environments.forget_group(connection, world.project_id, ops)
        await protected_environments.forget_person(connection, world.project_id, world.user_id)
    assert "only administrators" in await refused(world, world.user_id)
    assert await refused(world, other) != ""


async def refused(world: World, user_id: int) -> str:
    async with world.database.read() as connection:
        row = await world.row(environment, name="production")
        return await deploy_permissions.refusal_of_environment(connection, row, user_id)


def _place(world: World) -> dict[str, Any]:
    names = {"name": "production", "slug": "production", "tier": "production"}
    return {**names, "project_id": world.project_id, "kubernetes": {}, "created_at": BEGIN, "updated_at": BEGIN}


async def test_a_job_whose_environment_was_deleted_is_held_to_the_name_that_it_has(world: World) -> None:
    pipeline_id = await world.begin("look: {script: x, environment: {name: production, action: verify}}")
    first = await world.take()
    await world.end(first, Status.FAILED)
    await world.settle(pipeline_id)
    async with world.database.write() as connection:
        row = await world.row(environment)
        await environment_lifecycle.force_stop(connection, row.id, world.now())
        assert await environments.remove(connection, row.id)
    await protect(world, access_level=MAINTAINER)
    await by(world, pipeline_id, "retry_job", first, world.user_id)
    assert await outcome(world, "look") == REFUSED


REVIEW = """
    stages: [deploy, cleanup]
    deploy: {stage: deploy, script: x, environment: {name: production, on_stop: stop, auto_stop_in: 1 hour}}
    stop: {stage: cleanup, script: x, when: manual, environment: {name: production, action: stop}}
"""


async def test_nobody_stops_what_is_protected_from_them_nor_does_time_with_their_rights(world: World) -> None:
    pipeline_id = await world.begin(REVIEW)
    await world.end(await world.take())
    await world.settle(pipeline_id)
    await protect(world, access_level=MAINTAINER)
    row = await world.row(environment)
    async with world.database.write() as connection:
        now, caller = world.now(), world.user_id
        assert await environment_lifecycle.stop(connection, [row.id], now, caller_id=caller) == []
        stopped = await environment_lifecycle.stop_of_branch(
            connection, world.project_id, "main", now, caller_id=caller
        )
        assert stopped == []
    assert (await world.row(environment)).state == "available"
    async with world.database.write() as connection:
        assert await environment_lifecycle.stop_due(connection, world.now() + timedelta(hours=2)) == [row.id]
    (told,) = await world.outbox(pipeline_id, "command")
    await world.settle(pipeline_id, Command("play_job", told.payload["key"], told.job_id))
    assert await outcome(world, "stop") == REFUSED
    assert (await world.row(environment)).state == "available"
    async with world.database.write() as connection:
        grace = await accounts.create_user(connection, "grace", "Grace", "grace@example.com", BEGIN)
        await members.add_to_project(connection, world.project_id, grace, MAINTAINER)
        assert await environment_lifecycle.stop(connection, [row.id], world.now(), caller_id=grace) == [row.id]
