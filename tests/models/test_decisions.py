"""Recording what workflows decide: the guard, and the rules of the seam that it stands for."""

from dataclasses import replace

import pytest
from sqlalchemy.exc import IntegrityError

from domain.messages import Command, Decision
from domain.pipelines.operations import Attempt
from domain.pipelines.status import Status
from domain.pipelines.verdict import Verdict
from models.repositories.pipelines.attempts import add_attempts
from models.repositories.pipelines.decisions import Stale, record
from tests.models.world import BEGIN, World, job, pipeline

UNSTEADY = """
    stages: [build, test]
    unsteady: {stage: build, script: make, retry: 2}
    mourn: {stage: test, script: cry, when: on_failure}
"""
GATE = "gate: {script: go, when: manual, variables: {A: b}}\n"


async def test_a_decision_moves_rows_stages_and_pipeline_together(world: World) -> None:
    pipeline_id = await world.create()
    recorded = await world.turn(pipeline_id)
    (first,) = [key for key, status in recorded.statuses.items() if status is Status.PENDING]
    assert (await world.row(job, id=first)).name == "build"
    assert recorded.status is Status.PENDING
    assert await world.status(pipeline_id) == "pending"
    assert await world.stages(pipeline_id) == {"build": "pending", "test": "created"}


async def test_decisions_are_numbered(world: World) -> None:
    """A zombie attempt of an activity, or an old run after a reset, changes nothing and gets the rows as they are."""
    pipeline_id = await world.create()
    zombie = await world.decision(pipeline_id)
    assert zombie is not None
    await world.record(zombie)
    build = await world.take()
    world.run = 2
    await world.record(world.numbered(Decision(pipeline_id)))
    before = [tuple(row) for row in await world.rows(job)], await world.row(pipeline, id=pipeline_id)
    for stale in (zombie, replace(zombie, tick=999), replace(zombie, run=2, tick=1)):
        recorded = await world.record(stale)
        assert recorded.status is Status.RUNNING
        assert recorded.statuses == {build: Status.RUNNING}
        async with world.database.read() as connection:
            with pytest.raises(Stale):
                await record(connection, stale, world.now())
    assert ([tuple(row) for row in await world.rows(job)], await world.row(pipeline, id=pipeline_id)) == before


async def test_never_backwards(world: World) -> None:
    """Nothing lowers a pipeline that ran to pending, nor a stage with a running row."""
    pipeline_id = await world.create("a: {script: x}\nb: {script: y, needs: []}\n")
    decision = await world.decision(pipeline_id)
    assert decision is not None
    half = replace(decision, transitions=decision.transitions[:1])
    await world.record(half)
    await world.take()
    await world.record(world.numbered(replace(decision, transitions=decision.transitions[1:])))
    assert await world.statuses(pipeline_id) == {"a": "running", "b": "pending"}
    assert await world.stages(pipeline_id) == {"test": "running"}
    assert await world.status(pipeline_id) == "running"
    await world.end((await world.row(job, name="a")).id)
    assert await world.status(pipeline_id) == "running"
    await world.record(world.numbered(Decision(pipeline_id)))
    assert await world.status(pipeline_id) == "running"


async def test_a_verdict_that_is_not_folded_counts_as_running(world: World) -> None:
    """So an automatic retry hides its failure."""
    pipeline_id = await world.begin(UNSTEADY)
    first = await world.take()
    await world.end(first, Status.FAILED, reason="script_failure")
    await world.record(world.numbered(Decision(pipeline_id)))
    assert (await world.row(job, id=first)).status == "failed"
    assert await world.stages(pipeline_id) == {"build": "running", "test": "created"}
    assert await world.status(pipeline_id) == "running"
    await world.settle(pipeline_id)
    assert await world.statuses(pipeline_id) == {"unsteady": "pending", "mourn": "created"}


async def test_a_retry_is_a_new_job_row(world: World) -> None:
    pipeline_id = await world.begin(UNSTEADY)
    first = await world.take()
    await world.end(first, Status.FAILED, reason="script_failure")
    await world.settle(pipeline_id)
    old, new = await world.rows(job, name="unsteady")
    assert (old.id, old.retried, old.status, old.attempt) == (first, True, "failed", 1)
    assert (new.first_id, new.retried, new.status, new.attempt) == (first, False, "pending", 2)
    assert (new.plan, new.hand_out, new.runner_id, new.failure_reason) == (old.plan, 0, None, "")


async def test_a_repeated_activity_makes_an_attempt_once(world: World) -> None:
    pipeline_id = await world.begin(UNSTEADY)
    first = await world.take()
    await world.end(first, Status.FAILED, reason="script_failure")
    decision = await world.decision(pipeline_id)
    assert decision is not None
    assert decision.attempts == (Attempt(first, repeats=True),)
    made = (await world.record(decision)).attempts
    assert [attempt.attempt for attempt in made] == [2]
    assert (await world.record(decision)).attempts == made
    assert len(await world.rows(job, name="unsteady")) == 2


async def test_an_attempt_of_a_job_is_unique(world: World) -> None:
    pipeline_id = await world.begin(UNSTEADY)
    first = (await world.row(job, pipeline_id=pipeline_id, name="unsteady")).id
    async with world.database.write() as connection:
        await add_attempts(connection, (Attempt(first), Attempt(first)), world.now())
    assert len(await world.rows(job, first_id=first)) == 2
    async with world.database.write() as connection:
        await connection.execute(job.update().where(job.c.id == first).values(retried=False))
    with pytest.raises(IntegrityError):
        async with world.database.write() as connection:
            await add_attempts(connection, (Attempt(first),), world.now())


async def test_a_new_attempt_is_allowed_to_fail_only_as_its_plan_says(world: World) -> None:
    pipeline_id = await world.begin("flaky: {script: x, allow_failure: {exit_codes: [42]}}\n")
    first = await world.take()
    await world.end(first, Status.FAILED, reason="script_failure", exit_code=42)
    await world.settle(pipeline_id)
    assert (await world.row(job, id=first)).allow_failure is True
    assert await world.status(pipeline_id) == "success"
    await world.settle(pipeline_id, Command("retry_job", "k", first))
    assert (await world.row(job, name="flaky", attempt=2)).allow_failure is False


async def test_a_stored_plan_that_says_nothing_of_allow_failure_does_not_allow_it(world: World) -> None:
    pipeline_id = await world.begin(UNSTEADY)
    first = await world.take()
    async with world.database.write() as connection:
        await connection.execute(job.update().where(job.c.id == first).values(plan={"script": ["make"]}))
    await world.end(first, Status.FAILED, reason="script_failure")
    await world.settle(pipeline_id)
    assert (await world.row(job, first_id=first, attempt=2)).allow_failure is False


async def test_who_writes_which_status(world: World) -> None:
    """Every write is guarded by the transition table; what another has written stays and is reported."""
    pipeline_id = await world.create("a: {script: x}\nb: {script: y}\n")
    late = await world.decision(pipeline_id)
    assert late is not None
    await world.settle(pipeline_id)
    running = await world.take()
    ended = await world.take()
    await world.end(ended)
    await world.settle(pipeline_id)
    wish = world.numbered(Decision(pipeline_id, transitions=late.transitions))
    wish = replace(wish, transitions=tuple(replace(t, to=Status.SKIPPED) for t in wish.transitions))
    recorded = await world.record(wish)
    assert recorded.statuses == {running: Status.RUNNING, ended: Status.RUNNING}  # the verdict is not folded
    assert await world.statuses(pipeline_id) == {"a": "running", "b": "success"}


async def test_a_verdict_given_by_hand_becomes_the_rows_own(world: World) -> None:
    pipeline_id = await world.begin()
    build = (await world.row(job, name="build")).id
    decision = await world.decision(pipeline_id, verdicts=(Verdict(build, Status.FAILED, reason="unknown_failure"),))
    assert decision is not None
    recorded = await world.record(decision)
    row = await world.row(job, id=build)
    assert (row.status, row.failure_reason, row.folded) == ("failed", "unknown_failure", True)
    assert recorded.status is Status.FAILED
    assert await world.claim() is None


async def test_a_verdict_in_sql_wins_over_one_given_by_hand(world: World) -> None:
    pipeline_id = await world.begin("one: {script: x}\n")
    one = await world.take()
    await world.end(one)
    decision = await world.decision(pipeline_id, verdicts=(Verdict(one, Status.FAILED),))
    assert decision is not None
    recorded = await world.record(decision)
    assert (recorded.statuses, recorded.status) == ({one: Status.SUCCESS}, Status.SUCCESS)


async def test_commands_are_answered_once_and_for_all(world: World) -> None:
    """The key is stored with its answer in the transaction of the decision; a repetition finds the same answer."""
    pipeline_id = await world.begin("one: {script: x}\n")
    one = await world.take()
    await world.end(one, Status.FAILED)
    await world.settle(pipeline_id)
    recorded = await world.turn(pipeline_id, Command("retry_job", "k", one), Command("cancel_job", "l", 999))
    made = (await world.row(job, first_id=one, attempt=2)).id
    first, second = recorded.answers
    assert (first.key, first.jobs, first.refused) == ("k", (made,), "")
    assert (second.key, second.jobs) == ("l", ())
    assert "not the latest attempt" in second.refused
    assert {answer.key: answer for answer in (await world.load(pipeline_id)).answers} == {"k": first, "l": second}


async def test_each_answer_names_its_own_new_attempt(world: World) -> None:
    pipeline_id = await world.begin("a: {script: x}\nb: {script: y}\n")
    first, second = await world.take(), await world.take()
    for key in (first, second):
        await world.end(key, Status.FAILED)
    await world.settle(pipeline_id)
    recorded = await world.turn(pipeline_id, Command("retry_job", "k", second), Command("retry_job", "l", first))
    rows = {row.first_id: row.id for row in await world.rows(job, attempt=2)}
    assert [answer.jobs for answer in recorded.answers] == [(rows[second],), (rows[first],)]


@pytest.mark.parametrize("again", [False, True])
async def test_variables_of_a_command_go_to_the_job_that_it_starts(world: World, again: bool) -> None:
    pipeline_id = await world.begin(GATE)
    gate = (await world.row(job, name="gate")).id
    if again:
        await world.settle(pipeline_id, Command("play_job", "first", gate))
        await world.end(await world.take(), Status.FAILED)
        await world.settle(pipeline_id)
    recorded = await world.turn(pipeline_id, Command("play_job", "k", gate, {"COLOUR": "red"}))
    ((started,),) = [answer.jobs for answer in recorded.answers]
    assert (started == gate) is not again
    assert (await world.row(job, id=started)).variables == [{"key": "COLOUR", "value": "red"}]


async def test_a_delayed_job_keeps_when_it_is_due(world: World) -> None:
    pipeline_id = await world.begin("later: {script: x, when: delayed, start_in: 5 minutes}\n")
    due = (await world.row(job, name="later")).due_at
    assert (due - BEGIN).total_seconds() == pytest.approx(300, abs=30)
    (snapshot,) = (await world.load(pipeline_id)).pipeline.jobs
    assert (snapshot.status, snapshot.due_at) == (Status.SCHEDULED, due)
    assert await world.status(pipeline_id) == "scheduled"


async def test_the_duration_of_a_pipeline_leaves_out_what_it_waited_and_what_was_tried_again(world: World) -> None:
    """A day before a gate is opened, an hour before a retry, and the attempt that failed do not count."""
    pipeline_id = await world.begin("""
        stages: [build, deploy]
        build: {stage: build, script: a}
        deploy: {stage: deploy, script: b, when: manual, allow_failure: false}
    """)
    first = await world.take()
    world.seconds += 100
    await world.end(first, Status.FAILED)
    await world.settle(pipeline_id)
    world.seconds += 3_600
    await world.settle(pipeline_id, Command("retry_job", "again", first))
    second = await world.take()
    world.seconds += 50
    await world.end(second)
    await world.settle(pipeline_id)
    so_far = (await world.row(pipeline, id=pipeline_id)).duration
    assert 50 <= so_far < 60
    world.seconds += 86_400
    gate = (await world.row(job, name="deploy")).id
    await world.settle(pipeline_id, Command("play_job", "gate", gate))
    await world.take()
    world.seconds += 20
    await world.end(gate)
    await world.settle(pipeline_id)
    found = await world.row(pipeline, id=pipeline_id)
    assert found.status == Status.SUCCESS
    assert so_far + 20 <= found.duration < so_far + 30
    assert (found.finished_at - found.started_at).total_seconds() > 86_400
