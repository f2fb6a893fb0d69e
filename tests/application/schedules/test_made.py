"""The pipeline of a tick: for whom, of what, with which variables; and ticks that fail."""

from typing import Any

import pytest
from sqlalchemy import delete, update

from application.schedules.scheduled import OWNER_GONE
from domain.errors import Unavailable
from loops import schedule_ticks as loop_module
from loops.due_rows import MAX_ATTEMPTS
from loops.schedule_ticks import FAULT
from models.columns import table_of
from models.repositories.accounts import accounts
from models.repositories.projects import protected_refs
from models.tables.accounts import User
from models.tables.projects import Member
from tests.application.schedules.planned import SIDE, Planned, pipeline_table, schedule_table, tick_table
from tests.git.serving import git

member = table_of(Member)
user = table_of(User)

RULES = """
spec:
  inputs:
    target: {default: nowhere}
---
variables: {FROM: yaml, ONLY: yaml}
build $[[ inputs.target ]]:
  script: make
  rules:
    - if: '$CI_PIPELINE_SOURCE == "schedule" && $FROM == "schedule"
           && $CI_PIPELINE_SCHEDULE_DESCRIPTION == "nightly"'
"""


async def push(here: Planned, *words: str) -> None:
    """Push from the work tree of the project."""
    tree = here.site.folder / "tree"
    await git("push", "-q", here.site.services.repositories.path(here.project_id), *words, cwd=tree)


async def commit(here: Planned, text: str) -> None:
    """Commit another configuration to `main`."""
    tree = here.site.folder / "tree"
    (tree / ".gitlab-ci.yml").write_text(text)
    await git("add", "-A", cwd=tree)
    await git("commit", "-q", "-m", "another one [skip ci]", cwd=tree)
    await push(here, "main")


async def failed(here: Planned) -> Any:
    """The only tick, which has failed."""
    (tick,) = await here.rows(tick_table)
    assert tick.outcome == "failed"
    return tick


async def test_variables_inputs_and_description_reach_rules_and_jobs(here: Planned) -> None:
    await commit(here, RULES)
    made = await here.schedule(inputs=[{"name": "target", "value": "moon"}])
    await here.call("POST", f"/{made['id']}/variables", key="FROM", value="schedule")
    await here.call("POST", f"/{made['id']}/variables", key="RAW", value="$ONLY", raw=True)
    await here.call("POST", f"/{made['id']}/variables", key="KEY", value="secret", variable_type="file")
    await here.pass_to(1)
    (pipeline,) = await here.rows(pipeline_table)
    assert pipeline.status == "created", pipeline.yaml_errors
    await here.site.world.settle(pipeline.id)
    job = await here.site.world.job()
    known = {variable["key"]: variable for variable in job["variables"]}
    assert job["job_info"]["name"] == "build moon"
    assert {name: known[name]["value"] for name in ("FROM", "ONLY", "RAW", "KEY")} == {
        "FROM": "schedule",
        "ONLY": "yaml",
        "RAW": "$ONLY",
        "KEY": "secret",
    }
    assert (known["KEY"]["file"], known["FROM"]["file"]) == (True, False)
    assert known["CI_PIPELINE_SCHEDULE_DESCRIPTION"]["value"] == "nightly"
    assert known["CI_PIPELINE_SOURCE"]["value"] == "schedule"


async def test_two_schedules_differ_only_in_their_description(here: Planned) -> None:
    await commit(here, RULES)
    for description in ("nightly", "weekly"):
        made = await here.schedule(description=description)
        await here.call("POST", f"/{made['id']}/variables", key="FROM", value="schedule")
    await here.pass_to(1)
    assert [tick.outcome for tick in await here.rows(tick_table)] == ["started", "failed"]


async def test_a_tag_is_a_ref_too(here: Planned) -> None:
    await push(here, "main:refs/tags/v1")
    made = await here.schedule(ref="v1")
    assert made["ref"] == "refs/tags/v1"
    await here.pass_to(1)
    (pipeline,) = await here.rows(pipeline_table)
    assert (pipeline.ref, pipeline.tag) == ("v1", True)


async def test_a_new_commit_is_what_runs(here: Planned) -> None:
    await here.schedule()
    await commit(here, "other: {script: make}\n")
    await here.pass_to(1)
    (pipeline,) = await here.rows(pipeline_table)
    head = await here.site.services.repositories.get(here.project_id).resolve("main")
    assert (pipeline.sha, pipeline.status) == (head, "created")


async def test_a_ref_that_is_gone_fails_the_tick(here: Planned) -> None:
    await here.schedule(ref=SIDE)
    await push(here, f":{SIDE}")
    await here.pass_to(1)
    assert "Reference not found: refs/heads/side" in (await failed(here)).reason
    assert await here.rows(pipeline_table) == []


async def test_an_owner_who_may_run_nothing_any_more_fails_the_tick(here: Planned) -> None:
    ada = await here.site.person("ada", 30)
    await here.schedule(person=ada, ref=SIDE)
    async with here.site.services.database.write() as connection:
        await connection.execute(update(member).where(member.c.user_id == ada.id).values(access_level=20))
    await here.pass_to(1)
    assert "ada may not run pipelines of this project on refs/heads/side" in (await failed(here)).reason
    async with here.site.services.database.write() as connection:
        await connection.execute(delete(member).where(member.c.user_id == ada.id))
    await here.pass_to(2)
    assert [tick.outcome for tick in await here.rows(tick_table)] == ["failed", "failed"]


async def test_an_owner_who_may_not_run_on_a_ref_that_was_protected_fails_the_tick(here: Planned) -> None:
    ada = await here.site.person("ada", 30)
    await here.schedule(person=ada, ref=SIDE)
    async with here.site.services.database.write() as connection:
        await protected_refs.protect_branch(connection, here.project_id, SIDE, here.time.now)
    await here.pass_to(1)
    assert "ada may not run pipelines" in (await failed(here)).reason


async def test_an_owner_who_was_blocked_fails_the_tick(here: Planned) -> None:
    ada = await here.site.person("ada", 40)
    await here.schedule(person=ada)
    async with here.site.services.database.write() as connection:
        await connection.execute(update(user).where(user.c.id == ada.id).values(state=accounts.BLOCKED))
    await here.pass_to(1)
    assert "ada may not run pipelines" in (await failed(here)).reason


async def test_a_schedule_without_owner_fails_its_ticks(here: Planned) -> None:
    made = await here.schedule()
    await here.set_schedule(made["id"], owner_id=None)
    await here.pass_to(1)
    assert (await failed(here)).reason == OWNER_GONE


async def test_faults_of_the_configuration_are_shown_by_a_failed_pipeline(here: Planned) -> None:
    await commit(here, "build: {scripts: make}\n")
    made = await here.schedule()
    await here.pass_to(1)
    tick = await failed(here)
    (pipeline,) = await here.rows(pipeline_table)
    assert (pipeline.status, pipeline.failure_reason, pipeline.source) == ("failed", "config_error", "schedule")
    assert tick.pipeline_id == pipeline.id
    assert "script" in tick.reason
    assert tick.reason == pipeline.yaml_errors
    assert (await here.call("GET", f"/{made['id']}")).json()["last_pipeline"]["id"] == pipeline.id


async def test_rules_that_want_no_job_make_no_pipeline(here: Planned) -> None:
    await commit(here, "build: {script: make, except: [schedules]}\n")
    await here.schedule()
    await here.pass_to(1)
    assert (await failed(here)).pipeline_id is None
    assert await here.rows(pipeline_table) == []


async def test_a_part_that_is_away_is_waited_for(here: Planned, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*_: Any) -> None:
        raise Unavailable("The store is away.")

    await here.schedule()
    with monkeypatch.context() as fault:
        fault.setattr(loop_module, "wish_of", away)
        await here.pass_to(1)
    (tick,) = await here.rows(tick_table)
    assert (tick.outcome, tick.attempts, tick.reason) == ("due", 1, "The store is away.")
    await here.loop.carry_out_due()
    assert (await here.rows(tick_table))[0].outcome == "due"  # its time has not come
    await here.pass_to(1.2)
    assert (await here.rows(tick_table))[0].outcome == "started"


async def test_a_fault_of_ours_fails_the_tick_in_the_end(here: Planned, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: Any) -> None:
        raise ZeroDivisionError

    await here.schedule("0 13 * * *")
    monkeypatch.setattr(loop_module, "wish_of", broken)
    for n in range(MAX_ATTEMPTS + 1):
        assert [tick.outcome for tick in await here.rows(tick_table)] == ["due"] * bool(n)
        await here.pass_to(60 + n)
    assert (await failed(here)).reason == FAULT


async def test_to_play_runs_now_and_as_the_caller(here: Planned) -> None:
    ada = await here.site.person("ada", 30)
    made = await here.schedule("0 0 1 1 *", active=False, ref=SIDE)
    response = await here.call("POST", f"/{made['id']}/play", person=ada)
    assert (response.status_code, response.json()) == (201, {"message": "201 Created"})
    await here.loop.carry_out_due()
    (tick,) = await here.rows(tick_table)
    (pipeline,) = await here.rows(pipeline_table)
    assert (tick.outcome, tick.by_hand, tick.pipeline_id) == ("by_hand", True, pipeline.id)
    assert (pipeline.source, pipeline.user_id) == ("schedule", ada.id)
    assert (await here.rows(schedule_table))[0].owner_id == here.site.root.id


async def test_what_is_played_stands_beside_any_policy(here: Planned) -> None:
    made = await here.schedule(overlap_policy="skip")
    await here.pass_to(1)
    await here.call("POST", f"/{made['id']}/play")
    await here.loop.carry_out_due()
    assert [tick.outcome for tick in await here.rows(tick_table)] == ["started", "by_hand"]
    await here.end((await here.rows(pipeline_table))[0].id)
    await here.pass_to(2)
    assert (await here.rows(tick_table))[-1].outcome == "skipped"  # what was played still runs
