"""A runner whose jobs run as the server's own user, and the accounts of others: the claim looks at both."""

import asyncio
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import table_of
from models.repositories.accounts import accounts
from models.repositories.projects import projects
from models.repositories.queue import contacts, queue, waiting_jobs
from models.repositories.queue.contacts import Contact
from models.tables.accounts import User
from tests.models.query_plans import multiply, query_plan
from tests.models.world import BEGIN, World, job

ONE = "one: {script: x}\n"
account = table_of(User)


@pytest.fixture
async def alone(world: World) -> World:
    """The one account is an administrator's, the one runner is the server's user and in touch."""
    async with world.database.write() as connection:
        await accounts.change(connection, world.user_id, is_admin=True)
        await contacts.write(connection, [Contact(world.runner_id, "s_1", {}, "")], world.now())
    await world.set_runner(as_server=True)
    return world


async def account_of(world: World, name: str, **values: Any) -> int:
    """Somebody has an account from now on."""
    async with world.database.write() as connection:
        return await accounts.create_user(connection, name, name, f"{name}@example.com", BEGIN, **values)


async def allow(world: World, *, allowed: bool = True) -> None:
    """An administrator lets the project's jobs run as the server, or no more."""
    async with world.database.write() as connection:
        await projects.change(connection, world.project_id, may_run_as_server=allowed)


async def reason(world: World) -> str:
    """Why the one job is stuck; empty if it is not."""
    async with world.database.read() as connection:
        found = await waiting_jobs.reasons(connection, await world.rows(job), world.now(), 7200)
    return next(iter(found.values()), "")


async def test_an_account_made_just_before_the_poll_counts(alone: World) -> None:
    await alone.begin(ONE + "two: {script: x}\n")
    assert await alone.claim() is not None
    bob = await account_of(alone, "bob")
    assert await alone.claim() is None
    assert "`perdure runner allow acme/tool`" in await reason(alone)
    async with alone.database.write() as connection:
        await accounts.change(connection, bob, is_admin=True)
    assert await reason(alone) == ""
    assert await alone.claim() is not None


async def test_an_allowed_project_is_served_until_it_is_not_allowed_any_more(alone: World) -> None:
    await account_of(alone, "bob")
    await alone.begin(ONE + "two: {script: x}\n")
    assert await alone.claim() is None
    await allow(alone)
    assert await reason(alone) == ""
    assert await alone.claim() is not None
    await allow(alone, allowed=False)
    assert await alone.claim() is None


@pytest.mark.parametrize(
    ("values", "served"),
    [({"bot": True}, True), ({"is_admin": True}, True), ({"state": accounts.BLOCKED}, False), ({}, False)],
)
async def test_whose_account_counts(alone: World, values: dict[str, Any], served: bool) -> None:
    await account_of(alone, "bob", **values)
    await alone.begin(ONE)
    assert (await reason(alone) == "") is served
    assert (await alone.claim() is not None) is served


async def test_other_runners_serve_everybody(alone: World) -> None:
    await account_of(alone, "bob")
    await alone.begin(ONE)
    await alone.set_runner(as_server=False)
    assert await alone.claim() is not None


async def test_an_account_that_comes_between_the_look_and_the_lock_counts(
    alone: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On SQLite nobody writes in between: the account waits for the claim, and counts from the next one on."""
    await alone.begin(ONE + "two: {script: x}\n")
    look, made = queue.turns, list[asyncio.Task[int]]()

    async def looked(connection: AsyncConnection, *given: Any, **named: Any) -> Any:
        found = await look(connection, *given, **named)
        if not made:
            made.append(asyncio.create_task(account_of(alone, "bob")))
            if not alone.database.is_sqlite:
                await made[0]
        return found

    monkeypatch.setattr(queue, "turns", looked)
    assert (await alone.claim() is not None) is alone.database.is_sqlite
    await made[0]
    assert await alone.claim() is None


async def test_accounts_are_not_looked_through(alone: World) -> None:
    """However many administrators and robots there are."""
    await multiply(alone, account, alone.user_id, lambda step: {"username": f"robot{step}", "bot": step % 2 == 0})
    plan = await query_plan(alone, select(accounts.OTHERS), {})
    assert "account_of_others" in plan
