"""A project that follows another one gets one pipeline for each release, whatever dies in between."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from application.pipelines.prepared import prepared
from domain.errors import Unavailable
from loops import subscriptions as subscription_loop
from loops.due_rows import HELD
from loops.subscriptions import SubscriptionLoop
from models.repositories.accounts import accounts, members
from models.repositories.pipelines import pipelines
from models.repositories.projects import subscriptions
from tests.api.runner.world import World
from tests.api.v4.site import Person, Site
from tests.git.serving import git

CONFIG = """
after-release:
  script: make
  rules: [{if: $CI_UPSTREAM_PIPELINE_ID && $CI_PIPELINE_SOURCE == "pipeline"}]
"""
MAINTAINER, DEVELOPER = 40, 30


def address(site: Site, rest: str = "") -> str:
    return f"/api/v4/projects/{site.world.project_id}{rest}"


@pytest.fixture
async def upstream(site: Site) -> World:
    """Another project, as a world of its own."""
    await site.commit({".gitlab-ci.yml": CONFIG})
    async with site.client(site.root) as client:
        made = await client.post("/api/v4/projects", json={"name": "library"})
    return replace(site.world, project_id=made.json()["id"])


async def subscribe(site: Site, upstream: World, person: Person | None = None) -> httpx.Response:
    async with site.client(person or site.root) as client:
        return await client.post(address(site, "/subscriptions"), json={"upstream_project": upstream.project_id})


async def released(upstream: World, *, tag: bool = True, state: str = "success") -> int:
    """A pipeline of the upstream project that has ended."""
    pipeline = await upstream.pipeline("build: {script: x}\n", tag=tag)
    job = await upstream.job()
    failed = {"failure_reason": "script_failure"} if state == "failed" else {}
    assert (await upstream.put(job, state, b"", **failed)).status_code == 200
    await upstream.settle(pipeline)
    return pipeline


async def rows_of(site: Site) -> Sequence[Any]:
    async with site.services.database.read() as connection:
        rows: Sequence[Any] = (await connection.execute(pipelines.of_project(site.world.project_id, {}))).all()
    return rows


async def runs(site: Site) -> Sequence[Any]:
    async with site.services.database.read() as connection:
        return (await connection.execute(select(subscriptions.run))).all()


async def test_a_tag_that_succeeds_upstream_makes_a_pipeline_of_who_subscribed(site: Site, upstream: World) -> None:
    person = await site.person("ada", MAINTAINER)
    async with site.services.database.write() as connection:
        await members.add_to_project(connection, upstream.project_id, person.id, 20)
    made = await subscribe(site, upstream, person)
    assert made.status_code == 201, made.text
    assert made.json()["author"]["username"] == "ada"
    await released(upstream, tag=False)
    await released(upstream, state="failed")
    assert await SubscriptionLoop(site.services).carry_out_due() == 0
    release = await released(upstream)
    assert await SubscriptionLoop(site.services).carry_out_due() == 1
    (row,) = await rows_of(site)
    assert (row.source, row.ref, row.tag, row.user_id) == ("pipeline", "main", False, person.id)
    assert (row.upstream_id, row.upstream_project_id, row.root_id) == (release, upstream.project_id, release)
    await site.world.settle(row.id)
    job = await site.world.job()
    told = {item["key"]: item["value"] for item in job["variables"]}
    expected = {
        "CI_PIPELINE_SOURCE": "pipeline",
        "CI_UPSTREAM_PIPELINE_ID": str(release),
        "CI_UPSTREAM_PROJECT_ID": str(upstream.project_id),
        "CI_COMMIT_BRANCH": "main",
        "GITLAB_USER_LOGIN": "ada",
    }
    assert {key: told[key] for key in expected} == expected
    assert "CI_UPSTREAM_JOB_ID" not in told


async def test_a_pipeline_that_succeeds_twice_counts_once(site: Site, upstream: World) -> None:
    await subscribe(site, upstream)
    release = await released(upstream)
    async with site.services.database.write() as connection:
        for _ in range(2):
            await subscriptions.note_success(connection, release, site.services.clock())
    loop = SubscriptionLoop(site.services)
    (run,) = await runs(site)
    await asyncio.gather(loop.carry_out(run), SubscriptionLoop(site.services).carry_out(run))
    assert await loop.carry_out_due() == 0
    assert len(await rows_of(site)) == 1


async def test_a_process_that_dies_on_the_way_loses_nothing_and_doubles_nothing(
    site: Site, upstream: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await subscribe(site, upstream)
    await released(upstream)
    reached, never = asyncio.Event(), asyncio.Event()

    async def stuck(*arguments: Any) -> Any:
        found = await prepared(*arguments)
        reached.set()
        await never.wait()
        return found

    monkeypatch.setattr(subscription_loop, "prepared", stuck)
    dying = asyncio.create_task(SubscriptionLoop(site.services).carry_out_due())
    await reached.wait()
    dying.cancel()
    await asyncio.gather(dying, return_exceptions=True)
    monkeypatch.undo()
    assert await rows_of(site) == []
    assert await SubscriptionLoop(site.services).carry_out_due() == 0  # held, as if by another process
    clock = site.services.clock
    later = replace(site.services, clock=lambda: clock() + HELD + timedelta(seconds=1))
    assert await SubscriptionLoop(later).carry_out_due() == 1
    assert len(await rows_of(site)) == 1
    assert await SubscriptionLoop(later).carry_out_due() == 0


async def test_what_is_away_is_tried_again(site: Site, upstream: World, monkeypatch: pytest.MonkeyPatch) -> None:
    await subscribe(site, upstream)
    await released(upstream)

    async def away(*_arguments: object) -> None:
        raise Unavailable("git is away")

    monkeypatch.setattr(subscription_loop, "prepared", away)
    await SubscriptionLoop(site.services).carry_out_due()
    monkeypatch.undo()
    (run,) = await runs(site)
    assert (run.attempts, run.error, run.done_at) == (1, "git is away", None)
    clock = site.services.clock
    later = replace(site.services, clock=lambda: clock() + timedelta(seconds=2))
    assert await SubscriptionLoop(later).carry_out_due() == 1
    assert len(await rows_of(site)) == 1


async def blocked(connection: AsyncConnection, site: Site, person: Person) -> None:
    await connection.execute(accounts.user.update().where(accounts.user.c.id == person.id).values(state="blocked"))


async def demoted(connection: AsyncConnection, site: Site, person: Person) -> None:
    await members.remove_from_project(connection, site.world.project_id, person.id)
    await members.add_to_project(connection, site.world.project_id, person.id, DEVELOPER)


async def gone(connection: AsyncConnection, site: Site, person: Person) -> None:
    await members.remove_from_project(connection, site.world.project_id, person.id)


@pytest.mark.parametrize(
    ("change", "words"), [(blocked, "is blocked"), (demoted, "protected branch"), (gone, "Not Found")]
)
async def test_who_subscribed_must_still_be_allowed(
    site: Site, upstream: World, change: Callable[[AsyncConnection, Site, Person], Awaitable[None]], words: str
) -> None:
    person = await site.person("ada", MAINTAINER)
    async with site.services.database.write() as connection:
        await members.add_to_project(connection, upstream.project_id, person.id, 20)
    await subscribe(site, upstream, person)
    await released(upstream)
    async with site.services.database.write() as connection:
        await change(connection, site, person)
    await SubscriptionLoop(site.services).carry_out_due()
    (run,) = await runs(site)
    assert run.done_at is not None
    assert words in run.error
    assert await rows_of(site) == []


async def test_a_broken_configuration_is_shown_by_a_pipeline_that_failed(site: Site, upstream: World) -> None:
    tree = site.folder / "tree"
    (tree / ".gitlab-ci.yml").write_text("a: {stage: nowhere, script: x}\n")
    await git("commit", "-q", "-am", "Break", cwd=tree)
    await git("push", "-q", site.services.repositories.path(site.world.project_id), "main", cwd=tree)
    await subscribe(site, upstream)
    await released(upstream)
    await SubscriptionLoop(site.services).carry_out_due()
    (row,) = await rows_of(site)
    assert (row.status, row.failure_reason, "nowhere" in row.yaml_errors) == ("failed", "config_error", True)


async def test_subscriptions_are_listed_limited_and_removed(site: Site, upstream: World) -> None:
    made = (await subscribe(site, upstream)).json()
    again = await subscribe(site, upstream)
    assert (again.status_code, "follows it already" in again.text) == (400, True)
    person = await site.person("dev", DEVELOPER)
    maintainer = await site.person("ada", MAINTAINER)
    assert (await subscribe(site, upstream, person)).status_code == 403
    assert (await subscribe(site, upstream, maintainer)).status_code == 404  # may not see the other project
    async with site.client(site.root) as client:
        others = [(await client.post("/api/v4/projects", json={"name": f"p{n}"})).json()["id"] for n in range(2)]
        path = address(site, "/subscriptions")
        assert (await client.post(path, json={"upstream_project": site.world.project_id})).status_code == 400
        assert (await client.post(path, json={"upstream_project": others[0]})).status_code == 201
        third = await client.post(path, json={"upstream_project": others[1]})
        assert (third.status_code, "upstream subscriptions (2)" in third.text) == (400, True)
        mine = {"upstream_project": upstream.project_id}
        followers = [await client.post(f"/api/v4/projects/{one}/subscriptions", json=mine) for one in others]
        assert [response.status_code for response in followers] == [201, 400]
        assert "downstream subscriptions (2)" in followers[1].text
        listed = (await client.get(path)).json()
        assert [one["upstream_project"]["id"] for one in listed] == [upstream.project_id, others[0]]
        assert (await client.delete(f"{path}/{made['id']}")).status_code == 204
        assert (await client.delete(f"/api/v4/projects/{others[0]}")).status_code == 202
        assert (await client.get(path)).json() == []
    await released(upstream)
    assert [run.project_id for run in await runs(site)] == []
