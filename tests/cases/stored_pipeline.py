"""A pipeline as SQL holds it, for an engine without a database: rows that only claims, verdicts and decisions write.

What the product does to the rows in `models.repositories` is done here again, and nothing else: a status that no
decision has recorded stays what it was, however wrong.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Final

from domain.config.plan import JobPlan, Plan
from domain.errors import Refused
from domain.messages import Decision, Loaded, Recorded
from domain.operations import Attempt
from domain.pipeline import Job, Pipeline
from domain.status import COMPLETE, JOB_TRANSITIONS, OPEN, Status, check_transition, composite, settled
from domain.transitions import Transition
from domain.verdict import Verdict, allows_failure

ENDS_AS: Final[Mapping[Status, Status]] = {Status.CANCELING: Status.CANCELED}
"""What a job in this state becomes, whatever its runner says."""


@dataclass
class Row:
    """A job's row. `job` is the snapshot with the status that the row has; `verdict` waits until it is folded."""

    job: Job
    plan: JobPlan
    first: int
    verdict: Verdict | None = None
    retried: bool = False
    ran: bool = False
    graceful: bool = False

    @property
    def counts_as(self) -> Status:
        """What the row counts as in its stage: a verdict that is not folded still runs."""
        return self.job.status if self.verdict is None or self.job.status is Status.CANCELED else Status.RUNNING

    def to(self, status: Status) -> None:
        """Write the status."""
        self.job = replace(self.job, status=status)


class StoredPipeline:
    """The rows of one pipeline and its stages."""

    def __init__(self, plan: Plan) -> None:
        """Make a row for each job of the plan."""
        self._plan = plan
        self._ids = count(1)
        self.rows: dict[int, Row] = {}
        self.status = Status.CREATED
        self.stages = dict.fromkeys(plan.stages, Status.CREATED)
        self._holders: dict[str, int] = {}
        for one in plan.jobs:
            self._make(_first(one, plan), one, 0)

    @property
    def latest(self) -> list[Row]:
        """The rows of the latest attempts."""
        order = {one.name: place for place, one in enumerate(self._plan.jobs)}
        return sorted((row for row in self.rows.values() if not row.retried), key=lambda row: order[row.job.name])

    def named(self, name: str) -> Row:
        """The latest attempt of a job."""
        return next(row for row in self.latest if row.job.name == name)

    def load(self) -> Loaded:
        """What a workflow would read."""
        jobs = tuple(
            replace(row.job, status=row.job.status if row.verdict is None else Status.RUNNING, slot=self._holds(row))
            for row in self.latest
        )
        state = Pipeline(1, self._plan.stages, jobs, self.status, on_job_failure=self._plan.auto_cancel.on_job_failure)
        return Loaded(state, tuple(self.unfolded()), shown=tuple(self.stages.values()))

    def unfolded(self) -> list[Verdict]:
        """The verdicts that no decision has recorded."""
        return [row.verdict for row in self.rows.values() if row.verdict is not None]

    def claim(self, row: Row, *, graceful: bool) -> None:
        """A runner takes a pending job; stage and pipeline run from then on."""
        check_transition(row.job.id, row.job.status, Status.RUNNING)
        row.to(Status.RUNNING)
        row.ran, row.graceful = True, graceful
        self.stages[row.plan.stage] = Status.RUNNING
        if self.status not in COMPLETE:
            self.status = Status.RUNNING

    def end(self, row: Row, status: Status, reason: str = "", exit_code: int | None = None) -> None:
        """A verdict on an open job."""
        if row.job.status not in OPEN:
            raise Refused(f"Job {row.job.id} is {row.job.status}; only a pending or running one ends.")
        row.to(ENDS_AS.get(row.job.status, status))
        if row.job.status is Status.FAILED:
            allowed = allows_failure(row.job.allow_failure, row.plan.allow_failure_exit_codes, exit_code)
            row.job = replace(row.job, allow_failure=allowed)
        self._rule(row, reason, exit_code)

    def _rule(self, row: Row, reason: str = "", exit_code: int | None = None) -> None:
        job = row.job
        row.verdict = Verdict(
            job.id, job.status, 1, reason, exit_code, job.allow_failure, job.auto_retry, of_row=True, ran=row.ran
        )

    def record(self, decision: Decision) -> Recorded:
        """Write a decision, in the order in which SQL does; the rows that it spoke of as they are then."""
        for verdict in decision.verdicts:
            self.rows[verdict.job_id].verdict = None
        for transition in decision.transitions:
            self._move(transition)
        made = {attempt.job_id: self._renew(attempt) for attempt in decision.attempts}
        slots = tuple(job_id for job_id in decision.takes if self._take(self.rows[job_id]))
        for job_id in decision.cancel:
            self._cancel(made[-job_id] if job_id < 0 else self.rows[job_id])
        self._fold()
        spoken = {*(t.job_id for t in decision.transitions), *(v.job_id for v in decision.verdicts), *decision.cancel}
        return Recorded(
            self.status,
            {number: self.rows[number].counts_as for number in spoken if number in self.rows},
            tuple(row.job for row in made.values()),
            slots=slots,
        )

    def _move(self, transition: Transition) -> None:
        row = self.rows[transition.job_id]
        if transition.to in JOB_TRANSITIONS[row.job.status]:
            row.job = replace(row.job, status=transition.to, due_at=transition.due_at)
            if transition.to is Status.CREATED and self._holds(row):
                del self._holders[row.plan.resource_group]

    def _renew(self, attempt: Attempt) -> Row:
        old = self.rows[attempt.job_id]
        old.retried = True
        fresh = replace(
            old.job,
            id=next(self._ids),
            status=Status.CREATED,
            attempt=old.job.attempt + 1,
            allow_failure=old.plan.allow_failure,
            enqueue=attempt.enqueue,
            auto_retry=True,
            due_at=None,
            slot=False,
        )
        return self._make(fresh, old.plan, old.first)

    def _make(self, job: Job, plan: JobPlan, first: int) -> Row:
        made = replace(job, id=job.id or next(self._ids))
        self.rows[made.id] = Row(made, plan, first or made.id)
        return self.rows[made.id]

    def _holds(self, row: Row) -> bool:
        return self._holders.get(row.plan.resource_group or "") == row.job.id

    def _take(self, row: Row) -> bool:
        group = row.plan.resource_group
        assert group is not None
        holder = self.rows.get(self._holders.get(group, 0))
        if row.job.status is Status.WAITING_FOR_RESOURCE and (holder is None or holder.job.status in COMPLETE):
            self._holders[group] = row.job.id
        return self._holds(row) and row.job.status not in COMPLETE

    def _cancel(self, row: Row) -> None:
        row.job = replace(row.job, auto_retry=False)
        if row.job.status in COMPLETE | {Status.CANCELING}:
            return
        if row.job.status is Status.RUNNING and row.graceful:
            row.to(Status.CANCELING)
            return
        is_awaited = row.job.status in OPEN
        row.to(Status.CANCELED)
        if is_awaited:
            self._rule(row)

    def _fold(self) -> None:
        counted = [row for row in self.rows.values() if not row.retried or row.job.status is Status.CANCELING]
        for position, name in enumerate(self._plan.stages):
            result = _composite(row for row in counted if row.job.stage == position)
            if result is not Status.CREATED:
                self.stages[name] = result
        self.status = settled(self.status, _composite(counted))

    def free_for(self) -> Sequence[int]:
        """For each resource group whose slot is free the first job that waits for it."""
        chosen: dict[str, int] = {}
        for row in self.latest:
            group = row.plan.resource_group
            if group and row.job.status is Status.WAITING_FOR_RESOURCE:
                holder = self.rows.get(self._holders.get(group, 0))
                if holder is None or holder.job.status in COMPLETE:
                    chosen.setdefault(group, row.job.id)
        return tuple(chosen.values())


def _composite(rows: Iterable[Row]) -> Status:
    return composite((row.counts_as, row.job.allow_failure) for row in rows)


def _first(job: JobPlan, plan: Plan) -> Job:
    return Job(
        id=0,
        name=job.name,
        stage=plan.stages.index(job.stage),
        when=job.when,
        allow_failure=job.allow_failure,
        needs=None if job.needs is None else tuple(need.job for need in job.needs),
        retry=job.retry,
        start_in=job.start_in,
        grouped=bool(job.resource_group),
    )
