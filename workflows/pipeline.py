"""Workflow `Pipeline`: a durable loop around `domain.decisions.decide`.

SQL is the truth, this is the clockwork: every run begins by loading the pipeline, so that a run that was reset, started
again by hand or lost with its whole history picks up where SQL is (design, "Rules of the seam").
"""

import asyncio
from collections.abc import Callable
from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy

with workflow.unsafe.imports_passed_through():
    from dataclasses import replace

    from domain.decisions import advance, decide, next_due
    from domain.messages import AwaitJob, Decision, Load, Loaded, PipelineInput, Recorded
    from domain.pipeline import Job, Pipeline
    from domain.status import COMPLETE, OPEN, Status
    from domain.verdict import UNKNOWN_FAILURE, Verdict
    from workflows import search_attributes
    from workflows.operations import Operations
    from workflows.ports import PipelinePort

MOST_OPEN_JOBS = 500
"""So many jobs wait for runners at once; the others stay as they are until there is room."""

_AWAIT_LIMIT = timedelta(days=90)
"""An alarm for a job that nobody ever ended, never a decision."""

_RECORD_LIMIT = timedelta(seconds=60)
_RECORD_RETRY = RetryPolicy(initial_interval=timedelta(seconds=0.2), maximum_interval=timedelta(seconds=10))
"""Database work: tried until the database answers."""


def workflow_id(pipeline_id: int) -> str:
    """The id of a pipeline's workflow."""
    return f"pipeline-{pipeline_id}"


def activity_id(job_id: int) -> str:
    """The id of the activity that waits for a job; used once, since a retry is another job row."""
    return f"job-{job_id}"


@workflow.defn(name="Pipeline")
class PipelineWorkflow(Operations):
    """One pipeline, from its first job until nothing more can happen without a command."""

    @workflow.init
    def __init__(self, order: PipelineInput) -> None:
        """Exist before the first message arrives."""
        super().__init__()
        self._order = order
        self._run = int(workflow.info().start_time.timestamp() * 1_000_000)
        self._tick = 0
        self._pipeline: Pipeline | None = None
        self._verdicts: dict[int, Verdict] = {}
        self._folded: set[int] = set()
        self._awaited: dict[int, workflow.ActivityHandle[Verdict]] = {}
        self._changed = False

    @workflow.run
    async def run(self, order: PipelineInput) -> str:
        """Loop until the pipeline is complete; the result is its status."""
        await self._load()
        while True:
            while await self._turn():
                pass
            if self._is_over() and await self._is_quiet():
                return str(self._state.status)
            if workflow.info().is_continue_as_new_suggested() and await self._is_quiet():
                workflow.continue_as_new(order)
            await self._wait()

    @property
    def _state(self) -> Pipeline:
        assert self._pipeline is not None
        return self._pipeline

    async def _load(self) -> None:
        """Take over what SQL says; wait again for open jobs, then look for verdicts that came in between."""
        loaded = await self._read()
        ended = {verdict.job_id for verdict in loaded.verdicts}
        opened = [job for job in loaded.pipeline.jobs if job.status in OPEN and job.id not in ended]
        self._pipeline = loaded.pipeline
        if opened:
            self._await(opened)
            loaded = await self._read()
            self._pipeline = loaded.pipeline
        for verdict in loaded.verdicts:
            self._arrived(verdict)
        self._answers |= {answer.key: answer for answer in loaded.answers}
        self._reload = False

    async def _read(self) -> Loaded:
        """A local activity: it is over in milliseconds, and needs neither a queue nor a workflow task of its own."""
        return await workflow.execute_local_activity_method(
            PipelinePort.load,
            Load(self._order.pipeline_id),
            start_to_close_timeout=_RECORD_LIMIT,
            retry_policy=_RECORD_RETRY,
            summary="read the pipeline",
        )

    async def _turn(self) -> bool:
        """Decide once and record it; false when there was nothing worth recording."""
        if self._reload:
            await self._load()
        self._changed = False
        commands, self._commands = tuple(self._commands), []
        room = MOST_OPEN_JOBS - len(self._awaited)
        turn = decide(self._state, tuple(self._verdicts.values()), commands, workflow.now(), room=room)
        if turn.decision is None:
            return False
        self._tick += 1
        decision = replace(turn.decision, run=self._run, tick=self._tick)
        self._pipeline = turn.pipeline
        recorded = await self._record(decision)
        self._pipeline = advance(self._state, recorded)
        self._settle(decision.verdicts)
        self._publish(recorded)
        return True

    async def _record(self, decision: Decision) -> Recorded:
        """Write a decision. One that offers jobs must not be local: it would run before `await_job` is known."""
        offered = set(decision.offers())
        if not offered:
            return await workflow.execute_local_activity_method(
                PipelinePort.apply,
                decision,
                start_to_close_timeout=_RECORD_LIMIT,
                retry_policy=_RECORD_RETRY,
                summary=_summary(decision, self._state),
            )
        self._await([job for job in self._state.jobs if job.id in offered])
        return await workflow.execute_activity_method(
            PipelinePort.offer_jobs,
            decision,
            start_to_close_timeout=_RECORD_LIMIT,
            retry_policy=_RECORD_RETRY,
            summary=_summary(decision, self._state),
        )

    def _await(self, jobs: list[Job]) -> None:
        """Have an activity for each job before any runner can see it."""
        for job in jobs:
            if job.id in self._awaited or job.id in self._folded:
                continue
            handle = workflow.start_activity_method(
                PipelinePort.await_job,
                AwaitJob(job.id),
                activity_id=activity_id(job.id),
                start_to_close_timeout=_AWAIT_LIMIT,
                retry_policy=RetryPolicy(maximum_attempts=1),
                summary=f"{self._state.stages[job.stage]}: {job.name}"[:200],
            )
            self._awaited[job.id] = handle
            handle.add_done_callback(self._ended(job.id))

    def _ended(self, job_id: int) -> Callable[[asyncio.Future[Verdict]], None]:
        def ended(done: asyncio.Future[Verdict]) -> None:
            self._awaited.pop(job_id, None)
            if done.cancelled() or job_id in self._folded:
                self._changed = True
            else:
                self._arrived(_verdict(job_id, done))

        return ended

    def _arrived(self, verdict: Verdict) -> None:
        if verdict.job_id not in self._folded:
            self._verdicts[verdict.job_id] = verdict
            self._changed = True

    def _settle(self, verdicts: tuple[Verdict, ...]) -> None:
        """These verdicts are recorded; an activity that still waits for one (SQL was quicker) is let go."""
        for verdict in verdicts:
            self._verdicts.pop(verdict.job_id, None)
            self._folded.add(verdict.job_id)
            waiting = self._awaited.get(verdict.job_id)
            if waiting is not None:
                waiting.cancel()

    def _publish(self, recorded: Recorded) -> None:
        for answer in recorded.answers:
            self._answers[answer.key] = answer
        shown = workflow.info().typed_search_attributes.get(search_attributes.STATUS)
        status = search_attributes.shown_status(recorded.status)
        if shown != status:
            workflow.upsert_search_attributes([search_attributes.STATUS.value_set(status)])

    def _is_over(self) -> bool:
        return not self._awaited and self._state.status in COMPLETE and self._state.is_complete()

    def _is_asked(self) -> bool:
        return bool(self._commands) or self._reload or self._changed

    async def _is_quiet(self) -> bool:
        """Wait until no handler runs; false when something new arrived meanwhile."""
        await workflow.wait_condition(lambda: workflow.all_handlers_finished() or self._is_asked())
        return not self._is_asked()

    async def _wait(self) -> None:
        due = next_due(self._state, workflow.now())
        timeout = None if due is None else max(due - workflow.now(), timedelta(0))
        try:
            await workflow.wait_condition(
                self._is_asked,
                timeout=timeout,
                timeout_summary=None if due is None else "until the next delayed job is due",
            )
        except TimeoutError:
            return


def _verdict(job_id: int, done: asyncio.Future[Verdict]) -> Verdict:
    """How a job ended. Whoever completes or fails the activity by hand ends this job, whatever he wrote."""
    if done.exception() is None and isinstance(done.result(), Verdict) and done.result().status in COMPLETE:
        return replace(done.result(), job_id=job_id)
    return Verdict(job_id, Status.FAILED, reason=UNKNOWN_FAILURE)


def _summary(decision: Decision, pipeline: Pipeline) -> str:
    """What a reader of the history sees beside the activity (400 bytes at most)."""
    offered = set(decision.offers())
    names = [job.name for job in pipeline.jobs if job.id in offered]
    parts = [f"offer {', '.join(names)}"] if names else []
    if decision.verdicts:
        parts.append(f"{len(decision.verdicts)} ended")
    parts += [answer.name for answer in decision.answers]
    parts += [f"{attempt.job_id} again" for attempt in decision.attempts]
    return ("; ".join(parts) or "record")[:200]
