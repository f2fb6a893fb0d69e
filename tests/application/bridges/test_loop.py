"""Downstream pipelines are made once, with what they shall get, and their bridges take over their status."""

from typing import Any

import pytest
from sqlalchemy import update

from domain.errors import Unavailable
from domain.messages import Command
from domain.pipelines.bridges import MAX_PIPELINES
from domain.pipelines.status import Status
from models.columns import table_of
from models.repositories.accounts import accounts, members
from models.repositories.pipelines import operation_callers, outbox
from models.repositories.pipelines.outbox import BRIDGE, COMMAND, FOLLOW, OUTCOME, START
from models.tables.projects import Project
from tests.application.bridges.installation import Installation
from tests.models.world import outbox_table, pipeline

CHILD = {"child.yml": "inner: {script: make}\n"}


def trigger(keys: str = "", include: str = "child.yml") -> str:
    """A configuration whose only job triggers a child."""
    return f"""
        variables: {{LEVEL: "3"}}
        go:
          variables: {{PLACE: at-$LEVEL}}
          trigger:
            include: {include}
            {keys}
    """


def files(config: str, more: dict[str, str] | None = None) -> dict[str, str]:
    """A repository with this configuration and that of a child."""
    return {".gitlab-ci.yml": config, **(CHILD if more is None else more)}


async def test_a_child_pipeline_runs_the_same_commit_and_its_bridge_is_done(here: Installation) -> None:
    parent = await here.begin(files(trigger()))
    child = await here.downstream(parent, "go")
    above = await here.world.row(pipeline, id=parent)
    assert (child.source, child.project_id, child.sha, child.ref) == (
        "parent_pipeline",
        above.project_id,
        above.sha,
        "main",
    )
    assert (child.upstream_id, child.root_id, child.depth) == (parent, parent, 1)
    assert child.bridge_id == (await here.named(parent, "go")).id
    assert child.commit["title"] == "First"
    assert {(item["key"], item["value"]) for item in here.given(child)} == {("LEVEL", "3"), ("PLACE", "at-3")}
    assert await here.world.status(parent) == "success"
    assert len(await here.world.outbox(child.id, START)) == 1
    await here.run("inner", Status.FAILED)
    assert await here.world.status(child.id) == "failed"
    assert await here.world.status(parent) == "success"


async def test_depend_waits_fails_and_comes_to_life_with_a_retry_down_there(here: Installation) -> None:
    parent = await here.begin(files(trigger("strategy: depend")))
    child = (await here.downstream(parent, "go")).id
    assert await here.world.status(parent) == "running"
    failed = await here.run("inner", Status.FAILED)
    bridge = await here.named(parent, "go")
    assert (bridge.status, bridge.failure_reason) == ("failed", "downstream_pipeline_failed")
    assert await here.world.status(parent) == "failed"
    await here.ask(child, "retry_job", failed)
    again = await here.named(parent, "go")
    assert (again.id > bridge.id, again.status, again.downstream_id) == (True, "running", child)
    assert await here.world.status(parent) == "running"
    await here.run("inner")
    assert await here.world.status(parent) == "success"
    assert len(await here.world.rows(pipeline)) == 2


async def test_who_lets_a_downstream_pipeline_run_again_is_the_user_of_what_comes_to_life_above(
    here: Installation,
) -> None:
    config = trigger("strategy: depend") + "\n        after: {stage: deploy, script: x}\n"
    parent = await here.begin(files(config))
    child = (await here.downstream(parent, "go")).id
    failed = await here.run("inner", Status.FAILED)
    assert (await here.named(parent, "after")).status == "skipped"
    async with here.world.database.write() as connection:
        bob = await accounts.create_user(connection, "bob", "Bob", "bob@example.com", here.world.now())
        await operation_callers.put(connection, child, failed, bob, name="retry_job", key="k")
    await here.world.settle(child, Command("retry_job", "k", failed))
    await here.carry_out()
    names = [(await here.named(*of)).user_id for of in ((child, "inner"), (parent, "go"), (parent, "after"))]
    assert names == [bob] * 3
    failed = await here.run("inner", Status.FAILED)
    await here.ask(child, "retry_job", failed)
    names = [(await here.named(*of)).user_id for of in ((child, "inner"), (parent, "go"), (parent, "after"))]
    assert names == [here.world.user_id] * 3, "nobody knows who has asked now"


async def test_a_revival_waits_until_the_end_before_it_is_folded(here: Installation) -> None:
    parent = await here.begin(files(trigger("strategy: depend")))
    child = (await here.downstream(parent, "go")).id
    inner = await here.world.take()
    await here.world.end(inner, Status.FAILED, reason="script_failure")
    await here.world.settle(child)
    await here.loop.carry_out_due()
    bridge = await here.named(parent, "go")
    assert (bridge.status, bridge.folded) == ("failed", False)
    await here.ask_only(child, "retry_job", inner)
    await here.loop.carry_out_due()
    assert not await here.world.outbox(parent, COMMAND)
    (row,) = await here.world.outbox(child, FOLLOW)
    assert row.attempts == 1
    await here.world.settle(parent)
    await here.due_now()
    await here.carry_out()
    assert (await here.named(parent, "go")).status == "running"


async def test_mirror_takes_over_that_somebody_has_to_act(here: Installation) -> None:
    config = files(
        trigger("strategy: mirror"), {"child.yml": "inner: {script: make, when: manual, allow_failure: false}"}
    )
    parent = await here.begin(config)
    child = (await here.downstream(parent, "go")).id
    assert await here.world.status(parent) == "manual"
    await here.ask(child, "play_job", (await here.named(child, "inner")).id)
    assert (await here.named(parent, "go")).status == "running"
    assert await here.world.status(parent) == "running"
    await here.run("inner")
    assert await here.world.status(parent) == "success"


async def test_depend_keeps_running_while_somebody_has_to_act(here: Installation) -> None:
    config = files(
        trigger("strategy: depend"), {"child.yml": "inner: {script: make, when: manual, allow_failure: false}"}
    )
    parent = await here.begin(config)
    assert (await here.named(parent, "go")).status == "running"


async def test_cancel_goes_down_to_a_child(here: Installation) -> None:
    parent = await here.begin(files(trigger("strategy: depend")))
    child = (await here.downstream(parent, "go")).id
    await here.ask(parent, "cancel_pipeline")
    assert await here.world.status(parent) == "canceled"
    assert await here.world.status(child) == "canceled"
    assert (await here.named(parent, "go")).attempt == 1
    assert "parent pipeline" in (await here.world.row(pipeline, id=child)).status_reason
    await here.ask(child, "retry_pipeline")
    await here.run("inner")
    assert await here.world.status(parent) == "success"


async def test_a_retried_bridge_makes_a_new_pipeline(here: Installation) -> None:
    parent = await here.begin(files(trigger()))
    first = await here.named(parent, "go")
    await here.ask(parent, "retry_job", first.id)
    second = await here.named(parent, "go")
    assert second.id != first.id
    assert second.downstream_id not in {None, first.downstream_id}
    assert {row.bridge_id for row in await here.world.rows(pipeline)} == {None, first.id, second.id}


async def test_carried_out_twice_there_is_one_pipeline(here: Installation) -> None:
    parent = await here.create(files(trigger("strategy: depend")))
    await here.world.settle(parent)
    (row,) = await here.unsent()
    await here.loop.carry_out(row)
    await here.loop.carry_out(row)
    assert len(await here.world.rows(pipeline)) == 2
    assert (await here.named(parent, "go")).status == "running"
    assert not await here.world.outbox(parent, BRIDGE)


async def test_killed_before_the_commit_nothing_is_left_and_the_next_try_makes_one(
    here: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = await here.create(files(trigger("strategy: depend")))
    await here.world.settle(parent)
    with monkeypatch.context() as fault:
        fault.setattr(outbox, "mark_sent", _away)
        await here.loop.carry_out_due()
    assert len(await here.world.rows(pipeline)) == 1
    assert (await here.named(parent, "go")).status == "pending"
    (row,) = await here.world.outbox(parent, BRIDGE)
    assert row.error == "The database is away."
    await here.due_now()
    await here.carry_out()
    assert len(await here.world.rows(pipeline)) == 2
    assert (await here.named(parent, "go")).status == "running"


async def _away(*_: Any) -> None:
    raise Unavailable("The database is away.")


async def test_a_bridge_that_was_canceled_meanwhile_makes_nothing(here: Installation) -> None:
    parent = await here.create(files(trigger()))
    await here.world.settle(parent)
    await here.ask_only(parent, "cancel_pipeline")
    await here.carry_out()
    assert len(await here.world.rows(pipeline)) == 1
    assert await here.world.status(parent) == "canceled"


async def test_faults_of_a_child_are_shown_by_a_failed_pipeline_and_the_log(here: Installation) -> None:
    parent = await here.begin(files(trigger(), {"child.yml": "inner: {scrpt: make}"}))
    bridge = await here.named(parent, "go")
    assert (bridge.status, bridge.failure_reason) == ("failed", "downstream_pipeline_creation_failed")
    child = await here.downstream(parent, "go")
    assert (child.status, child.source, child.upstream_id) == ("failed", "parent_pipeline", parent)
    assert "child.yml:1:" in child.yaml_errors
    async with here.site.client(here.site.root) as client:
        log = await client.get(f"/api/v4/projects/{bridge.project_id}/jobs/{bridge.id}/trace")
        bridges = await client.get(f"/api/v4/projects/{bridge.project_id}/pipelines/{parent}/bridges")
    assert "The downstream pipeline could not be made" in log.text
    assert bridges.json()[0]["failure_reason"] == "downstream_pipeline_creation_failed"
    assert bridges.json()[0]["downstream_pipeline"]["status"] == "failed"


async def test_a_child_without_jobs_is_no_pipeline(here: Installation) -> None:
    parent = await here.begin(files(trigger(), {"child.yml": "inner: {script: make, rules: [{when: never}]}"}))
    bridge = await here.named(parent, "go")
    assert (bridge.failure_reason, bridge.downstream_id) == ("downstream_pipeline_creation_failed", None)
    assert len(await here.world.rows(pipeline)) == 1


async def test_inputs_go_to_the_child(here: Installation) -> None:
    child = "spec: {inputs: {level: {}}}\n---\ninner-$[[ inputs.level ]]: {script: make}\n"
    parent = await here.begin(
        files(trigger(include="[{local: child.yml, inputs: {level: deep-3}}]"), {"child.yml": child})
    )
    assert await here.world.statuses((await here.downstream(parent, "go")).id) == {"inner-deep-3": "pending"}


async def test_children_may_be_two_levels_deep_and_not_three(here: Installation) -> None:
    more = {
        "one.yml": "go: {trigger: {include: two.yml, strategy: depend}}",
        "two.yml": "go: {trigger: {include: three.yml, strategy: depend}}",
        "three.yml": "inner: {script: make}",
    }
    parent = await here.begin(files(trigger("strategy: depend", "one.yml"), more))
    rows = await here.world.rows(pipeline)
    assert [(row.depth, row.root_id, row.status) for row in rows] == [
        (0, None, "failed"),
        (1, parent, "failed"),
        (2, parent, "failed"),
    ]
    deepest = await here.named(rows[2].id, "go")
    assert (deepest.failure_reason, deepest.downstream_id) == ("reached_max_descendant_pipelines_depth", None)


async def test_a_hierarchy_has_a_limit(here: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("domain.pipelines.bridges.MAX_PIPELINES", 2)
    both = """
        stages: [a, b]
        one: {stage: a, trigger: {include: child.yml}}
        two: {stage: b, trigger: {include: child.yml}}
    """
    parent = await here.begin(files(both))
    assert (await here.named(parent, "one")).status == "success"
    assert (await here.named(parent, "two")).failure_reason == "reached_max_pipeline_hierarchy_size"
    assert MAX_PIPELINES == 1_000


async def test_another_project_is_triggered_with_what_is_forwarded(here: Installation) -> None:
    other = await here.project("other", {".gitlab-ci.yml": "build: {script: make}\n"})
    config = f"""
        variables: {{LEVEL: "3", RAW: {{value: $5, expand: false}}}}
        go:
          trigger:
            project: {(await here.path(other)).rpartition("/")[0]}/$NAME
            branch: $CI_DEFAULT_BRANCH
            strategy: depend
            forward: {{pipeline_variables: true}}
    """
    parent = await here.begin(files(config), variables=({"key": "NAME", "value": "other"},))
    made = await here.downstream(parent, "go")
    assert (made.project_id, made.source, made.depth, made.root_id) == (other, "pipeline", 0, parent)
    assert {item["key"]: (item["value"], item.get("raw")) for item in here.given(made)} == {
        "LEVEL": ("3", None),
        "RAW": ("$5", True),
        "NAME": ("other", None),
    }
    assert made.upstream_project_id == here.world.project_id
    await here.run("build")
    assert await here.world.status(parent) == "success"


async def test_cancel_does_not_reach_another_project(here: Installation) -> None:
    other = await here.project("other", {".gitlab-ci.yml": "build: {script: make}\n"})
    parent = await here.begin(files(f"go: {{trigger: {{project: {await here.path(other)}, strategy: depend}}}}"))
    made = (await here.downstream(parent, "go")).id
    await here.ask(parent, "cancel_pipeline")
    assert (await here.world.status(parent), await here.world.status(made)) == ("canceled", "pending")
    await here.run("build")
    assert (await here.named(parent, "go")).attempt == 1


@pytest.mark.parametrize(
    ("level", "visibility", "reason"),
    [
        (0, "private", "downstream_bridge_project_not_found"),
        (20, "private", "insufficient_bridge_permissions"),
        (0, "public", "insufficient_bridge_permissions"),
        (30, "private", "insufficient_bridge_permissions"),
        (40, "private", ""),
    ],
)
async def test_whoever_runs_the_bridge_must_be_allowed_to(
    here: Installation, level: int, visibility: str, reason: str
) -> None:
    other = await here.project("other", {".gitlab-ci.yml": "build: {script: make}\n"})
    person = await here.site.person("grace", 30)
    async with here.world.database.write() as connection:
        await connection.execute(
            update(table_of(Project)).where(table_of(Project).c.id == other).values(visibility=visibility)
        )
        if level:
            await members.add_to_project(connection, other, person.id, level)
    parent = await here.begin(files(f"go: {{trigger: {await here.path(other)}}}"), user_id=person.id)
    bridge = await here.named(parent, "go")
    assert (bridge.failure_reason, bridge.downstream_id is None) == (reason, bool(reason))


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("{project: nobody/nothing}", "downstream_bridge_project_not_found"),
        ("{project: SELF}", "invalid_bridge_trigger"),
        ("{project: OTHER, branch: nowhere}", "downstream_pipeline_creation_failed"),
        ("{project: EMPTY}", "downstream_pipeline_creation_failed"),
    ],
)
async def test_what_cannot_be_triggered(here: Installation, target: str, reason: str) -> None:
    other = await here.project("other", {".gitlab-ci.yml": "build: {script: make}\n"})
    empty = await here.project("empty", {"README": "nothing"})
    text = target.replace("SELF", await here.path(here.world.project_id))
    text = text.replace("OTHER", await here.path(other)).replace("EMPTY", await here.path(empty))
    parent = await here.begin(files(f"go: {{trigger: {text}}}"))
    bridge = await here.named(parent, "go")
    assert (bridge.status, bridge.failure_reason) == ("failed", reason)


async def test_two_projects_that_trigger_each_other_are_stopped(here: Installation) -> None:
    mine = await here.path(here.world.project_id)
    other = await here.project("other", {".gitlab-ci.yml": f"back: {{trigger: {mine}}}"})
    await here.begin(files(f"go: {{trigger: {await here.path(other)}}}"))
    rows = await here.world.rows(pipeline)
    assert [(row.project_id, row.source) for row in rows] == [
        (here.world.project_id, "push"),
        *[(other, "pipeline"), (here.world.project_id, "pipeline")] * 2,
        (other, "pipeline"),
    ]
    assert (await here.named(rows[-1].id, "back")).failure_reason == "pipeline_loop_detected"
    assert rows[-1].root_id == rows[0].id


async def test_triggered_pipelines_ignore_the_mark_that_skips(here: Installation) -> None:
    parent = await here.begin(files(trigger()))
    await here.set_message(parent, "First [skip ci]")
    await here.ask(parent, "retry_job", (await here.named(parent, "go")).id)
    assert (await here.downstream(parent, "go")).status == "pending"


async def test_a_bridge_that_fell_out_of_step_catches_up(here: Installation) -> None:
    parent = await here.begin(files(trigger("strategy: depend")))
    child = (await here.downstream(parent, "go")).id
    await here.world.end(await here.world.take())
    await here.world.settle(child)
    async with here.world.database.write() as connection:
        await connection.execute(outbox_table.delete().where(outbox_table.c.kind == FOLLOW))
    assert not await here.loop.keep_in_step((await here.world.row(pipeline, id=child)).updated_at)
    assert await here.loop.keep_in_step(here.world.now()) == [child]
    await here.carry_out()
    assert await here.world.status(parent) == "success"
    assert not await here.loop.keep_in_step(here.world.now())


async def test_a_bridge_that_was_not_told_of_a_retry_comes_to_life_later(here: Installation) -> None:
    parent = await here.begin(files(trigger("strategy: depend")))
    child = (await here.downstream(parent, "go")).id
    failed = await here.run("inner", Status.FAILED)
    assert not await here.loop.keep_in_step(here.world.now())
    await here.ask_only(child, "retry_job", failed)
    async with here.world.database.write() as connection:
        await connection.execute(outbox_table.delete().where(outbox_table.c.kind == FOLLOW))
    assert await here.loop.keep_in_step(here.world.now()) == [child]
    await here.carry_out()
    assert (await here.named(parent, "go")).status == "running"
    assert not await here.loop.keep_in_step(here.world.now())


async def test_a_fault_that_nobody_expected_does_not_hang_the_bridge_for_ever(
    here: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = await here.create(files(trigger()))
    await here.world.settle(parent)

    async def broken(*_: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("loops.bridges.wish_of", broken)
    for attempt in range(9):
        assert (await here.named(parent, "go")).status == "pending", attempt
        await here.due_now()
        await here.loop.carry_out_due()
    bridge = await here.named(parent, "go")
    assert (bridge.status, bridge.failure_reason) == ("failed", "downstream_pipeline_creation_failed")
    assert len(await here.world.outbox(parent, OUTCOME)) == 1
