"""Engine `domain`: runs scenarios through the pure core alone, playing the part of database and runners itself."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from typing import Any

from domain.config.plan import JobPlan, Plan
from domain.decisions import advance, decide
from domain.errors import Refused
from domain.messages import Command, Decision, Recorded
from domain.pipeline import Job, Pipeline
from domain.status import COMPLETE, OPEN, Status, check_transition, settled
from domain.transitions import Transition, apply_transitions
from domain.verdict import SCRIPT_FAILURE, Verdict, allows_failure
from tests.cases.engine import COMMANDS, Begin, Engine
from tests.cases.scenario import State

NOW = datetime(2026, 1, 1, tzinfo=UTC)
"""Time stands still: a delayed job is due only when a scenario says so."""


class CoreEngine:
    """One pipeline of a plan. Raises `PerdureError` where the core does."""

    def __init__(self, plan: Plan) -> None:
        """Create the pipeline and bring it to rest."""
        self._ids = count(1)
        self._plans = {job.name: job for job in plan.jobs}
        jobs = tuple(self._first(job, plan) for job in plan.jobs)
        self._pipeline = Pipeline(1, plan.stages, jobs, on_job_failure=plan.auto_cancel.on_job_failure)
        self._stages = dict.fromkeys(plan.stages, Status.CREATED)
        self._verdicts: list[Verdict] = []
        self._commands: list[Command] = []
        self._facts: Mapping[str, Callable[[Job, Mapping[str, Any]], None]] = {
            "run": lambda job, _: self._change(job, Status.RUNNING),
            "skip": lambda job, _: self._change(job, Status.SKIPPED),
            "success": lambda job, _: self._end(Verdict(job.id, Status.SUCCESS, of_row=True), job),
            "drop": self._drop,
            "due": self._become_due,
        }
        self._rest()

    async def apply(self, event: str, names: tuple[str, ...], arguments: Mapping[str, Any]) -> None:
        """Let an event happen to each job in turn (to the pipeline without names), then go on until all is at rest."""
        jobs = [self._pipeline.by_name[name] for name in names]
        if event in COMMANDS:
            targets: list[int | None] = [job.id for job in jobs] or [None]
            self._commands = [Command(COMMANDS[event], f"command-{n}", target) for n, target in enumerate(targets)]
        else:
            for job in jobs:
                self._facts[event](job, arguments)
        self._rest()

    async def state(self) -> State:
        """What can be seen now; a verdict is seen before anything follows from it."""
        shown = self._shown()
        return State(
            str(self._pipeline.status),
            {name: str(status) for name, status in self._stages.items()},
            {job.name: str(job.status) for job in shown.jobs},
        )

    def _first(self, job: JobPlan, plan: Plan) -> Job:
        return Job(
            id=next(self._ids),
            name=job.name,
            stage=plan.stages.index(job.stage),
            when=job.when,
            allow_failure=job.allow_failure,
            needs=None if job.needs is None else tuple(need.job for need in job.needs),
            retry=job.retry,
            start_in=job.start_in,
            grouped=bool(job.resource_group),
        )

    def _become_due(self, job: Job, _: Mapping[str, Any]) -> None:
        if job.status is not Status.SCHEDULED:
            raise Refused(f"Job {job.id} is {job.status}; only a scheduled job becomes due.")
        self._pipeline = self._pipeline.with_jobs([replace(job, due_at=NOW)])

    def _end(self, verdict: Verdict, job: Job) -> None:
        if job.status not in OPEN or job.id in {other.job_id for other in self._verdicts}:
            raise Refused(f"Job {job.id} is {job.status}; only a pending or running one ends.")
        self._verdicts.append(verdict)

    def _change(self, job: Job, to: Status) -> None:
        check_transition(job.id, job.status, to)
        self._pipeline = apply_transitions(self._pipeline, (Transition(job.id, to),))

    def _drop(self, job: Job, arguments: Mapping[str, Any]) -> None:
        code = arguments.get("exit_code")
        plan = self._plans[job.name]
        allowed = allows_failure(plan.allow_failure, plan.allow_failure_exit_codes, code)
        reason = arguments.get("failure_reason", SCRIPT_FAILURE)
        self._end(Verdict(job.id, Status.FAILED, 1, reason, code, allowed, of_row=True), job)

    def _rest(self) -> None:
        """Decide and record until nothing follows any more; then look at stages and pipeline.

        Raises `Refused` when a command was.
        """
        refused: list[str] = []
        while True:
            turn = decide(self._pipeline, tuple(self._verdicts), tuple(self._commands), NOW, granted=self._granted())
            self._commands = []
            if turn.decision is None:
                break
            refused += [answer.refused for answer in turn.decision.answers if answer.refused]
            held = {job.id for job in turn.pipeline.jobs if job.status in OPEN}
            self._verdicts = [Verdict(key, Status.CANCELED, of_row=True) for key in turn.decision.cancel if key in held]
            self._pipeline = advance(turn.pipeline, self._record(turn.decision, turn.pipeline))
        shown = self._shown()
        for position, name in enumerate(shown.stages):
            folded = shown.folded(position)
            self._stages[name] = self._stages[name] if folded is Status.CREATED else folded
        self._pipeline = replace(self._pipeline, status=settled(self._pipeline.status, shown.folded()))
        if refused:
            raise Refused(" ".join(refused))

    def _granted(self) -> frozenset[int]:
        """The first waiting job of every resource group whose slot is free."""
        ended = {verdict.job_id for verdict in self._verdicts}
        grouped = [(self._plans[job.name].resource_group, job) for job in self._pipeline.jobs if job.grouped]
        held = {key for key, job in grouped if job.slot and job.status not in COMPLETE and job.id not in ended}
        first: dict[str, int] = {}
        for key, job in grouped:
            if key not in held and job.status is Status.WAITING_FOR_RESOURCE:
                first.setdefault(key, job.id)
        return frozenset(first.values())

    def _record(self, decision: Decision, after: Pipeline) -> Recorded:
        """What the database would answer: a new row for each new attempt."""
        attempts = tuple(self._next_attempt(after, attempt.job_id) for attempt in decision.attempts)
        return Recorded(after.status, {}, attempts, slots=decision.takes)

    def _next_attempt(self, after: Pipeline, job_id: int) -> Job:
        draft = next(job for job in after.jobs if job.id == -job_id)
        allowed = self._plans[draft.name].allow_failure
        return replace(draft, id=next(self._ids), attempt=draft.attempt + 1, allow_failure=allowed)

    def _shown(self) -> Pipeline:
        ended = {verdict.job_id: verdict for verdict in self._verdicts}
        return self._pipeline.with_jobs(
            replace(job, status=ended[job.id].status, allow_failure=job.allow_failure or ended[job.id].allow_failure)
            for job in self._pipeline.jobs
            if job.id in ended
        )


@asynccontextmanager
async def core_engine() -> AsyncIterator[Begin]:
    """The pure core: needs nothing and leaves nothing."""

    async def begin(plan: Plan) -> Engine:
        return CoreEngine(plan)

    yield begin
