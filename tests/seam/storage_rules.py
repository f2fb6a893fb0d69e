"""Rules on what is shared: slots, ids, the database file, the front."""

from typing import Final

from tests.seam.removal import Removal

REMOVALS: Final[tuple[Removal, ...]] = (
    Removal(
        "Resource groups",
        "a slot is taken only when nobody holds it",
        "models/repositories/pipelines/resource_groups.py",
        "~exists().where(_holder.c.id == group.c.holder_id,",
        "~exists().where(_holder.c.id < 0, _holder.c.id == group.c.holder_id,",
        "tests/models/test_resource_groups.py::test_two_takes_at_once_have_one_winner",
    ),
    Removal(
        "Resource groups",
        "the group is locked before its holder is looked at",
        "models/repositories/pipelines/resource_groups.py",
        "    await connection.execute(_LOCK, asking)\n",
        "",
        ("tests/models/test_resource_groups.py::test_a_take_that_had_to_wait_sees_a_holder_that_was_made_meanwhile"),
    ),
    Removal(
        "Resource groups",
        "a job that is being stopped still holds the slot",
        "models/repositories/pipelines/resource_groups.py",
        "group.c.holder_id, _holder.c.status.not_in(COMPLETE)).correlate(group)",
        "group.c.holder_id, _holder.c.status.not_in({*COMPLETE, Status.CANCELING})).correlate(group)",
        (
            "tests/models/test_resource_groups.py::test_a_holder_that_is_being_stopped_keeps_the_slot_u"
            "ntil_it_has_stopped"
        ),
    ),
    Removal(
        "Resource groups",
        "the end of a job tells its group",
        "models/repositories/pipelines/completions.py",
        "if row.resource_group_id is not None:",
        "if row.resource_group_id is None and row.id is None:",
        ("tests/models/test_resource_groups.py::test_however_the_holder_ends_the_group_is_told_and_the_slot_passes_on"),
    ),
    Removal(
        "Resource groups",
        "a group reads SQL again each minute",
        "workflows/resource_group.py",
        "timeout=LOOK_AGAIN, ",
        "",
        ("tests/workflows/test_resource_group_timer.py::test_a_group_looks_again_after_a_minute_although_nobody_asks"),
    ),
    Removal(
        "Resource groups",
        "the slot passes on when the workflow of the waiter is gone",
        "workflows/resource_group.py",
        "            unreachable += (chosen.job_id,)",
        "            unreachable += ()",
        (
            "tests/workflows/test_resource_group_alone.py::test_the_slot_passes_on_when_the_workflow_of"
            "_the_waiter_is_gone"
        ),
    ),
    Removal(
        "Ids",
        "the ids of a pod begin at its block",
        "models/repositories/installation/installations.py",
        "    await _begin_ids(connection, mine.number or 0)\n    return row",
        "    return row",
        "tests/models/test_ids.py::test_the_ids_of_every_table_begin_at_the_pods_block_and_never_come_twice",
    ),
    Removal(
        "Ids",
        "SQLite never uses the id of a job again",
        "models/migrations/versions/0001_everything_the_first_version_stores.py",
        ("    sa.UniqueConstraint('first_id', 'attempt'),\n    sqlite_autoincrement=True\n"),
        ("    sa.UniqueConstraint('first_id', 'attempt'),\n    sqlite_autoincrement=False\n"),
        "tests/models/test_ids.py::test_the_ids_of_every_table_begin_at_the_pods_block_and_never_come_twice",
    ),
    Removal(
        "Ids",
        "no block reaches beyond 2^53",
        "settings.py",
        "pod_number: int = Field(default=0, ge=0, le=8191)",
        "pod_number: int = Field(default=0, ge=0)",
        "tests/models/test_ids.py::test_no_id_is_larger_than_what_every_json_reader_can_hold",
    ),
    Removal(
        "Ids",
        "a Temporal namespace of another installation is refused",
        "activities/temporal_namespace.py",
        "    if owner and owner != replaced:\n",
        "    if owner and not installation_id:\n",
        (
            "tests/activities/test_temporal_namespace.py::test_a_namespace_of_another_installation_is_refu"
            "sed_and_stays_what_it_is"
        ),
    ),
    Removal(
        "SQLite",
        "a transaction says with its first word that it will write",
        "models/sqlite_file.py",
        'driver.execute("BEGIN IMMEDIATE")',
        'driver.execute("BEGIN")',
        ("tests/models/test_one_writer.py::test_nobody_else_writes_between_the_read_and_the_write_of_a_transaction"),
    ),
    Removal(
        "SQLite",
        "the transactions of a process take turns",
        "models/sqlite_file.py",
        "        async with self._turn:\n            line",
        "        if self._turn:\n            line",
        "tests/models/test_one_writer.py::test_transactions_of_one_process_take_turns",
    ),
    Removal(
        "SQLite",
        "a transaction whose task is cancelled is rolled back",
        "models/sqlite_file.py",
        "            except BaseException:\n",
        "            except Exception:\n",
        "tests/models/test_one_writer.py::test_a_transaction_whose_task_is_cancelled_leaves_nothing_open",
    ),
    Removal(
        "The front",
        "a verdict is asked for again later than a poll",
        "pods/patience.py",
        "retry_after=retry_after.get(name, limits.retry_poll)",
        "retry_after=limits.retry_poll",
        "tests/pods/test_front.py::test_api_away_is_503_with_retry_after",
    ),
    Removal(
        "The front",
        "an answer that is cut is 503",
        "pods/upstream.py",
        '        raise Away(f"the answer was cut: {error}", unprocessed=False) from error',
        "        raise",
        "tests/pods/test_front.py::test_small_answer_cut_in_its_body_is_503",
    ),
    Removal(
        "The front",
        "what may have been received is not sent twice",
        "pods/forwarding.py",
        "if not ((away.unprocessed and body.repeatable) or self._may_hold(request, body, patience)):",
        "if not body.repeatable:",
        "tests/pods/test_front.py::test_push_that_may_have_been_received_is_not_repeated",
    ),
    Removal(
        "The front",
        "results, logs, uploads, downloads and git are held until the API is back",
        "pods/patience.py",
        "hold=limits.hold if worth else 0.0",
        "hold=0.0",
        "tests/pods/test_front_holding.py::test_what_would_be_lost_is_held_until_the_api_is_back",
    ),
    Removal(
        "The front",
        "the body of a held call is not read",
        "pods/request_body.py",
        "        self._request.protocol.pause_reading()\n",
        "",
        "tests/pods/test_front_holding.py::test_the_body_of_a_held_call_is_not_read",
    ),
    Removal(
        "The front",
        "what the API may have taken when it died is sent again if that does no harm",
        "pods/patience.py",
        'REPEATABLE = frozenset({"update", "log", "upload", "git fetch"})',
        'REPEATABLE = frozenset({"git fetch"})',
        "tests/pods/test_front_holding.py::test_what_the_api_may_have_taken_before_it_died_is_sent_again",
    ),
    Removal(
        "The front",
        "when every place is taken, a call of the least worth gives way",
        "pods/holding.py",
        "key=lambda place: (place.patience.worth, -held[place.client], place.number))",
        "key=lambda place: (-held[place.client], place.number))",
        "tests/pods/test_front_holding.py::test_what_is_worth_more_keeps_its_place_although_it_is_older",
    ),
    Removal(
        "The front",
        "its listening socket belongs to the supervisor",
        "pods/supervisor.py",
        "                    pass_fds=[one.fileno() for one in sockets],\n",
        "                    pass_fds=[one.detach() for one in sockets],\n",
        "tests/pods/test_front_socket.py::test_a_killed_front_refuses_nobody",
    ),
    Removal(
        "The front",
        "a front that is left gives its socket to the next supervisor",
        "pods/supervisor.py",
        "            await asyncio.to_thread(self._sockets.take_over, child.socket, record.pid)\n",
        "            await asyncio.sleep(0)\n",
        "tests/pods/test_front_socket.py::test_a_front_that_was_left_holds_until_the_next_one_takes_over",
    ),
    Removal(
        "The front",
        "a client that hangs up takes its call to the API along",
        "pods/front.py",
        "handler_cancellation=True,",
        "handler_cancellation=False,",
        "tests/pods/test_front.py::test_client_gone_cancels_the_request_to_the_api",
    ),
    Removal(
        "The front",
        "runners are never redirected",
        "api/app.py",
        "app.router.redirect_slashes = False",
        "app.router.redirect_slashes = True",
        "tests/api/runner/test_no_redirects.py::test_a_slash_too_many_is_not_found_and_not_redirected",
    ),
    Removal(
        "The front",
        "a process that is about to stop lets held polls go",
        "api/runner/job_requests.py",
        "if left <= 0 or services.drain.begun:",
        "if left <= 0:",
        "tests/api/runner/test_waking.py::test_a_process_that_is_about_to_stop_lets_held_polls_go",
    ),
)
"""In the order of `docs/seam.md`."""
