"""Workflow `Pipeline`: a durable loop around `domain.pipelines.decisions.decide`.

SQL is the truth, this is the clockwork: every run begins by loading the pipeline, so that a run that was reset, started
again by hand or lost with its whole history picks up where SQL is (docs/seam.md, "SQL is the truth").
"""

import asyncio
from collections.abc import Iterable

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from dataclasses import replace
    from datetime import timedelta

    from domain.messages import (
        Command,
        Decision,
        Load,
        Loaded,
        Operation,
        PipelineInput,
        Recorded,
        RoomOutcomes,
        RoomReady,
        joined,
    )
    from domain.pipelines.decisions import Turn, advance, decide, next_due
    from domain.pipelines.pipeline import Pipeline
    from domain.pipelines.portions import portions
    from domain.pipelines.status import COMPLETE, Status
    from domain.pipelines.verdict import Verdict
    from workflows import search_attributes
    from workflows.job_waits import JobWaits, OpenJob, in_rooms
    from workflows.operations import Operations
    from workflows.ports import NAMES, NEWEST_NAMES, RECORD_LIMIT, RECORD_RETRY, SENT_LIMIT, PipelinePort
    from workflows.queries import Queries
    from workflows.retry_window import RetryWindow

MAX_VERDICTS = 200
"""So many verdicts are folded in one turn; the others wait for the next."""


@workflow.defn(name="Pipeline")
class PipelineWorkflow(Operations, Queries):
    """One pipeline, from its first job until nothing more can happen, and the window for retries is over."""

    @workflow.init
    def __init__(self, order: PipelineInput) -> None:
        """Exist before the first message arrives."""
        super().__init__()
        self._order = order
        self._names = NAMES[min(max(order.names, 0), NEWEST_NAMES)]
        self._run = int(workflow.info().start_time.timestamp() * 1_000_000)
        self._tick = 0
        self._pipeline: Pipeline | None = None
        self._verdicts: dict[int, Verdict] = {}
        self._folded: set[int] = set()
        self._leaving: set[int] = set()
        self._waits = JobWaits(order.pipeline_id, self._arrived, self._note_change)
        self._changed = False
        self._is_owed = False
        self._is_new = True
        self._rereads = False
        self._due_revives = False
        self._window = RetryWindow(self._is_asked)
        workflow.register_random_seed_callback(self._was_reset)

    @workflow.run
    async def run(self, order: PipelineInput) -> str:
        """Loop until the pipeline is complete; the result is its status.

        One that failed fails, one that was canceled is canceled. Temporal's own Cancel cancels the pipeline, as if
        somebody had asked for it: the loop itself goes on. One that has ended stops waiting for a retry.
        """
        self._obey_start(order.do, f"start-{workflow.info().first_execution_run_id}")
        loop = asyncio.create_task(self._loop())
        while True:
            try:
                status = await asyncio.shield(loop)
            except asyncio.CancelledError:
                if loop.cancelled():
                    raise
                if not self._window.cancel():
                    self._queue("cancel_pipeline", Operation(reason="Canceled in Temporal."))
                continue
            if status is None:
                workflow.continue_as_new(replace(order, do=None), initial_versioning_behavior=self._window.versioning)
            self._window.raise_end(self._state)
            return status

    async def _loop(self) -> str | None:
        """The status in the end, or None when another run shall go on.

        That is when this one has become too long, or when a newer build of the workers shall have what only waits.
        """
        await self._load()
        while True:
            while await self._turn():
                if workflow.info().is_continue_as_new_suggested():
                    break  # verdicts may come faster than they are folded, for thousands of jobs
            if not self._is_over():
                self._window.leave()
            elif await self._may_close():
                return str(self._state.status)
            is_too_long = workflow.info().is_continue_as_new_suggested()
            if (is_too_long or self._window.is_outdated()) and await self._may_leave():
                return None
            await self._wait()

    @property
    def _state(self) -> Pipeline:
        assert self._pipeline is not None
        return self._pipeline

    def _was_reset(self, _seed: int) -> None:
        """What happened after the point that an operator has gone back to is in SQL only."""
        self._reload = True

    async def _load(self) -> None:
        """Take over what SQL says; have somebody wait for open jobs, then look for verdicts that came in between."""
        self._reload, self._is_loading = False, True
        loaded = await self._read()
        homeless = await self._waits.adopt(self._open(loaded))
        if homeless:
            self._pipeline = loaded.pipeline
            await self._take_in(homeless)
            loaded = await self._read()
        self._pipeline = loaded.pipeline
        self._window.is_known = loaded.has_window
        self._leaving = {leaving.job_id for leaving in loaded.leaving}
        self._is_new, self._is_owed = loaded.shown is not None, loaded.is_owed
        self._rereads, self._due_revives = loaded.rereads, not loaded.due_revives_nothing
        for verdict in loaded.verdicts:
            self._folded.discard(verdict.job_id)
            self._arrived(verdict)
        self._answers |= {answer.key: answer for answer in loaded.answers}
        self._commands = [command for command in self._commands if command.key not in self._answers]
        self._is_loading = False

    async def _read(self) -> Loaded:
        """Local activities: over in milliseconds, they need neither a queue nor a workflow task of their own."""
        pages = []
        after: int | None = -1
        while after is not None:
            page = await workflow.execute_local_activity_method(
                self._names.load,
                Load(self._order.pipeline_id, after),
                start_to_close_timeout=RECORD_LIMIT,
                retry_policy=RECORD_RETRY,
                summary="read the pipeline",
            )
            pages.append(page)
            after = page.following
        loaded = joined(pages)
        if loaded.number > (self._run, self._tick):
            self._run = loaded.number[0] + 1  # of two runs the present one is right, whatever their clocks say
        return loaded

    def _open(self, loaded: Loaded) -> list[OpenJob]:
        """The jobs that somebody has to wait for."""
        ended = {verdict.job_id for verdict in loaded.verdicts}
        names = loaded.pipeline.stages
        latest = [
            OpenJob(job.id, f"{names[job.stage]}: {job.name}", job.room) for job in loaded.pipeline.jobs if job.is_open
        ]
        earlier = [OpenJob(leaving.job_id, "an earlier attempt", leaving.room) for leaving in loaded.leaving]
        return [job for job in (*latest, *earlier) if job.id not in ended]

    async def _take_in(self, jobs: list[OpenJob]) -> None:
        """Have somebody wait for open jobs for which nobody does, and let SQL know who it is."""
        for group in in_rooms(jobs, self._waits.free):
            room = await self._waits.take_in(group)
            moved = tuple(job.id for job in group if job.room != room)
            if moved:
                await self._write(Decision(self._order.pipeline_id, moves=moved, room=room), is_local=True)

    async def _turn(self) -> bool:
        """Decide once and record it; false when there was nothing worth recording."""
        await self._look_up_steps(self._order.pipeline_id)
        has_just_read = self._reload
        if self._reload:
            await self._load()
        commands, self._commands = tuple(self._commands), []
        granted, self._granted = frozenset(self._granted), set()
        turn = self._decide(commands, granted)
        if turn.is_doubtful and self._rereads and not has_just_read:
            # People see the end of a job in SQL, and may ask for more before this run hears of it.
            self._put_back(commands, granted)
            return True
        if turn.decision is None:
            return False
        self._pipeline = turn.pipeline
        self._is_owed = False
        for portion in portions(turn.decision):
            if not await self._record(portion):
                self._put_back(commands, granted)
                return True
        self._commands[:0] = turn.waiting
        return True

    def _put_back(self, commands: tuple[Command, ...], granted: frozenset[int]) -> None:
        """Decide about these once more, after SQL was read; what was answered meanwhile is done."""
        self._reload = True
        self._commands[:0] = [command for command in commands if command.key not in self._answers]
        self._granted |= granted

    def _decide(self, commands: tuple[Command, ...], granted: frozenset[int]) -> Turn:
        self._changed = False
        verdicts = tuple(self._verdicts.values())
        self._changed = len(verdicts) > MAX_VERDICTS
        return decide(
            self._state,
            verdicts[:MAX_VERDICTS],
            commands,
            workflow.now(),
            room=self._waits.capacity(),
            granted=granted,
            owed=self._is_owed,
            is_new=self._is_new,
            due_revives=self._due_revives,
        )

    async def _record(self, portion: Decision) -> bool:
        """Write a portion of a decision, and take over what the rows are now; false if it was stale."""
        offered = set(portion.offers())
        names = self._state.stages
        opened = [OpenJob(job.id, f"{names[job.stage]}: {job.name}") for job in self._state.jobs if job.id in offered]
        room = await self._waits.take_in(opened) if opened else ""
        recorded = await self._write(replace(portion, room=room), is_local=not offered or bool(room))
        self._publish(recorded)
        if recorded.stale:
            return False
        self._pipeline = advance(self._state, recorded)
        if self._is_new:  # a bridge that was skipped with its downstream pipeline and is reset ends a second time
            self._folded.difference_update(t.job_id for t in portion.transitions if t.to is Status.CREATED)
        await self._settle(verdict.job_id for verdict in portion.verdicts)
        return True

    async def _write(self, decision: Decision, *, is_local: bool) -> Recorded:
        """Number a decision and write it.

        What offers jobs for which this workflow waits itself must not be local: it would be done before Temporal knows
        of their activities.
        """
        self._tick += 1
        numbered = replace(decision, run=self._run, tick=self._tick)
        method = PipelinePort.offer_jobs if decision.offers() else self._names.apply
        summary = _summary(decision, self._state)
        if is_local:
            return await workflow.execute_local_activity_method(
                method, numbered, start_to_close_timeout=RECORD_LIMIT, retry_policy=RECORD_RETRY, summary=summary
            )
        return await workflow.execute_activity_method(
            method, numbered, start_to_close_timeout=SENT_LIMIT, retry_policy=RECORD_RETRY, summary=summary
        )

    def _arrived(self, verdict: Verdict) -> None:
        if verdict.job_id not in self._folded:
            self._verdicts[verdict.job_id] = verdict
            self._changed = True

    def _note_change(self) -> None:
        self._changed = True

    async def _settle(self, job_ids: Iterable[int]) -> None:
        """The verdicts of these jobs are recorded."""
        settled = list(job_ids)
        for job_id in settled:
            self._verdicts.pop(job_id, None)
        self._folded.update(settled)
        self._leaving.difference_update(settled)
        await self._waits.let_go(settled)

    def _publish(self, recorded: Recorded) -> None:
        for answer in recorded.answers:
            self._answers[answer.key] = answer
            self._window.note(answer)
        search_attributes.show(recorded.status)

    def _is_over(self) -> bool:
        state = self._state
        return not len(self._waits) and not self._leaving and state.status in COMPLETE and state.is_complete()

    def _is_asked(self) -> bool:
        return bool(self._commands or self._granted) or self._reload or self._changed

    async def _is_quiet(self) -> bool:
        """Wait until no handler runs; false when something new arrived meanwhile."""
        await workflow.wait_condition(lambda: workflow.all_handlers_finished() or self._is_asked())
        return not self._is_asked()

    async def _may_close(self) -> bool:
        """Whether the pipeline is over for good: a handler may have begun while the window was asked for."""
        while await self._is_quiet() and await self._window.is_over(self._state):
            if workflow.all_handlers_finished():
                return True
        return False

    async def _may_leave(self) -> bool:
        """Wait until no handler runs; false when something has come in that the next run would not find in SQL.

        An update that waits for SQL to be read again waits for this run, so it is read before.
        """
        await workflow.wait_condition(lambda: workflow.all_handlers_finished() or self._is_told() or self._reload)
        return workflow.all_handlers_finished() and not self._is_told()

    def _is_told(self) -> bool:
        """Whether this run alone knows something: a command, or a verdict that somebody gave by hand."""
        by_hand = any(not verdict.of_row for verdict in self._verdicts.values())
        return bool(self._commands or self._granted) or by_hand

    async def _wait(self) -> None:
        due = next_due(self._state, workflow.now())
        timeout = None if due is None else max(due - workflow.now(), timedelta(0))
        text = None if due is None else "until the next delayed job is due"
        if self._window.is_open:
            timeout, text = self._window.left(), "until the workflow closes unless somebody retries the pipeline"
        try:
            await workflow.wait_condition(
                lambda: self._is_asked() or self._window.is_waived, timeout=timeout, timeout_summary=text
            )
        except TimeoutError:
            return

    @workflow.signal
    def room_ready(self, message: RoomReady) -> None:
        """For Perdure itself: a waiting room has an activity for each of its jobs."""
        self._waits.ready(message.room)

    @workflow.signal
    def room_outcomes(self, message: RoomOutcomes) -> None:
        """For Perdure itself: a waiting room says how jobs have ended."""
        self._waits.told(message.verdicts)


def _summary(decision: Decision, pipeline: Pipeline) -> str:
    """What a reader of the history sees beside the activity (400 bytes at most)."""
    offered = set(decision.offers())
    names = [job.name for job in pipeline.jobs if job.id in offered][:20] if offered else []
    parts = [f"offer {', '.join(names)}"] if names else []
    if decision.verdicts:
        parts.append(f"{len(decision.verdicts)} ended")
    parts += [answer.name for answer in decision.answers[:5]]
    parts += [f"{attempt.job_id} again" for attempt in decision.attempts[:5]]
    return ("; ".join(parts) or "record what follows")[:200]
