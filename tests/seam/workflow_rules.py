"""Rules on what goes between the API, the relay and the workflows."""

from typing import Final

from tests.seam.removal import Removal

REMOVALS: Final[tuple[Removal, ...]] = (
    Removal(
        "Messages",
        "a message of a wrong shape never enters the history",
        "workflows/operations.py",
        "    made.validator(shape)\n",
        "",
        "tests/workflows/test_operations.py::test_an_update_of_the_wrong_shape_never_enters_the_history",
    ),
    Removal(
        "Messages",
        "an update is answered when its command is recorded",
        "workflows/operations.py",
        ("        await workflow.wait_condition(lambda: key in self._answers)\n        answer = self._answers[key]"),
        "        answer = self._answers.get(key, Answer(key, name))",
        ("tests/workflows/test_operations.py::test_an_update_meets_a_verdict_that_temporal_holds_and_nobody_folded"),
    ),
    Removal(
        "Messages",
        "the answer is kept with what it tells of",
        "models/repositories/pipelines/decisions.py",
        ("    if answer.key:\n        caller"),
        ("    if answer.key and not answer:\n        caller"),
        "tests/models/test_decisions.py::test_commands_are_answered_once_and_for_all",
    ),
    Removal(
        "Messages",
        "the key of a command is looked up when it is recorded",
        "models/repositories/pipelines/decisions.py",
        "or await _is_repeated(connection, decision):",
        "and await _is_repeated(connection, decision):",
        ("tests/models/test_interleavings.py::test_a_command_that_another_run_has_answered_is_not_obeyed_again"),
    ),
    Removal(
        "Messages",
        "the state is looked at again when the command is decided",
        "domain/pipelines/operations.py",
        "if job.status not in RETRIABLE:",
        "if not job.status:",
        "tests/domain/pipelines/test_operations.py::test_retry_is_refused_for_a_job_that_has_not_ended_or_was_skipped",
    ),
    Removal(
        "Messages",
        "a run that has just closed, or is busy, is asked again",
        "application/pipelines/operations.py",
        "{RPCStatusCode.RESOURCE_EXHAUSTED, RPCStatusCode.FAILED_PRECONDITION, RPCStatusCode.NOT_FOUND}",
        "()",
        ("tests/workflows/test_asking.py::test_a_run_that_has_just_closed_or_is_busy_is_asked_again_with_the_same_key"),
    ),
    Removal(
        "Messages",
        "a command that is not answered in time goes to the outbox",
        "application/pipelines/operations.py",
        "    await _leave_in_outbox(services, pipeline_id, name, operation)\n",
        "",
        "tests/api/v4/pipelines/test_pipelines.py::test_without_temporal_a_command_is_kept_and_its_key_told",
    ),
    Removal(
        "Messages",
        "a closed pipeline is started again by what it is asked",
        "workflows/handles.py",
        (
            "task_queue=self._queue,\n"
            "            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,\n"
            "            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,\n"
            "            search_attributes=attributes(facts),\n"
            "            static_summary=summary(facts),\n"
            "        )\n"
        ),
        (
            "task_queue=self._queue,\n"
            "            id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,\n"
            "            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,\n"
            "            search_attributes=attributes(facts),\n"
            "            static_summary=summary(facts),\n"
            "        )\n"
        ),
        "tests/workflows/test_operations.py::test_a_job_of_a_closed_pipeline_is_retried",
    ),
    Removal(
        "Outbox",
        "two relays take different rows",
        "models/repositories/pipelines/outbox.py",
        "skip_locked=True, of=outbox",
        "of=outbox",
        "tests/models/test_outbox.py::test_two_relays_never_hold_the_same_row",
    ),
    Removal(
        "Outbox",
        "rows back off one by one",
        "models/repositories/pipelines/outbox.py",
        ("        .where(outbox.c.id == row_id)\n        .values(attempts"),
        "        .values(attempts",
        "tests/models/test_outbox.py::test_a_row_that_failed_backs_off_by_itself",
    ),
    Removal(
        "Outbox",
        "a look that finds nothing writes nothing",
        "loops/relay.py",
        ("            if not await outbox.unsent(connection, now, 1):\n                return ()\n"),
        "            await outbox.unsent(connection, now, 1)\n",
        "tests/loops/test_relay.py::test_a_look_that_finds_nothing_writes_nothing",
    ),
    Removal(
        "Outbox",
        "a verdict and its bell are one transaction",
        "models/repositories/pipelines/verdicts.py",
        "        if tell:\n",
        "        if not tell:\n",
        "tests/models/test_outbox.py::test_a_verdict_and_its_bell_are_one_transaction",
    ),
    Removal(
        "Outbox",
        "what has started already counts as sent",
        "loops/relay.py",
        ("        except WorkflowAlreadyStartedError:\n            return True\n"),
        ("        except WorkflowAlreadyStartedError:\n            return False\n"),
        "tests/workflows/test_pipelines.py::test_two_relays_start_a_pipeline_once",
    ),
    Removal(
        "Waiting rooms",
        "jobs are offered when their room waits for them",
        "workflows/job_waits.py",
        "        await workflow.wait_condition(lambda: room in self._ready)\n",
        "",
        "tests/workflows/test_interleavings.py::test_no_job_is_offered_before_its_room_waits_for_it",
    ),
    Removal(
        "Waiting rooms",
        "a room outlives the run that opened it",
        "workflows/job_waits.py",
        "parent_close_policy=workflow.ParentClosePolicy.ABANDON,",
        "parent_close_policy=workflow.ParentClosePolicy.TERMINATE,",
        "tests/workflows/test_interleavings.py::test_a_room_outlives_a_history_that_is_left_behind",
    ),
    Removal(
        "Waiting rooms",
        "a new run asks every open room",
        "workflows/job_waits.py",
        "answered = set(await self._ask(rooms))",
        "answered = set(rooms)",
        ("tests/workflows/test_interleavings.py::test_a_room_outlives_its_pipelines_workflow_and_tells_the_next_run"),
    ),
    Removal(
        "Waiting rooms",
        "a room tells a new run what it has told the last one",
        "workflows/waiting_room.py",
        "self._untold = self._told | self._untold",
        "self._untold |= {}",
        ("tests/workflows/test_interleavings.py::test_what_a_room_told_a_run_that_recorded_nothing_is_told_again"),
    ),
    Removal(
        "Waiting rooms",
        "the row names the room that waits for it",
        "models/repositories/pipelines/decisions.py",
        "moved = await move(connection, ids, to, now, **room)",
        "moved = await move(connection, ids, to, now)",
        "tests/workflows/test_waiting_rooms.py::test_jobs_beyond_the_capacity_wait_in_rooms",
    ),
    Removal(
        "Child pipelines",
        "a pipeline and the mark of its bridge are one transaction",
        "loops/bridges.py",
        ("            await outbox.mark_sent(connection, [row], now)\n        if isinstance(wish, Prepared)"),
        ("        await self.done(row)\n        if isinstance(wish, Prepared)"),
        (
            "tests/application/bridges/test_loop.py::test_killed_before_the_commit_nothing_is_left_and_the_next_try_makes_one"
        ),
    ),
    Removal(
        "Child pipelines",
        "a bridge makes its pipeline only while it still waits for one",
        "loops/bridges.py",
        ("            if await bridges.is_pending(connection, bridge.job.id):\n                made ="),
        ("            if bridge:\n                made ="),
        (
            "tests/application/bridges/test_interleavings.py::test_a_bridge_that_is_canceled_while_its_pipeline"
            "_is_compiled_makes_none"
        ),
    ),
    Removal(
        "Child pipelines",
        "followers are told of every change of status",
        "models/repositories/pipelines/decisions.py",
        "    if status != before.status:\n        put |=",
        "    if status == before.status:\n        put |=",
        "tests/application/bridges/test_loop.py::test_depend_waits_fails_and_comes_to_life_with_a_retry_down_there",
    ),
    Removal(
        "Waking",
        "the loop of the bridges is told of what a decision puts into the outbox",
        "activities/pipelines.py",
        "            await self._notifications.notify(BRIDGES)\n",
        "            pass\n",
        "tests/application/bridges/test_waking.py::test_a_bridge_is_carried_out_at_once_after_its_offer_and_hears_of_every_status",
    ),
    Removal(
        "Waking",
        "the loop of the bridges looks by itself",
        "loops/rounds.py",
        "timeout=quiet, return_when",
        "timeout=None, return_when",
        "tests/application/bridges/test_waking.py::test_a_bridge_that_nobody_was_told_of_is_found_by_the_next_look",
    ),
    Removal(
        "Child pipelines",
        "a revival waits until the end before it is folded",
        "models/repositories/pipelines/bridges.py",
        "if step.act is Act.REVIVE and not row.folded:",
        "if step.act is Act.REVIVE and row.id < 0:",
        "tests/application/bridges/test_loop.py::test_a_revival_waits_until_the_end_before_it_is_folded",
    ),
    Removal(
        "Child pipelines",
        "a closed parent is started again",
        "workflows/handles.py",
        (
            "            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,\n"
            "            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,\n"
            "            search_attributes=attributes(facts),\n"
            "            static_summary=summary(facts),\n"
            "            start_signal=name,"
        ),
        (
            "            id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,\n"
            "            id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,\n"
            "            search_attributes=attributes(facts),\n"
            "            static_summary=summary(facts),\n"
            "            start_signal=name,"
        ),
        (
            "tests/application/bridges/test_end_to_end.py::test_a_retry_in_the_child_brings_the_closed_parent_back_to_life"
        ),
    ),
    Removal(
        "Pipelines in other pods",
        "another pod is asked until it has answered",
        "loops/outbox_rows.py",
        "        except (Unavailable, StorageFull) as error:\n            await self._back_off(row, str(error))\n",
        "        except (Unavailable, StorageFull):\n            await self.done(row)\n",
        "tests/application/bridges/test_other_pods_killed.py::test_a_call_that_is_lost_is_sent_again",
    ),
    Removal(
        "Pipelines in other pods",
        "whoever asks for the same pipeline waits until the first one is committed",
        "application/bridges/for_other_pods.py",
        "        await cross_pod.lock_project(connection, target.project_id)\n",
        "",
        "tests/application/bridges/test_other_pods_killed.py::test_the_same_request_at_the_same_moment_makes_one_pipeline",
    ),
    Removal(
        "Pipelines in other pods",
        "a bridge that has not noted its pipeline yet is told later",
        "application/bridges/elsewhere.py",
        "        if row is None and await bridges.is_pending(connection, bridge_id):",
        "        if row is None and bridge_id < 0:",
        (
            "tests/application/bridges/test_other_pods_killed.py::test_a_pod_that_has_not_noted_its_pipeline_yet"
            "_is_told_again"
        ),
    ),
    Removal(
        "Pipelines in other pods",
        "a message that comes late changes nothing",
        "domain/pipelines/cross_pod.py",
        "return state.version > known.version",
        "return state.version != known.version",
        "tests/application/bridges/test_other_pods_killed.py::test_a_message_that_comes_late_changes_nothing",
    ),
    Removal(
        "Pipelines in other pods",
        "the other pod is told of what a decision puts into the outbox",
        "models/repositories/pipelines/decisions.py",
        'exists().where(cross_pod_upstream.c.pipeline_id == bindparam("b_pipeline"))',
        'exists().where(cross_pod_upstream.c.pipeline_id == bindparam("b_pipeline"), cross_pod_upstream.c.pod < 0)',
        "tests/application/bridges/test_other_pods.py::test_a_retry_down_there_brings_the_bridge_back_to_life",
    ),
    Removal(
        "Pipelines in other pods",
        "a release that is told twice counts once",
        "models/repositories/projects/subscriptions.py",
        "    if (await connection.execute(select(run.c.id).where(known))).first() is None:",
        "    if known is not None:",
        (
            "tests/application/subscriptions/test_other_pods.py::"
            "test_what_is_lost_on_the_way_is_told_again_and_counts_once"
        ),
    ),
    Removal(
        "Pipelines in other pods",
        "a follower is forgotten when its pod knows of no subscription, not while that may just be written",
        "application/subscriptions/for_other_pods.py",
        "        if row.noted_at < services.clock() - SETTLED_AFTER:\n",
        "        if row.noted_at:\n",
        (
            "tests/application/subscriptions/test_other_pods.py::"
            "test_a_pod_that_dies_before_it_has_written_a_subscription_is_not_told_for_ever"
        ),
    ),
)
"""In the order of `docs/seam.md`."""
