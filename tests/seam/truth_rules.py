"""Rules on who decides what became of a job."""

from typing import Final

from tests.seam.removal import Removal

REMOVALS: Final[tuple[Removal, ...]] = (
    Removal(
        "SQL is the truth",
        "a bell that Temporal took is kept until its verdict is folded",
        "models/repositories/outbox.py",
        "    done = [row.id for row in told if row.kind != OUTCOME]\n",
        "    done = [row.id for row in told]\n",
        "tests/models/test_outbox.py::test_only_folding_retires_an_outcome",
    ),
    Removal(
        "SQL is the truth",
        "the first verdict is final",
        "models/repositories/verdicts.py",
        ("*(job.c.status == status for status in sorted(OPEN)),\n            and_("),
        ("*(job.c.status == status for status in Status),\n            and_("),
        "tests/models/test_verdicts.py::test_the_first_verdict_is_final",
    ),
    Removal(
        "SQL is the truth",
        "a bell that nobody hears is rung again before the pipeline is reconciled",
        "activities/loops/relay.py",
        "return bool(now - row.created_at > self._patience)",
        "return bool(row and now)",
        (
            "tests/activities/loops/test_relay.py::test_a_bell_that_nobody_hears_is_rung_again_before_t"
            "he_pipeline_is_reconciled"
        ),
    ),
    Removal(
        "SQL is the truth",
        "a bell that nobody hears for long lets the pipeline be reconciled",
        "activities/loops/relay.py",
        "return bool(now - row.created_at > self._patience)",
        "return not (row and now)",
        ("tests/workflows/test_recovery.py::test_the_relay_mends_a_pipeline_whose_activity_temporal_does_not_know"),
    ),
    Removal(
        "SQL is the truth",
        "a new run waits for every open job",
        "workflows/pipeline.py",
        "homeless = await self._waits.adopt(self._open(loaded))",
        "homeless = await self._waits.adopt(self._open(loaded)) and []",
        "tests/workflows/test_interleavings.py::test_a_new_run_has_an_activity_for_every_open_job",
    ),
    Removal(
        "SQL is the truth",
        "a new run reads verdicts once more when it waits",
        "workflows/pipeline.py",
        ("            await self._take_in(homeless)\n            loaded = await self._read()\n"),
        "            await self._take_in(homeless)\n",
        (
            "tests/workflows/test_interleavings.py::test_a_verdict_between_loading_and_waiting_is_found"
            "_by_the_second_look"
        ),
    ),
    Removal(
        "SQL is the truth",
        "the reconciler starts what Temporal has closed or lost",
        "activities/loops/reconciler.py",
        "if run is not None and run.is_open and not run.in_window and not has_unfolded:",
        "if not has_unfolded:",
        "tests/activities/loops/test_reconciler.py::test_what_is_closed_or_unknown_goes_on",
    ),
    Removal(
        "SQL is the truth",
        "a workflow that only waits for a retry is told when SQL says that its pipeline goes on",
        "activities/loops/reconciler.py",
        "if run is not None and run.is_open and not run.in_window and not has_unfolded:",
        "if run is not None and run.is_open and not has_unfolded:",
        "tests/workflows/test_retry_window.py::test_a_pipeline_that_goes_on_in_sql_does_not_wait_for_a_retry",
    ),
    Removal(
        "SQL is the truth",
        "what was terminated by hand is canceled",
        "activities/loops/reconciler.py",
        "if run is not None and run.is_terminated:",
        "if run is not None and run.is_terminated and has_unfolded:",
        "tests/activities/loops/test_reconciler.py::test_what_was_terminated_is_canceled_with_the_reason",
    ),
    Removal(
        "Who writes which status",
        "the transition table guards every status write",
        "models/repositories/job_rows.py",
        "expanding=True)), _permits(to))",
        "expanding=True)))",
        "tests/models/test_decisions.py::test_who_writes_which_status",
    ),
    Removal(
        "Who writes which status",
        "the workflow takes over the rows as they are, not its wish",
        "domain/decisions.py",
        "if job_id in known and known[job_id].status is not status",
        "if job_id not in known",
        "tests/domain/test_decisions.py::test_rows_are_believed_more_than_wishes",
    ),
    Removal(
        "Who writes which status",
        "a runner that can stop a job is asked to",
        "models/repositories/cancellation.py",
        "graceful = and_(job.c.status == Status.RUNNING, job.c.cancel_gracefully)",
        "graceful = and_(job.c.status == Status.CANCELING, job.c.cancel_gracefully)",
        ("tests/models/test_cancellation.py::test_cancel_ends_what_no_runner_holds_and_asks_the_others_to_stop"),
    ),
    Removal(
        "Who writes which status",
        "a job that is being stopped ends as canceled",
        "models/repositories/verdicts.py",
        "(job.c.status == Status.CANCELING, literal(str(Status.CANCELED))),",
        "(job.c.status == Status.CREATED, literal(str(Status.CANCELED))),",
        ("tests/models/test_verdicts.py::test_a_job_that_is_being_stopped_ends_as_canceled_whatever_its_runner_says"),
    ),
    Removal(
        "Who writes which status",
        "a pipeline is not finished while a job is being stopped",
        "domain/status.py",
        ("(frozenset({Status.CREATED}), Status.RUNNING),\n    (frozenset({Status.CANCELING}), Status.CANCELING),"),
        ("(frozenset({Status.CREATED}), Status.RUNNING),\n    (frozenset({Status.CANCELING}), Status.CANCELED),"),
        "tests/models/test_cancellation.py::test_a_pipeline_is_not_finished_while_a_job_is_being_stopped",
    ),
    Removal(
        "Who writes which status",
        "an attempt that is being stopped counts although it was retried",
        "models/repositories/decisions.py",
        "or_(~job.c.retried, job.c.status == Status.CANCELING)",
        "~job.c.retried",
        (
            "tests/models/test_interleavings.py::test_an_attempt_that_is_being_stopped_holds_the_pipeli"
            "ne_although_it_was_retried"
        ),
    ),
    Removal(
        "Never backwards",
        "a pipeline that ran does not become pending",
        "domain/status.py",
        ("        return Status.RUNNING\n    return folded"),
        ("        return folded\n    return folded"),
        "tests/models/test_interleavings.py::test_a_hand_out_that_nobody_took_up_lowers_no_pipeline",
    ),
    Removal(
        "Never backwards",
        "a decision holds the stages while it counts their rows",
        "models/repositories/decisions.py",
        (".order_by(stage.c.id)\n    .with_for_update()"),
        ".order_by(stage.c.id)",
        ("tests/models/test_interleavings.py::test_a_stage_is_not_lowered_by_a_decision_that_a_claim_comes_between"),
    ),
    Removal(
        "Never backwards",
        "a verdict that is not folded counts as running",
        "models/repositories/decisions.py",
        "return Status(row.status) if row.folded or row.status == Status.CANCELED else Status.RUNNING",
        "return Status(row.status)",
        "tests/models/test_decisions.py::test_a_verdict_that_is_not_folded_counts_as_running",
    ),
    Removal(
        "A retry is a new row",
        "an attempt follows only a row that was not retried",
        "models/repositories/attempts.py",
        ".where(old.c.id == attempt.job_id, ~old.c.retried)",
        ".where(old.c.id == attempt.job_id)",
        "tests/models/test_decisions.py::test_an_attempt_of_a_job_is_unique",
    ),
    Removal(
        "A retry is a new row",
        "an attempt is unique",
        "models/migrations/versions/0001_everything_the_first_version_stores.py",
        "sa.UniqueConstraint('first_id', 'attempt'),",
        "",
        "tests/models/test_decisions.py::test_an_attempt_of_a_job_is_unique",
    ),
    Removal(
        "A retry is a new row",
        "a job that was put back has another hand-out",
        "models/repositories/claims.py",
        '"b_hand_out": row.hand_out + 1,',
        '"b_hand_out": 1,',
        "tests/models/test_leases.py::test_a_hand_out_without_any_call_goes_back_to_the_queue",
    ),
    Removal(
        "A retry is a new row",
        "only the hand-out that holds a job may end it",
        "models/repositories/verdicts.py",
        'or_(bindparam("b_hand_out", type_=Integer) < 0,',
        'or_(bindparam("b_hand_out", type_=Integer) > -2,',
        "tests/models/test_verdicts.py::test_a_verdict_is_fenced_by_its_hand_out",
    ),
    Removal(
        "Decisions are numbered",
        "an old decision changes nothing",
        "models/repositories/decisions.py",
        "    if (before.run, before.tick) >=",
        ("    decision = replace(decision, run=before.run, tick=before.tick + 1)\n    if (before.run, before.tick) >="),
        "tests/models/test_decisions.py::test_decisions_are_numbered",
    ),
    Removal(
        "Decisions are numbered",
        "the last write of a decision looks at the number again",
        "models/repositories/decisions.py",
        "    if written.rowcount == 0:",
        "    if written.rowcount > 1:",
        (
            "tests/models/test_interleavings.py::test_a_decision_that_is_overtaken_between_its_check_an"
            "d_its_last_write_changes_nothing"
        ),
    ),
    Removal(
        "Decisions are numbered",
        "of two runs the present one is right, whatever their clocks say",
        "workflows/pipeline.py",
        "self._run = loaded.number[0] + 1",
        "self._run += 0",
        (
            "tests/workflows/test_interleavings.py::test_a_run_that_began_before_the_last_decision_by_i"
            "ts_own_clock_goes_on"
        ),
    ),
    Removal(
        "Decisions are numbered",
        "a command whose decision was stale is decided again",
        "workflows/pipeline.py",
        ("if command.key not in self._answers]\n                self._granted"),
        ("if not command]\n                self._granted"),
        ("tests/workflows/test_interleavings.py::test_a_command_whose_decision_came_too_late_is_decided_again"),
    ),
)
"""In the order of `docs/seam.md`."""
