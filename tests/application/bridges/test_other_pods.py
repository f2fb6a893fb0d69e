"""A bridge whose downstream project is in another pod: one pipeline, whose status comes back."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import delete, update

from application.pipelines.sealed_values import opened_variables
from domain.pipelines.bridges import MAX_PIPELINES
from domain.pipelines.status import Status
from models.columns import table_of
from models.repositories.accounts import accounts, members, visits
from models.repositories.pipelines import pipeline_removal
from models.repositories.pipelines.cross_pod import downstream, upstream
from models.tables.projects import Project
from tests.application.bridges.two_pods import BUILD, PERSON, TwoPods
from tests.models.world import outbox_table, pipeline

pytestmark = pytest.mark.slow
"""Two pods for each test; a second and more of each."""

DEPEND = ", strategy: depend"
MIRROR = ", strategy: mirror"


async def test_the_other_pod_makes_the_pipeline_and_its_status_comes_back(two: TwoPods) -> None:
    parent = await two.begin(
        f"{DEPEND}, forward: {{pipeline_variables: true}}", variables=({"key": "A", "value": "b"},)
    )
    assert (await two.bridge(parent)).status == "pending"
    await two.carry_out()
    (made,) = await two.made()
    sealer = two.far.here.site.services.sealer
    bridge = await two.bridge(parent)
    assert (bridge.status, bridge.downstream_id) == ("running", made.id)
    assert (made.source, made.bridge_id, made.ref, made.user_id) == ("pipeline", bridge.id, "main", two.visitor)
    assert [(item["key"], item["value"]) for item in opened_variables(sealer, made.variables)] == [("A", "b")]
    handed = await two.far.here.site.world.job()
    variables = {item["key"]: item["value"] for item in handed["variables"]}
    assert variables["CI_UPSTREAM_PIPELINE_ID"] == str(parent)
    assert variables["CI_UPSTREAM_JOB_ID"] == str(bridge.id)
    assert variables["CI_UPSTREAM_PROJECT_ID"] == str(two.near.here.world.project_id)
    await two.far.here.world.end(handed["id"])
    await two.carry_out()
    assert await two.near.here.world.status(parent) == "success"
    assert await two.owed() == []
    two.line.seen.clear()
    await two.far.loop.note_untold()
    await two.near.loop.compare()
    await two.again()
    assert two.line.seen == [], "nothing is left to be told"


@pytest.mark.parametrize(("ends", "becomes"), [(Status.SUCCESS, "success"), (Status.FAILED, "failed")])
async def test_without_a_strategy_the_bridge_is_done_and_knows_how_its_pipeline_is(
    two: TwoPods, ends: Status, becomes: str
) -> None:
    parent = await two.begin()
    await two.carry_out()
    assert await two.near.here.world.status(parent) == "success"
    await two.far.here.run("build", ends)
    await two.carry_out()
    shown = await _shown(two, parent)
    assert (shown["status"], await two.near.here.world.status(parent)) == (becomes, "success")


async def _shown(two: TwoPods, parent: int, person: Any = None) -> Any:
    base = f"/api/v4/projects/{two.near.here.world.project_id}/pipelines/{parent}/bridges"
    async with two.near.here.site.client(person or two.near.here.site.root) as client:
        (bridge,) = (await client.get(base)).json()
    return bridge["downstream_pipeline"]


async def test_both_sides_show_the_other_one(two: TwoPods) -> None:
    parent = await two.begin(DEPEND)
    await two.carry_out()
    (made,) = await two.made()
    path = await two.target_path()
    shown = await _shown(two, parent)
    assert (shown["id"], shown["project_id"], shown["status"]) == (made.id, two.target, "pending")
    assert shown["web_url"] == f"{two.near.here.site.services.settings.url}/{path}/-/pipelines/{made.id}"
    job_id = await two.far.here.world.take()
    await two.far.loop.note_untold()
    await two.carry_out()
    assert (await _shown(two, parent))["status"] == "running", "nothing was decided: a job was taken"
    await two.far.here.world.end(job_id)
    mine = await two.near.here.path(two.near.here.world.project_id)
    async with two.near.here.site.client(two.near.here.site.root) as client:
        above = (await client.get(f"/{mine}/-/pipelines/{parent}")).text
    async with two.far.here.site.client(two.far.here.site.root) as client:
        below = (await client.get(f"/{path}/-/pipelines/{made.id}")).text
    assert f'<a href="/{path}/-/pipelines/{made.id}"' in above
    assert f'<a href="/{mine}/-/pipelines/{parent}"' in below


async def test_who_is_neither_an_administrator_nor_ran_the_bridge_learns_nothing_of_a_private_project(
    two: TwoPods,
) -> None:
    parent = await two.begin(DEPEND)
    await two.carry_out()
    site = two.near.here.site
    reader, runs = await site.person("grace", 20), await site.with_token(two.ada, PERSON)
    assert await _shown(two, parent, reader) is None
    assert (await _shown(two, parent, runs))["status"] == "pending"
    async with two.near.here.world.database.write() as connection:
        await connection.execute(update(downstream).values(visibility="internal"))
    assert (await _shown(two, parent, reader))["status"] == "pending"


async def test_a_retry_down_there_brings_the_bridge_back_to_life(two: TwoPods) -> None:
    parent = await two.begin(DEPEND)
    await two.carry_out()
    (made,) = await two.made()
    failed = await two.far.here.run("build", Status.FAILED)
    await two.carry_out()
    bridge = await two.bridge(parent)
    assert (bridge.status, bridge.failure_reason) == ("failed", "downstream_pipeline_failed")
    await two.far.here.ask(made.id, "retry_job", failed)
    await two.carry_out()
    again = await two.bridge(parent)
    assert (again.id > bridge.id, again.status, again.downstream_id) == (True, "running", made.id)
    await two.far.here.run("build")
    await two.carry_out()
    assert await two.near.here.world.status(parent) == "success"
    assert len(await two.made()) == 1


async def test_mirror_takes_over_that_somebody_has_to_act(two: TwoPods) -> None:
    files = {".gitlab-ci.yml": "build: {script: make, when: manual, allow_failure: false}\n"}
    parent = await two.begin(MIRROR, files)
    await two.carry_out()
    (made,) = await two.made()
    assert [made.status, (await two.bridge(parent)).status] == ["manual", "manual"]
    build = await two.far.here.named(made.id, "build")
    await two.far.here.ask(made.id, "play_job", build.id)
    await two.carry_out()
    assert (await two.bridge(parent)).status == "running"


async def test_a_retried_bridge_makes_another_pipeline_and_a_canceled_one_cancels_none(two: TwoPods) -> None:
    parent = await two.begin(DEPEND)
    await two.carry_out()
    await two.near.here.ask(parent, "cancel_pipeline")
    await two.carry_out()
    (made,) = await two.made()
    assert (made.status, (await two.bridge(parent)).status) == ("pending", "canceled")
    await two.near.here.ask(parent, "retry_pipeline")
    await two.carry_out()
    rows = await two.made()
    assert [row.id for row in rows] == [made.id, (await two.bridge(parent)).downstream_id]
    await two.far.here.run("build")
    await two.carry_out()
    assert await two.near.here.world.status(parent) == "running", "it was the first one's job"


async def test_a_bridge_that_is_canceled_before_it_was_sent_makes_nothing(two: TwoPods) -> None:
    parent = await two.begin()
    await two.near.here.ask(parent, "cancel_pipeline")
    await two.carry_out()
    assert (await two.made(), await two.owed(), two.line.seen) == ([], [], [])


@pytest.mark.parametrize(
    ("change", "keys", "reason", "text"),
    [
        ({}, ", branch: nowhere", "downstream_pipeline_creation_failed", "Reference not found"),
        ({"state": "blocked"}, "", "downstream_bridge_project_not_found", ""),
        ({"bot": True}, "", "downstream_bridge_project_not_found", ""),
        ({"username": "eve"}, "", "downstream_bridge_project_not_found", ""),
    ],
)
async def test_what_the_other_pod_refuses(
    two: TwoPods, change: dict[str, Any], keys: str, reason: str, text: str
) -> None:
    await two.set_account(**change)
    parent = await two.begin(keys)
    await two.carry_out()
    bridge = await two.bridge(parent)
    assert (bridge.status, bridge.failure_reason, await two.made()) == ("failed", reason, [])
    assert text in await _log(two, bridge.id)
    assert await two.near.here.world.status(parent) == "failed"


async def _log(two: TwoPods, job_id: int) -> str:
    address = f"/api/v4/projects/{two.near.here.world.project_id}/jobs/{job_id}/trace"
    async with two.near.here.site.client(two.near.here.site.root) as client:
        return (await client.get(address)).text


@pytest.mark.parametrize(
    ("level", "visibility", "reason"),
    [
        (0, "private", "downstream_bridge_project_not_found"),
        (20, "private", "insufficient_bridge_permissions"),
        (0, "public", "insufficient_bridge_permissions"),
        (40, "private", ""),
    ],
)
async def test_the_rights_of_the_visitor_count(two: TwoPods, level: int, visibility: str, reason: str) -> None:
    table = table_of(Project)
    async with two.far.here.world.database.write() as connection:
        await connection.execute(update(table).where(table.c.id == two.target).values(visibility=visibility))
        await connection.execute(delete(members.member).where(members.member.c.user_id == two.visitor))
        if level:
            await members.add_to_project(connection, two.target, two.visitor, level)
    parent = await two.begin()
    await two.carry_out()
    bridge = await two.bridge(parent)
    assert (bridge.failure_reason, bridge.downstream_id is None) == (reason, bool(reason))


async def test_a_project_that_is_not_there_and_one_that_is_hidden_are_told_apart_by_nobody(two: TwoPods) -> None:
    hidden = await two.far.here.project("hidden", BUILD)
    there = await two.far.here.path(hidden)
    texts = []
    for path in (there, f"{there}-not"):
        parent = await two.near.here.begin({".gitlab-ci.yml": f"go: {{trigger: {path}}}"}, user_id=two.ada)
        await two.carry_out()
        bridge = await two.bridge(parent)
        texts.append((bridge.failure_reason, (await _log(two, bridge.id)).replace(path, "PATH")))
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("home_pod", "home_id", "reason"),
    [
        (None, None, "downstream_bridge_project_not_found"),  # of before there was a cluster
        (0, 12345, "downstream_bridge_project_not_found"),  # the name was somebody else's when they came
        (1, None, "downstream_bridge_project_not_found"),
        (0, None, ""),  # a member who was named before they ever came
    ],
)
async def test_who_only_has_the_name_is_somebody_else(
    two: TwoPods, home_pod: int | None, home_id: int | None, reason: str
) -> None:
    async with two.far.here.world.database.write() as connection:
        await accounts.change(connection, two.visitor, home_pod=home_pod, home_id=home_id)
    parent = await two.begin()
    await two.carry_out()
    assert (await two.bridge(parent)).failure_reason == reason


@pytest.mark.parametrize("home", [2, 1, None])
async def test_a_pod_is_not_believed_of_people_of_a_third_one_or_of_the_asked_one(
    two: TwoPods, home: int | None
) -> None:
    del two.organisations[PERSON]
    if home is not None:
        two.organisations[PERSON] = home
    parent = await two.begin()
    await two.carry_out()
    assert (await two.bridge(parent)).failure_reason == "downstream_bridge_project_not_found"
    assert await two.made() == []


async def test_bots_act_in_their_own_pod(two: TwoPods) -> None:
    async with two.near.here.world.database.write() as connection:
        await connection.execute(update(accounts.user).where(accounts.user.c.id == two.ada).values(bot=True))
    parent = await two.begin()
    await two.carry_out()
    bridge = await two.bridge(parent)
    assert bridge.failure_reason == "insufficient_bridge_permissions"
    assert "bots act in their own pod only" in await _log(two, bridge.id)
    assert two.line.seen == []


async def test_faults_of_the_configuration_down_there_are_shown_by_a_failed_pipeline(two: TwoPods) -> None:
    parent = await two.begin(DEPEND, {".gitlab-ci.yml": "build: {scrip: make}\n"})
    two.line.lose_responses = 1
    await two.carry_out()
    await two.again()
    (made,) = await two.made()
    bridge = await two.bridge(parent)
    assert (made.status, made.failure_reason) == ("failed", "config_error")
    assert (bridge.status, bridge.failure_reason) == ("failed", "downstream_pipeline_creation_failed")
    assert bridge.downstream_id == made.id
    assert "scrip" in await _log(two, bridge.id)


async def test_two_projects_that_trigger_each_other_across_pods_are_stopped(two: TwoPods) -> None:
    """Also: the home of a person believes a pod that they visit."""
    async with two.near.here.world.database.write() as connection:
        await visits.note_ticket(connection, two.ada, 1, two.near.here.world.now())
    mine = await two.near.here.path(two.near.here.world.project_id)
    parent = await two.begin("", {".gitlab-ci.yml": f"go: {{trigger: {mine}}}\n"})
    await two.carry_out()
    near = await two.near.here.world.rows(pipeline)
    far = await two.made()
    assert ([row.source for row in near], [row.source for row in far]) == (
        ["push", "pipeline", "pipeline"],
        ["pipeline"] * 3,
    )
    assert near[0].id == parent
    assert (await two.far.here.named(far[-1].id, "go")).failure_reason == "pipeline_loop_detected"


async def test_the_size_of_a_hierarchy_counts_what_is_in_other_pods(two: TwoPods) -> None:
    await two.begin(
        "", {".gitlab-ci.yml": "go: {trigger: {include: [{local: child.yml}]}}\n", "child.yml": "a: {script: x}"}
    )
    await two.near.loop.carry_out_due()
    async with two.far.here.world.database.write() as connection:
        await connection.execute(update(upstream).values(hierarchy=MAX_PIPELINES - 1))
    await two.carry_out()
    (made,) = await two.made()
    assert (await two.far.here.named(made.id, "go")).failure_reason == "reached_max_pipeline_hierarchy_size"


async def test_a_pipeline_that_is_gone_has_failed(two: TwoPods) -> None:
    """Removed, or not in the backup that the other pod was put back from."""
    parent = await two.begin(DEPEND)
    await two.carry_out()
    (made,) = await two.made()
    async with two.far.here.world.database.write() as connection:
        await connection.execute(delete(outbox_table))
        await connection.execute(update(pipeline).values(status="success"))
        assert await pipeline_removal.remove_ended(connection, made.id)
    await two.near.loop.compare()
    assert (await two.bridge(parent)).status == "running", "it was heard of a moment ago"
    await _let_time_pass(two)
    await two.near.loop.compare()
    await two.carry_out()
    assert ((await two.bridge(parent)).status, await two.near.here.world.status(parent)) == ("failed", "failed")


async def _let_time_pass(two: TwoPods) -> None:
    """Nothing was heard of pipelines for a minute."""
    async with two.near.here.world.database.write() as connection:
        earlier = two.near.here.world.now() - timedelta(minutes=1)
        await connection.execute(update(downstream).values(checked_at=earlier))


async def test_what_was_never_told_is_asked_for(two: TwoPods) -> None:
    parent = await two.begin(DEPEND)
    await two.carry_out()
    await two.far.here.run("build")
    async with two.far.here.world.database.write() as connection:
        await connection.execute(delete(outbox_table))
    await _let_time_pass(two)
    await two.near.loop.compare()
    await two.near.carry_out()
    assert await two.near.here.world.status(parent) == "success"


async def test_what_goes_with_a_pipeline_and_a_project(two: TwoPods) -> None:
    parent = await two.begin()
    await two.carry_out()
    await two.far.here.run("build")
    await two.carry_out()
    (made,) = await two.made()
    for pod, pipeline_id in ((two.near, parent), (two.far, made.id)):
        async with pod.here.world.database.write() as connection:
            assert await pipeline_removal.remove_ended(connection, pipeline_id)
    assert [await pod.here.world.rows(table) for pod in (two.near, two.far) for table in (downstream, upstream)] == [
        []
    ] * 4


async def test_a_pipeline_of_this_pod_that_is_removed_is_forgotten_by_its_bridge(two: TwoPods) -> None:
    other = await two.near.here.project("other", BUILD)
    path = await two.near.here.path(other)
    parent = await two.near.here.begin({".gitlab-ci.yml": f"go: {{trigger: {path}}}"})
    made = (await two.bridge(parent)).downstream_id
    await two.near.here.run("build")
    async with two.near.here.world.database.write() as connection:
        assert await pipeline_removal.remove_ended(connection, made)
    assert (await two.bridge(parent)).downstream_id is None
