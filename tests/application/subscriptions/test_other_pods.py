"""A project follows the releases of one in another pod: each makes one pipeline, whatever is lost on the way."""

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import delete, update

from application.subscriptions.elsewhere import hear_of_release
from domain.errors import Refused, Unavailable
from domain.pipelines.cross_pod_subscriptions import RENEWED_EVERY, SETTLED_AFTER, Release
from domain.pipelines.status import Status
from domain.pods.moving import Move
from models.repositories.accounts import accounts, members
from models.repositories.moves import moves
from models.repositories.projects import subscriptions
from models.rows.moves import OrganisationMoveRow
from tests.application.bridges.two_pods import BUILD, TwoPods
from tests.application.subscriptions.following import (
    address,
    count,
    followed,
    followers,
    made,
    release,
    runs,
    subscribe,
)
from tests.models.world import pipeline

pytestmark = pytest.mark.slow
"""Two pods for each test; a second and more of each."""

AN_HOUR = RENEWED_EVERY + timedelta(seconds=1)


async def test_a_release_makes_a_pipeline_of_who_subscribed(two: TwoPods) -> None:
    await followed(two)
    await release(two, tag=False)
    await release(two, Status.FAILED)
    assert await made(two) == []
    upstream = await release(two)
    (row,) = await made(two)
    assert (row.source, row.ref, row.tag, row.user_id) == ("pipeline", "main", False, two.ada)
    await two.near.here.carry_out()
    handed = await two.near.here.site.world.job()
    told = {item["key"]: item["value"] for item in handed["variables"]}
    assert told["CI_UPSTREAM_PIPELINE_ID"] == str(upstream)
    assert told["CI_UPSTREAM_PROJECT_ID"] == str(two.target)
    assert await two.owed() == []
    assert [one.pipeline_id for one in await runs(two)] == [row.id]


async def test_it_is_shown_and_ended_like_any_other(two: TwoPods) -> None:
    key = await followed(two)
    path = await two.target_path()
    async with two.near.here.site.client(two.near.here.site.root) as client:
        (shown,) = (await client.get(address(two))).json()
        assert shown["upstream_project"] == {"id": two.target, "path_with_namespace": path}
        assert (shown["id"], shown["author"]["username"]) == (key, "ada")
        assert (await subscribe(two)).status_code == 400, "it follows it already"
        assert (await client.delete(f"{address(two)}/{key}")).status_code == 204
        assert (await client.get(address(two))).json() == []
    assert await followers(two) == []
    await release(two)
    assert await made(two) == []
    assert (await subscribe(two, two.target)).status_code == 201, "by its id, and again"


@pytest.mark.parametrize("lost", ["requests", "responses"])
async def test_what_is_lost_on_the_way_is_told_again_and_counts_once(two: TwoPods, lost: str) -> None:
    await followed(two)
    await release(two)
    setattr(two.line, f"lose_{lost}", 1)
    await two.far.loop.carry_out_due()
    assert len(await two.owed()) == 1
    assert len(await made(two)) == 1
    assert await two.owed() == []


async def test_a_pod_that_dies_before_it_has_written_a_subscription_is_not_told_for_ever(two: TwoPods) -> None:
    two.line.lose_responses = 1
    refused = await subscribe(two)
    assert (refused.status_code, await count(two)) == (503, 0)
    assert len(await followers(two)) == 1
    await release(two)
    assert (await made(two), await two.owed()) == ([], [])
    assert len(await followers(two)) == 1, "the subscription may just be written"
    await _age_followers(two)
    await release(two)
    assert (await made(two), await two.owed(), await followers(two)) == ([], [], [])


async def _age_followers(two: TwoPods) -> None:
    past = two.far.here.world.now() - SETTLED_AFTER - timedelta(seconds=1)
    async with two.far.here.world.database.write() as connection:
        await connection.execute(update(subscriptions.follower).values(noted_at=past))


async def test_a_pod_that_has_forgotten_its_followers_is_told_of_them_again(two: TwoPods) -> None:
    await followed(two)
    async with two.far.here.world.database.write() as connection:
        await connection.execute(delete(subscriptions.follower))
    await two.near.loop.renew()
    assert await followers(two) == [], "it was told a moment ago"
    async with two.near.here.world.database.write() as connection:
        past = two.near.here.world.now() - AN_HOUR
        await connection.execute(update(subscriptions.subscription).values(told_at=past, upstream_path="old"))
    two.line.lose_requests = 1
    await two.near.loop.renew()
    assert await followers(two) == []
    await two.near.loop.renew()
    assert len(await followers(two)) == 1
    (row,) = await two.near.here.world.rows(subscriptions.subscription)
    assert row.upstream_path == await two.target_path()
    two.line.seen.clear()
    await two.near.loop.renew()
    assert two.line.seen == []
    await release(two)
    assert len(await made(two)) == 1


async def test_a_project_that_one_may_not_see_is_one_that_is_not_there(two: TwoPods) -> None:
    path = await two.target_path()
    site = two.near.here.site
    stranger = await site.person("grace", 40)
    two.organisations["grace"] = 0
    answers = [await subscribe(two, named, stranger) for named in (path, two.target, f"{path}-not")]
    assert [(one.status_code, one.json()) for one in answers] == [(404, {"message": "404 Project Not Found"})] * 3
    assert (await count(two), await followers(two)) == (0, [])


async def test_a_name_that_the_other_pod_has_not_heard_of_yet_may_come_again(two: TwoPods) -> None:
    del two.organisations["ada"]
    refused = await subscribe(two)
    assert (refused.status_code, await followers(two), await count(two)) == (503, [], 0)
    two.organisations["ada"] = 0
    assert (await subscribe(two)).status_code == 201


async def test_bots_follow_projects_of_their_own_pod(two: TwoPods) -> None:
    async with two.near.here.world.database.write() as connection:
        await accounts.change(connection, two.ada, bot=True)
    refused = await subscribe(two)
    assert (refused.status_code, await followers(two)) == (403, [])
    assert "own pod" in refused.json()["message"]


@pytest.mark.parametrize("by", ["membership", "account"])
async def test_who_may_not_see_the_project_any_more_gets_no_pipelines(two: TwoPods, by: str) -> None:
    await followed(two)
    async with two.far.here.world.database.write() as connection:
        if by == "membership":
            await members.remove_from_project(connection, two.target, two.visitor)
        else:
            await accounts.change(connection, two.visitor, state="blocked")
    two.line.seen.clear()
    await release(two)
    assert (await made(two), await two.owed(), two.line.seen) == ([], [], [])


async def test_limits_count_followers_of_all_pods(two: TwoPods) -> None:
    await followed(two)
    second = await two.near.here.project("second", BUILD)
    third = await two.far.here.project("third", BUILD)
    async with two.far.here.site.client(two.far.here.site.root) as client:
        mine = await client.post(f"/api/v4/projects/{third}/subscriptions", json={"upstream_project": two.target})
        assert mine.status_code == 201
    async with two.near.here.world.database.write() as connection:
        await members.add_to_project(connection, second, two.ada, 40)
    async with two.near.here.site.client(await two.near.here.site.with_token(two.ada, "ada")) as client:
        body = {"upstream_project": two.target}
        refused = await client.post(f"/api/v4/projects/{second}/subscriptions", json=body)
    assert (refused.status_code, len(await followers(two))) == (400, 1)
    assert "Maximum number of downstream subscriptions (2)" in refused.text


async def test_a_project_that_comes_to_the_pod_of_its_upstream_is_followed_there_only(two: TwoPods) -> None:
    """As after a move: the organisation of the follower is of the far pod by now."""
    await followed(two)
    mine = (await two.near.here.path(two.near.here.world.project_id)).partition("/")[0]
    two.organisations[mine] = 1
    two.line.seen.clear()
    await release(two)
    await two.again()
    assert (two.line.seen, await followers(two), await two.owed()) == ([], [], [])


async def test_a_project_that_is_on_its_way_hears_of_the_release_later(two: TwoPods) -> None:
    await followed(two)
    services, now = two.near.here.site.services, two.near.here.world.now()
    project_id = two.near.here.world.project_id
    told = Release(1, two.target, await two.target_path())
    pod = two.directory.by_number[1]
    with pytest.raises(Refused, match="nobody follows"):
        await hear_of_release(services, pod, project_id + 5, told)
    facts = {"ids": {"project": [project_id + 5]}}
    row = OrganisationMoveRow(
        move_id="m",
        organisation_id=1,
        path="p",
        target="far",
        target_number=1,
        state=Move.PACKED,
        claim_id="",
        facts=facts,
        created_at=now,
        changed_at=now,
        forget_at=None,
    )
    async with services.database.write() as connection:
        await moves.begin(connection, row)
    with pytest.raises(Unavailable, match="is moving"):
        await hear_of_release(services, pod, project_id + 5, told)
    with pytest.raises(Unavailable, match="is moving"):
        await hear_of_release(services, pod, two.target, told)
    assert await runs(two) == []


async def test_only_the_pod_that_has_a_project_speaks_for_it(two: TwoPods) -> None:
    await followed(two)
    services = two.near.here.site.services
    third = replace(two.directory.by_number[1], number=7, name="third")
    told = Release(1, two.target, await two.target_path())
    with pytest.raises(Unavailable, match="not known to be in pod third"):
        await hear_of_release(services, third, two.near.here.world.project_id, told)
    other = Release(1, two.target + 1, told.full_path)
    with pytest.raises(Refused):
        await hear_of_release(services, two.directory.by_number[1], two.near.here.world.project_id, other)
    assert await runs(two) == []


async def test_a_removed_upstream_leaves_nothing_that_waits(two: TwoPods) -> None:
    await followed(two)
    await release(two)
    async with two.far.here.site.client(two.far.here.site.root) as client:
        assert (await client.delete(f"/api/v4/projects/{two.target}")).status_code == 202
    rows = await two.far.here.world.rows(pipeline)
    assert len(await made(two)) == (1 if rows else 0)
    assert await two.owed() == []
