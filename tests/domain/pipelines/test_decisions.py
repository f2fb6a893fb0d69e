"""One turn of the loop: properties that hold for any graph and any order of events, and single cases beside them."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.config.plan import RetryPolicy, When
from domain.messages import Command, Decision, Recorded
from domain.pipelines.decisions import MANY_VERDICTS, advance, decide, next_due
from domain.pipelines.operations import Attempt
from domain.pipelines.pipeline import Job, Pipeline
from domain.pipelines.status import COMPLETE, OPEN, Status
from domain.pipelines.verdict import Verdict
from tests.domain.pipelines.graphs import NOW, START_IN, graphs, job, pipeline, statuses
from tests.domain.pipelines.played import EVENTS, Played, check_needs_have_ended

Happenings = list[tuple[str, int]]
happenings = st.lists(st.tuples(st.sampled_from(EVENTS), st.integers(0, 6)), max_size=14)


def let_happen(played: Played, events: Happenings) -> None:
    """Each event on one of the jobs, as they are at that moment."""
    played.rest()
    for event, number in events:
        jobs = played.pipeline.jobs
        played.happen(event, jobs[number % len(jobs)])


def decided(graph: Pipeline, *commands: Command, verdicts: tuple[Verdict, ...] = ()) -> Decision:
    """The decision of a turn that has one."""
    decision = decide(graph, verdicts, commands, NOW).decision
    assert decision is not None
    return decision


@given(graphs(), happenings, st.sampled_from(["succeed", "fail"]))
@settings(max_examples=100)
def test_any_order_of_events_ends(graph: Pipeline, events: Happenings, how: str) -> None:
    played = Played(graph)
    let_happen(played, events)
    played.finish(how)
    assert played.pipeline.is_complete()
    assert all(item.status in COMPLETE for item in played.pipeline.jobs)


@given(graphs(), happenings)
@settings(max_examples=100)
def test_nothing_starts_before_what_it_needs_has_ended(graph: Pipeline, events: Happenings) -> None:
    let_happen(Played(graph, watch=check_needs_have_ended), events)


@given(graphs(), happenings)
@settings(max_examples=60)
def test_deciding_again_on_the_result_yields_nothing(graph: Pipeline, events: Happenings) -> None:
    def again(before: Pipeline, decision: Decision) -> None:
        commands = tuple(Command(a.name, a.key, a.job_id) for a in decision.answers)
        turn = decide(before, decision.verdicts, commands, played.now, granted=played.granted())
        assert turn.decision == decision
        assert decide(turn.pipeline, (), (), played.now).decision is None

    played = Played(graph, watch=again)
    let_happen(played, events)
    assert decide(played.pipeline, (), (), played.now).decision is None


@given(graphs(), st.integers(1, 3), st.lists(st.sampled_from(["succeed", "fail", "due"]), max_size=10))
@settings(max_examples=60)
def test_no_more_jobs_are_offered_than_there_is_room_for(graph: Pipeline, room: int, events: list[str]) -> None:
    def most(before: Pipeline, decision: Decision) -> None:
        ended = {verdict.job_id for verdict in decision.verdicts}
        open_now = sum(item.status in OPEN and item.id not in ended for item in before.jobs)
        assert len(decision.offers()) <= max(0, room - open_now)

    played = Played(graph, room=room, watch=most)
    let_happen(played, list(zip(events, range(len(events)), strict=True)))
    played.watch = lambda before, decision: None
    played.finish()
    assert all(item.status in COMPLETE for item in played.pipeline.jobs)


@given(graphs(), happenings, st.sampled_from(EVENTS[3:]), st.integers(0, 6))
@settings(max_examples=60)
def test_a_refused_command_changes_nothing(graph: Pipeline, events: Happenings, name: str, number: int) -> None:
    played = Played(graph)
    let_happen(played, events)
    before, answered = played.folded(), len(played.answers)
    played.happen(name, before.jobs[number % len(before.jobs)])
    answer = played.answers[answered]
    if answer.refused:
        assert replace(played.pipeline, status=before.status) == before
        assert answer.jobs == ()


def test_a_refusal_says_why_and_is_the_whole_decision() -> None:
    graph = pipeline(job("one", Status.SUCCESS))
    decision = decided(graph, Command("cancel_job", "k", 1), Command("play_job", "l", 9), Command("play_job", "m"))
    assert (decision.transitions, decision.attempts, decision.cancel) == ((), (), ())
    assert [answer.refused for answer in decision.answers] == [
        "Job 1 is success; there is nothing to cancel. You can retry it.",
        "Job 9 is not the latest attempt of any job of pipeline 1; name the latest attempt.",
        "play_job needs a job_id.",
    ]


DONE = Verdict(1, Status.SUCCESS, 1, of_row=True)


@pytest.mark.parametrize(
    ("beside", "verdict"),
    [
        (job("hand", Status.MANUAL, when=When.MANUAL), DONE),
        (job("late", Status.SCHEDULED, when=When.DELAYED, due_at=NOW + timedelta(hours=1)), DONE),
        (job("alone", Status.WAITING_FOR_RESOURCE, grouped=True), DONE),
        (job("hand", Status.MANUAL, when=When.MANUAL), replace(DONE, status=Status.FAILED)),
    ],
    ids=["manual", "scheduled", "resource", "failure"],
)
def test_a_verdict_after_which_nothing_runs_is_recorded(beside: Job, verdict: Verdict) -> None:
    """The pipeline was running and is to be shown as waiting; a third job runs elsewhere in one of two."""
    for other in ((), (job("busy", Status.RUNNING, stage=1, needs=()),)):
        graph = pipeline(job("auto", Status.PENDING), beside, *other)
        assert decided(graph, verdicts=(verdict,)).verdicts == (verdict,)


def test_a_verdict_beside_what_waits_elsewhere_is_recorded() -> None:
    """The stage of what ended rightly stays running, and somebody else is waited for: only the whole changes."""
    jobs = (job("hand", Status.MANUAL, when=When.MANUAL), job("early", Status.PENDING, stage=1, needs=()))
    bridge = job("bridge", Status.MANUAL, stage=2, needs=(), bridge=True, follows=True)
    graph = pipeline(*jobs, job("later", stage=1), bridge)
    verdict = replace(DONE, job_id=2)
    assert decided(graph, verdicts=(verdict,)).transitions == ()
    assert graph.folded(1) is Status.PENDING


def test_a_warning_beside_what_waits_for_a_runner_is_recorded() -> None:
    """A stage that waits for runners is pending again when the only job that ran has failed and was allowed to."""
    verdict = replace(DONE, status=Status.FAILED, allow_failure=True)
    for seen in (Status.PENDING, Status.RUNNING):
        graph = pipeline(job("may-fail", seen, allow_failure=True), job("other", seen))
        assert decided(graph, verdicts=(verdict,)).transitions == ()


def test_a_job_that_ended_while_it_waited_did_not_run_before() -> None:
    graph = pipeline(job("a", Status.PENDING), job("b", Status.PENDING))
    assert decide(graph, (DONE,), (), NOW).decision is None
    assert decided(graph, verdicts=(replace(DONE, ran=False),)).transitions == ()


def test_a_canceled_job_is_folded_when_nobody_is_waited_for() -> None:
    verdicts = tuple(Verdict(number, Status.CANCELED, 1, of_row=True) for number in (1, 2))
    graph = pipeline(job("a", Status.CANCELED), job("b", Status.CANCELED), status=Status.CANCELED)
    assert decided(graph, verdicts=verdicts).verdicts == verdicts
    beside = pipeline(*graph.jobs, job("c", Status.PENDING, stage=1, needs=()))
    assert decide(beside, verdicts, (), NOW).decision is None


def test_a_run_of_an_older_version_decides_as_it_did() -> None:
    graph = pipeline(job("auto", Status.PENDING), job("hand", Status.MANUAL, when=When.MANUAL))
    assert decide(graph, (DONE,), (), NOW, is_new=False).decision is None
    assert decide(graph, (DONE,), (), NOW, is_new=False, owed=True).decision is not None


@pytest.mark.parametrize(
    ("command", "is_doubtful"),
    [
        (Command("retry_job", "k", 1), True),  # it runs, as far as is known here
        (Command("play_job", "k", 1), True),
        (Command("retry_pipeline", "k"), True),
        (Command("cancel_job", "k", 2), False),
        (Command("retry_job", "k", 9), False),
        (Command("cancel_job", "k", 1), False),
    ],
)
def test_a_refusal_because_of_a_job_that_may_have_ended_is_doubtful(command: Command, *, is_doubtful: bool) -> None:
    graph = pipeline(job("runs", Status.RUNNING), job("done", Status.SUCCESS))
    assert decide(graph, (), (command,), NOW).is_doubtful is is_doubtful


@pytest.mark.parametrize(("beside", "is_doubtful"), [(Status.RUNNING, True), (Status.SUCCESS, False)])
def test_a_retry_that_leaves_out_what_may_have_failed_is_doubtful(beside: Status, *, is_doubtful: bool) -> None:
    graph = pipeline(job("failed", Status.FAILED), job("beside", beside))
    assert decide(graph, (), (Command("retry_pipeline", "k"),), NOW).is_doubtful is is_doubtful


def test_a_verdict_from_which_nothing_follows_waits_for_another() -> None:
    graph = pipeline(job("a", Status.RUNNING), job("b", Status.RUNNING), job("c", stage=1))
    first, second = Verdict(1, Status.SUCCESS, of_row=True), Verdict(2, Status.SUCCESS, of_row=True)
    turn = decide(graph, (first,), (), NOW)
    assert turn.decision is None
    assert turn.pipeline == graph
    decision = decided(graph, verdicts=(first, second))
    assert decision.verdicts == (first, second)
    assert decision.offers() == (3,)


def test_many_verdicts_are_recorded_even_if_nothing_follows() -> None:
    running = [job(f"j{number}", Status.RUNNING) for number in range(MANY_VERDICTS + 1)]
    graph = pipeline(*running)
    verdicts = tuple(Verdict(item.id, Status.SUCCESS, of_row=True) for item in graph.jobs[:MANY_VERDICTS])
    assert decide(graph, verdicts[1:], (), NOW).decision is None
    assert decided(graph, verdicts=verdicts).verdicts == verdicts


def test_the_end_of_a_stage_is_recorded_at_once() -> None:
    graph = pipeline(job("a", Status.RUNNING), job("b", Status.RUNNING, stage=1, needs=()))
    assert decided(graph, verdicts=(Verdict(1, Status.SUCCESS),)).transitions == ()


def test_an_automatic_retry_hides_its_failure() -> None:
    graph = pipeline(
        job("unsteady", Status.RUNNING, retry=RetryPolicy(max=1)), job("mourn", stage=1, when=When.ON_FAILURE)
    )
    turn = decide(graph, (Verdict(1, Status.FAILED, reason="script_failure"),), (), NOW)
    assert turn.decision is not None
    assert turn.decision.attempts == (Attempt(1, repeats=True),)
    assert turn.decision.transitions == ()
    again = Job(9, "unsteady", 0, attempt=2, retry=RetryPolicy(max=1))
    after = advance(turn.pipeline, Recorded(Status.RUNNING, {}, (again,)))
    assert decided(after).offers() == (9,)
    running = after.with_jobs([replace(again, status=Status.RUNNING)])
    assert decided(running, verdicts=(Verdict(9, Status.FAILED),)).offers() == (2,)


def test_a_failure_reported_after_a_cancel_makes_no_further_attempt() -> None:
    graph = pipeline(job("unsteady", Status.RUNNING, retry=RetryPolicy(max=2)))
    turn = decide(graph, (), (Command("cancel_pipeline", "k"),), NOW)
    late = Verdict(1, Status.FAILED, reason="script_failure", auto_retry=True)  # sent before the cancel was recorded
    decision = decide(turn.pipeline, (late,), (), NOW).decision
    assert decision is not None
    assert decision.attempts == ()


def test_a_cancel_in_the_turn_of_an_automatic_retry_reaches_the_new_attempt() -> None:
    graph = pipeline(job("unsteady", Status.RUNNING, retry=RetryPolicy(max=2)), job("next", stage=1))
    turn = decide(graph, (Verdict(1, Status.FAILED),), (Command("cancel_pipeline", "k"),), NOW)
    assert turn.decision is not None
    assert turn.decision.attempts == (Attempt(1, repeats=True),)
    assert turn.decision.cancel == (-1, 2)
    assert statuses(turn.pipeline) == {"unsteady": "canceled", "next": "canceled"}


RETRIED_ALL = Command("retry_pipeline", "last")


@pytest.mark.parametrize(
    ("first", "verdict"),
    [
        (Command("retry_job", "a", 1), None),
        (Command("cancel_pipeline", "b"), None),
        (Command("cancel_job", "c", 2), None),
        (Command("auto_cancel", "d"), None),
        (None, Verdict(3, Status.FAILED, 1, of_row=True)),
    ],
    ids=lambda one: getattr(one, "name", None),
)
def test_what_is_asked_of_all_jobs_waits_for_rows_of_the_same_turn(
    first: Command | None, verdict: Verdict | None
) -> None:
    graph = pipeline(
        job("one", Status.FAILED),
        job("two", Status.RUNNING, interruptible=True),
        job("three", Status.RUNNING, retry=RetryPolicy(max=1)),
        status=Status.RUNNING,
    )
    graph = replace(graph, on_new_commit="interruptible")
    commands = (*filter(None, [first]), RETRIED_ALL, Command("cancel_job", "after", 2))
    turn = decide(graph, () if verdict is None else (verdict,), commands, NOW)
    assert turn.decision is not None
    assert turn.waiting == commands[-2:]
    assert [answer.key for answer in turn.decision.answers] == [one.key for one in commands[:-2]]


def test_what_is_asked_of_a_job_waits_for_its_end_and_not_for_that_of_others() -> None:
    graph = pipeline(job("one", Status.RUNNING), job("two", Status.FAILED), job("three", Status.MANUAL))
    commands = (
        Command("cancel_job", "a", 1),
        Command("retry_job", "b", 2),
        Command("play_job", "c", 3),
        Command("retry_job", "d", 1),
        Command("retry_job", "e", 2),
    )
    turn = decide(graph, (), commands, NOW)
    assert turn.waiting == commands[3:]
    assert decide(graph, (), commands, NOW, is_new=False).waiting == ()


def test_an_attempt_of_the_same_turn_is_canceled_by_a_failure_that_cancels_all() -> None:
    graph = pipeline(job("again", Status.RUNNING, retry=RetryPolicy(max=1)), job("bad", Status.RUNNING))
    graph = replace(graph, on_job_failure="all")
    verdicts = tuple(Verdict(number, Status.FAILED, 1, of_row=True) for number in (1, 2))
    decision = decided(graph, verdicts=verdicts)
    assert (decision.attempts, decision.cancel) == ((Attempt(1, repeats=True),), (-1,))


def test_the_end_of_a_bridge_is_recorded_at_once() -> None:
    """Until it is, a retry in its downstream pipeline cannot bring it to life again."""
    bridge = job("bridge", Status.RUNNING, bridge=True, follows=True)
    graph = pipeline(bridge, job("busy", Status.RUNNING))
    assert decided(graph, verdicts=(DONE,)).transitions == ()


def test_an_answer_names_the_rows_that_its_command_starts_or_makes() -> None:
    graph = pipeline(job("a", Status.MANUAL), job("b", Status.FAILED), job("c", Status.CANCELED))
    commands = (Command("play_job", "k", 1), Command("retry_job", "l", 2))
    assert [answer.jobs for answer in decided(graph, *commands).answers] == [(1,), (-2,)]
    assert [answer.jobs for answer in decided(graph, RETRIED_ALL).answers] == [(-2, -3)]


def test_a_verdict_given_by_hand_leaves_a_job_allowed_to_fail() -> None:
    graph = pipeline(job("flaky", Status.PENDING, allow_failure=True), job("next", stage=1))
    assert decided(graph, verdicts=(Verdict(1, Status.FAILED, reason="unknown_failure"),)).offers() == (2,)


def test_a_new_attempt_that_waits_for_a_person_holds_later_stages_until_its_row_is_known() -> None:
    """The failed attempt was allowed to by its exit code; the new one is not, so it blocks."""
    gate = job("gate", Status.FAILED, when=When.MANUAL, allow_failure=True)
    graph = pipeline(gate, job("next", Status.SKIPPED, stage=1))
    turn = decide(graph, (), (Command("retry_pipeline", "k"),), NOW)
    assert turn.decision is not None
    assert turn.decision.offers() == ()
    again = Job(9, "gate", 0, when=When.MANUAL, attempt=2)
    after = advance(turn.pipeline, Recorded(Status.RUNNING, {}, (again,)))
    last = decide(after, (), (), NOW)
    assert statuses(last.pipeline) == {"gate": "manual", "next": "created"}


@pytest.mark.parametrize(("of_older_run", "dependant"), [(False, "skipped"), (True, "created")])
def test_a_job_whose_time_has_come_revives_nothing(*, of_older_run: bool, dependant: str) -> None:
    later = job("later", Status.SCHEDULED, due_at=NOW)
    graph = pipeline(later, job("dependant", Status.SKIPPED, needs=("later",)))
    after = decide(graph, (), (), NOW, due_revives=of_older_run).pipeline
    assert statuses(after) == {"later": "pending", "dependant": dependant}


def test_rows_are_believed_more_than_wishes() -> None:
    graph = pipeline(job("a", Status.PENDING), job("b", Status.PENDING))
    after = advance(graph, Recorded(Status.RUNNING, {1: Status.CANCELED, 7: Status.SUCCESS}))
    assert statuses(after) == {"a": "canceled", "b": "pending"}
    assert after.status is Status.RUNNING


def test_the_next_moment_to_wake_is_the_earliest_due_one() -> None:
    due = [NOW + timedelta(seconds=START_IN * factor) for factor in (3, 1, 2)]
    jobs = [job(f"j{number}", Status.SCHEDULED, due_at=moment) for number, moment in enumerate(due)]
    assert next_due(pipeline(*jobs, job("done", Status.SUCCESS, due_at=NOW))) == due[1]
    assert next_due(pipeline(job("none"))) is None


def test_what_is_due_already_waits_for_room_and_not_for_a_moment() -> None:
    later = NOW + timedelta(seconds=START_IN)
    graph = pipeline(job("due", Status.SCHEDULED, due_at=NOW), job("later", Status.SCHEDULED, due_at=later))
    assert next_due(graph) == NOW
    assert next_due(graph, NOW) == later
    assert next_due(graph, later) is None
