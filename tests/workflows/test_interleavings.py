"""What happens between two steps of a pipeline's workflow: a second actor comes exactly there."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update
from temporalio import workflow
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from domain.messages import Answer, Operation
from domain.pipelines.status import Status
from models.clock import system_clock
from models.repositories.pipelines import decisions, loading, pipelines
from tests.fault_point import held_at
from tests.models.world import job, outbox_table, pipeline
from tests.temporal import new_namespace
from tests.waiting import eventually
from tests.workflows.pod import Pod
from workflows import job_waits
from workflows.await_job import activity_id, wait_for, workflow_id

ANSWERED_WITHIN = 20.0
PAIR = "a: {script: x}\nb: {stage: deploy, script: y}\n"


async def lose_everything(pod: Pod) -> None:
    """Temporal comes back empty."""
    await pod.close()
    await pod.join(await new_namespace(pod.settings.temporal))


async def waited_for(pod: Pod, name: str) -> set[str]:
    """The activities that a workflow waits for."""
    described = await pod.client.get_workflow_handle(name).describe()
    return {one.activity_id for one in described.raw_description.pending_activities}


async def ask(pod: Pod, pipeline_id: int, name: str, job_id: int | None = None, key: str = "") -> Answer:
    """Send an update; TimeoutError when nobody answers it."""
    return await asyncio.wait_for(pod.ask(pipeline_id, name, job_id, key), ANSWERED_WITHIN)


async def start_again(pod: Pod, pipeline_id: int) -> None:
    """As an operator does it: another run, which is told nothing."""
    async with pod.world.database.read() as connection:
        facts = (await pipelines.facts_of(connection, [pipeline_id]))[pipeline_id]
    await pod.pipelines.signal(facts, "reconcile", Operation())


async def test_a_new_run_has_an_activity_for_every_open_job(pod: Pod) -> None:
    pipeline_id = await pod.create(PAIR)
    a = await pod.take("a")
    await lose_everything(pod)
    await pod.start_worker()
    assert await pod.reconcile(pipeline_id) == [pipeline_id]

    async def look() -> bool:
        return await waited_for(pod, workflow_id(pipeline_id)) == {activity_id(a)}

    await eventually(look, "somebody waits for the job")
    await pod.activity(pipeline_id, a).complete({"job_id": a, "status": "success"})
    await pod.until(pipeline_id, a="success", b="pending")


async def test_a_verdict_between_loading_and_waiting_is_found_by_the_second_look(
    pod: Pod, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job ends after the new run has read SQL and before its activity is there; nobody rings."""
    pipeline_id = await pod.create(PAIR)
    a = await pod.take("a")
    await lose_everything(pod)
    read, looks = loading.page, []

    async def page(*given: Any) -> Any:
        found = await read(*given)
        looks.append(found)
        if len(looks) == 1:
            await pod.world.end(a)
        return found

    monkeypatch.setattr(loading, "page", page)
    await pod.start_worker()
    assert await pod.reconcile(pipeline_id) == [pipeline_id]
    await pod.until(pipeline_id, a="success", b="pending")


GATE = "gate: {script: x, when: manual, allow_failure: false}\n"


@asynccontextmanager
async def overtaken(pod: Pod, pipeline_id: int, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """Between deciding and recording the next decision another run records something."""
    write, writes = decisions.record_or_read, []

    async def record_or_read(*given: Any) -> Any:
        writes.append(given)
        if len(writes) == 1:
            async with pod.world.database.write() as connection:
                newer = update(pipeline).where(pipeline.c.id == pipeline_id).values(run=pipeline.c.run + 1, tick=1)
                await connection.execute(newer)
        return await write(*given)

    with monkeypatch.context() as fault:
        fault.setattr(decisions, "record_or_read", record_or_read)
        yield


async def test_a_command_whose_decision_came_too_late_is_decided_again(
    pod: Pod, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline_id = await pod.create(GATE)
    await pod.until(pipeline_id, gate="manual")
    async with overtaken(pod, pipeline_id, monkeypatch):
        assert (await ask(pod, pipeline_id, "cancel_pipeline")).refused == ""
    assert await pod.ended(pipeline_id) == "canceled"


async def test_a_job_whose_offer_came_too_late_is_offered_again_with_an_activity(
    pod: Pod, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline_id = await pod.create(GATE)
    await pod.until(pipeline_id, gate="manual")
    gate = (await pod.world.row(job, pipeline_id=pipeline_id)).id
    async with overtaken(pod, pipeline_id, monkeypatch):
        assert (await ask(pod, pipeline_id, "play_job", gate)).jobs == (gate,)
    await pod.run("gate")
    assert await pod.ended(pipeline_id) == "success"


async def test_a_run_that_began_before_the_last_decision_by_its_own_clock_goes_on(pod: Pod) -> None:
    """Temporal came back on a machine whose clock is behind."""
    pipeline_id = await pod.create(PAIR)
    a = await pod.take("a")
    await lose_everything(pod)
    tomorrow = int((system_clock() + timedelta(days=1)).timestamp() * 1_000_000)
    async with pod.world.database.write() as connection:
        await connection.execute(update(pipeline).where(pipeline.c.id == pipeline_id).values(run=tomorrow))
    await pod.start()
    assert await pod.reconcile(pipeline_id) == [pipeline_id]
    await pod.end(a)
    await pod.run("b")
    assert await pod.ended(pipeline_id) == "success"


async def test_an_update_that_ends_the_pipeline_is_answered_before_its_workflow_closes(pod: Pod) -> None:
    pipeline_id = await pod.create("gate: {script: x, when: manual, allow_failure: false}\n")
    await pod.until(pipeline_id, gate="manual")
    assert (await ask(pod, pipeline_id, "cancel_pipeline", key="stop")).key == "stop"
    assert await pod.ended(pipeline_id) == "canceled"


@pytest.fixture
def short_histories(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first run of each pipeline is told that its history is long enough."""
    monkeypatch.setattr(workflow.Info, "is_continue_as_new_suggested", lambda info: info.continued_run_id is None)


async def two_runs(pod: Pod) -> tuple[int, int, int]:
    """A pipeline whose jobs `a` and `b` are held while its workflow goes on as another run."""
    await pod.stop_worker()
    pipeline_id = await pod.create("a: {script: x}\nb: {script: y}\nc: {stage: deploy, script: z}\n")

    async def started() -> bool:
        return await pod.state(pipeline_id) is WorkflowExecutionStatus.RUNNING

    await eventually(started, "the workflow is started")
    first = (await pod.handle(pipeline_id).describe()).run_id
    await pod.start_worker()
    a, b = await pod.take("a"), await pod.take("b")

    async def another() -> bool:
        return (await pod.handle(pipeline_id).describe()).run_id != first

    await eventually(another, "another run goes on")
    return pipeline_id, a, b


@pytest.mark.usefixtures("short_histories")
async def test_a_long_history_is_left_behind_without_losing_a_job(pod: Pod) -> None:
    pipeline_id, a, b = await two_runs(pod)
    await pod.end(a)
    await pod.end(b)
    await pod.run("c")
    assert await pod.ended(pipeline_id) == "success"


@pytest.mark.usefixtures("short_histories")
async def test_a_long_history_is_left_behind_without_losing_a_message(pod: Pod) -> None:
    """The command comes when the new run has not done its first task yet."""
    pipeline_id, a, b = await two_runs(pod)
    await pod.end(a, Status.FAILED)
    (again,) = (await ask(pod, pipeline_id, "retry_job", a)).jobs
    await pod.end(b)
    assert await pod.run("a") == again
    await pod.run("c")
    assert await pod.ended(pipeline_id) == "success"


@pytest.mark.usefixtures("short_histories")
async def test_an_update_is_answered_by_the_run_that_is_left_behind(pod: Pod) -> None:
    """It starts the workflow: the run leaves its history behind in the task that records the response."""
    await pod.stop_relay()
    pipeline_id = await pod.create("a: {script: x}\nb: {script: y}\n")
    a, _ = [row.id for row in await pod.world.rows(job, pipeline_id=pipeline_id)]
    assert (await ask(pod, pipeline_id, "cancel_job", a, key="stop")).key == "stop"
    assert (await pod.world.statuses(pipeline_id))["a"] == "canceled"
    pod.start_relay()
    await pod.run("b")
    assert await pod.ended(pipeline_id) == "canceled"


@pytest.mark.usefixtures("short_histories")
async def test_an_update_in_progress_is_answered_before_its_run_is_left_behind(
    pod: Pod, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It asks for SQL to be read again, while the decision is recorded after which the run would leave."""
    await pod.stop_worker()
    pipeline_id = await pod.create("a: {script: x}\n")
    handle = pod.handle(pipeline_id)

    async def started() -> bool:
        return await pod.state(pipeline_id) is WorkflowExecutionStatus.RUNNING

    async def accepted() -> bool:
        events = (await handle.fetch_history()).events
        return any(event.HasField("workflow_execution_update_accepted_event_attributes") for event in events)

    await eventually(started, "the workflow is started")
    first = (await handle.describe()).run_id
    async with held_at(monkeypatch, decisions, "record_or_read", pod.start_worker()):
        asking = asyncio.create_task(handle.execute_update("reconcile", Operation("read").as_sent()))
        await eventually(accepted, "the update is accepted")
    assert await asyncio.wait_for(asking, ANSWERED_WITHIN) == "read"
    await pod.run("a")
    assert await pod.ended(pipeline_id) == "success"
    assert (await handle.describe()).run_id != first


FOUR = "".join(f"a{n}: {{script: x}}\nb{n}: {{stage: deploy, needs: [a{n}], script: y}}\n" for n in range(4))


async def test_a_long_history_is_left_behind_while_verdicts_keep_coming(
    pod: Pod, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whenever a verdict has been decided upon the next one is there already."""
    pipeline_id = await pod.create(FOUR)
    running = [await pod.take(f"a{number}") for number in range(4)]
    runs: list[str | None] = []
    write = decisions.record_or_read

    async def record_or_read(*given: Any) -> Any:
        recorded = await write(*given)
        if given[1].offers():
            runs.append((await pod.handle(pipeline_id).describe()).run_id)
            if running:
                await pod.end(running.pop())
                await eventually(nothing_unsent, "Temporal has the next verdict")
        return recorded

    async def nothing_unsent() -> bool:
        return all(row.sent_at for row in await pod.world.rows(outbox_table))

    monkeypatch.setattr(decisions, "record_or_read", record_or_read)
    monkeypatch.setattr(workflow.Info, "is_continue_as_new_suggested", lambda _: len(runs) == 1)
    await pod.end(running.pop())
    for number in range(4):
        await pod.run(f"b{number}")
    assert await pod.ended(pipeline_id) == "success"
    assert len(runs) == 4
    assert runs[0] != runs[1] == runs[2] == runs[3]


class Slow:
    """Stands before a function of a workflow: its first call waits a second, as if the worker were busy."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._never = threading.Event()
        self._is_first = True

    def __call__(self, *given: Any) -> Any:
        """Wait, then do it."""
        if self._is_first:
            self._is_first = False
            self._never.wait(1)
        return self._function(*given)


@pytest.fixture
def small_rooms(monkeypatch: pytest.MonkeyPatch) -> None:
    """A workflow waits for one job itself, a room for three."""
    monkeypatch.setattr(job_waits, "OWN_JOBS", 1)
    monkeypatch.setattr(job_waits, "ROOM_JOBS", 3)


async def in_a_room(pod: Pod) -> tuple[int, str, list[int]]:
    """A pipeline with its three jobs in a room: the room, and the jobs."""
    pipeline_id = await pod.create("a: {script: x, parallel: 3}\n")
    jobs = [await pod.take(f"a {number}/3") for number in (1, 2, 3)]
    (room,) = {row.room for row in await pod.world.rows(job, pipeline_id=pipeline_id)}
    assert room
    return pipeline_id, room, jobs


async def by_hand(pod: Pod, room: str, job_id: int) -> None:
    """End a job in Temporal only; its room alone knows of it."""
    handle = pod.client.get_async_activity_handle(workflow_id=room, run_id=None, activity_id=activity_id(job_id))
    await handle.complete({"job_id": job_id, "status": "success"})


async def room_knows(pod: Pod, room: str, what: EventType.ValueType, times: int = 1) -> None:
    """Wait until a room has such events in its history, and has done what follows from them."""

    async def look() -> bool:
        events = (await pod.client.get_workflow_handle(room).fetch_history()).events
        is_idle = events[-1].event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
        return is_idle and sum(event.event_type == what for event in events) >= times

    await eventually(look, f"{room} has {times} events {EventType.Name(what)}")


async def closed(pod: Pod, room: str) -> WorkflowExecutionStatus:
    """How a room has ended."""

    async def look() -> WorkflowExecutionStatus | None:
        status = (await pod.client.get_workflow_handle(room).describe()).status
        return None if status is WorkflowExecutionStatus.RUNNING else status

    return await eventually(look, f"{room} is closed")


@pytest.mark.usefixtures("small_rooms")
async def test_no_job_is_offered_before_its_room_waits_for_it(pod: Pod, monkeypatch: pytest.MonkeyPatch) -> None:
    """The room comes late to its first task; a runner could have ended the job by then."""
    monkeypatch.setattr("workflows.waiting_room.wait_for", Slow(wait_for))
    write, seen = decisions.record_or_read, []

    async def record_or_read(database: Any, decision: Any, now: Any) -> Any:
        if decision.room:
            seen.append((set(map(activity_id, decision.offers())), await waited_for(pod, decision.room)))
        return await write(database, decision, now)

    monkeypatch.setattr(decisions, "record_or_read", record_or_read)
    await in_a_room(pod)
    ((offered, waited),) = seen
    assert offered == waited
    assert len(offered) == 3


@pytest.mark.usefixtures("small_rooms")
async def test_a_room_outlives_its_pipelines_workflow_and_tells_the_next_run(pod: Pod) -> None:
    """A job ends while no workflow of its pipeline runs: only the room knows of it, until it is asked."""
    pipeline_id, room, jobs = await in_a_room(pod)
    await pod.handle(pipeline_id).terminate("test")
    await by_hand(pod, room, jobs[0])
    await room_knows(pod, room, EventType.EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED)
    await start_again(pod, pipeline_id)
    await pod.until(pipeline_id, **{"a 1/3": "success"})
    for job_id in jobs[1:]:
        await pod.end(job_id)
    assert await pod.ended(pipeline_id) == "success"
    assert {row.room for row in await pod.world.rows(job, pipeline_id=pipeline_id)} == {room}
    assert await closed(pod, room) is WorkflowExecutionStatus.COMPLETED


@pytest.mark.usefixtures("small_rooms", "short_histories")
async def test_a_room_outlives_a_history_that_is_left_behind(pod: Pod) -> None:
    pipeline_id, room, jobs = await in_a_room(pod)

    async def another() -> bool:
        return any([run.run_id != first async for run in pod.client.list_workflows(query)])

    query = f'WorkflowId = "{workflow_id(pipeline_id)}"'
    first = next(iter([run.run_id async for run in pod.client.list_workflows(query)]))
    await eventually(another, "another run goes on")
    for job_id in jobs:
        await pod.end(job_id)
    assert await pod.ended(pipeline_id) == "success"
    assert {row.room for row in await pod.world.rows(job, pipeline_id=pipeline_id)} == {room}
    assert await closed(pod, room) is WorkflowExecutionStatus.COMPLETED


@pytest.mark.usefixtures("small_rooms")
async def test_what_a_room_told_a_run_that_recorded_nothing_is_told_again(
    pod: Pod, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline_id, room, jobs = await in_a_room(pod)
    write, runs = decisions.record_or_read, set()

    async def record_or_read(database: Any, decision: Any, now: Any) -> Any:
        """The database takes nothing from the run that there is now."""
        runs.add(decision.run)
        if decision.run == min(runs):
            raise RPCError("away", RPCStatusCode.UNAVAILABLE, b"")
        return await write(database, decision, now)

    monkeypatch.setattr(decisions, "record_or_read", record_or_read)
    await by_hand(pod, room, jobs[0])
    await room_knows(pod, room, EventType.EVENT_TYPE_EXTERNAL_WORKFLOW_EXECUTION_SIGNALED, 2)
    await pod.handle(pipeline_id).terminate("test")
    await start_again(pod, pipeline_id)
    await pod.until(pipeline_id, **{"a 1/3": "success"})


async def test_an_attempt_that_is_being_stopped_keeps_the_workflow_until_it_has_stopped(pod: Pod) -> None:
    pipeline_id = await pod.create("a: {script: x}\n")
    stopping = await pod.take("a", cancel_gracefully=True)
    await ask(pod, pipeline_id, "cancel_job", stopping)
    await ask(pod, pipeline_id, "retry_job", stopping)
    await pod.run("a")

    async def recorded() -> bool:
        return bool((await pod.world.row(job, pipeline_id=pipeline_id, retried=False)).folded)

    await eventually(recorded, "the end of the second attempt is recorded")
    assert await pod.world.status(pipeline_id) == "canceling"
    assert await pod.state(pipeline_id) is WorkflowExecutionStatus.RUNNING
    await pod.end(stopping, Status.FAILED, reason="job_canceled")
    assert await pod.ended(pipeline_id) == "success"
