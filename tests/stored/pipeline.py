"""The rows of one pipeline and its stages; only claims, ends and decisions write them."""

from collections.abc import Iterable
from dataclasses import replace

from domain.config.plan import Plan
from domain.messages import Answer, Decision, Leaving, Loaded, Recorded
from domain.pipelines.operations import Attempt
from domain.pipelines.pipeline import Pipeline
from domain.pipelines.redundancy import STARTED
from domain.pipelines.status import COMPLETE, JOB_TRANSITIONS, MIRROR_TRANSITIONS, OPEN, Status, composite, settled
from domain.pipelines.transitions import Transition
from domain.pipelines.verdict import allows_failure
from tests.stored import children, resource_groups
from tests.stored.rows import Row, Tables, first_row


class StoredPipeline:
    """A pipeline in SQL."""

    def __init__(self, tables: Tables, key: str, plan: Plan) -> None:
        """As `pipelines.create`: a row for each job of the plan."""
        self._tables = tables
        self.key = key
        self.plan = plan
        self.status = Status.CREATED
        self.stages = dict.fromkeys(plan.stages, Status.CREATED)
        self.answers: dict[str, Answer] = {}
        first = [first_row(job, plan, next(tables.ids)) for job in plan.jobs]
        self.rows = {row.job.id: row for row in first}

    @property
    def status(self) -> Status:
        """The status of the pipeline's own row."""
        return self._tables.statuses[self.key]

    @status.setter
    def status(self, status: Status) -> None:
        self._tables.statuses[self.key] = status

    def current(self) -> list[Row]:
        """The latest attempts, in the order of the configuration."""
        order = {job.name: place for place, job in enumerate(self.plan.jobs)}
        return sorted((row for row in self.rows.values() if not row.retried), key=lambda row: order[row.job.name])

    def latest(self, name: str) -> Row:
        """The latest attempt of a job."""
        return next(row for row in self.current() if row.job.name == name)

    def unfolded(self) -> list[Row]:
        """Rows whose verdict no decision has recorded."""
        return [row for row in self.rows.values() if not row.folded]

    def load(self) -> Loaded:
        """As `loading.load`."""
        cancel = self.plan.auto_cancel
        holders = {row.job.id for row in self._tables.holders.values()}
        jobs = tuple(row.snapshot(slot=row.job.id in holders) for row in self.current())
        return Loaded(
            Pipeline(1, self.plan.stages, jobs, self.status, cancel.on_new_commit, cancel.on_job_failure),
            tuple(row.verdict() for row in self.unfolded()),
            leaving=tuple(Leaving(row.job.id) for row in self.rows.values() if row.retried and row.job.status in OPEN),
            shown=tuple(self.stages.values()),
        )

    def claim(self, row: Row, *, graceful: bool) -> bool:
        """As `claims.take`: a runner gets a pending job; whether it did."""
        if row.job.status is not Status.PENDING or row.job.bridge:
            return False
        self.start(row)
        row.graceful = graceful
        return True

    def start(self, row: Row) -> None:
        """A row runs; as `claims.lift` so do its stage and its pipeline."""
        row.set(status=Status.RUNNING)
        row.ran = True
        self.stages[row.plan.stage] = Status.RUNNING
        if self.status not in COMPLETE:
            self.status = Status.RUNNING

    def end(self, row: Row, status: Status, reason: str = "", exit_code: int | None = None) -> bool:
        """As `verdicts.end_jobs`: an open row ends, a canceling one as canceled whatever is said; whether it did."""
        if not row.is_open():
            return False
        to = Status.CANCELED if row.job.status is Status.CANCELING else status
        if to is Status.FAILED:
            row.set(allow_failure=allows_failure(row.job.allow_failure, row.plan.allow_failure_exit_codes, exit_code))
        row.set(status=to)
        row.folded, row.reason, row.exit_code = False, reason, exit_code
        if to is Status.CANCELED:
            children.cancel_child_of(self._tables, row)
        return True

    def record(self, decision: Decision) -> Recorded:
        """As `decisions.record`, in the same order; the rows that the decision spoke of as they are then."""
        for verdict in decision.verdicts:
            self.rows[verdict.job_id].folded = True
        for transition in decision.transitions:
            self._move(self.rows[transition.job_id], transition)
        made = {attempt.job_id: self._add_attempt(attempt) for attempt in decision.attempts}
        slots = resource_groups.take(self._tables, [self.rows[key] for key in decision.takes])
        self.answers |= {answer.key: answer for answer in decision.answers}
        self._cancel(made[-key] if key < 0 else self.rows[key] for key in decision.cancel)
        for answer in decision.answers:
            if answer.name == "cancel_pipeline" and not answer.refused:
                children.cancel_below(self._tables, self.key)
        self._cancel_redundant(decision)
        self._refold()
        attempts = tuple(row.snapshot() for row in made.values())
        return Recorded(self.status, self._named(decision), attempts, decision.answers, slots)

    def _move(self, row: Row, transition: Transition) -> None:
        """As `job_rows.move`, and what `decisions` adds for bridges and resource groups."""
        to, now = transition.to, row.job.status
        mirrored = row.downstream and to in MIRROR_TRANSITIONS.get(now, ())
        if to not in JOB_TRANSITIONS[now] and not mirrored:
            return
        row.set(status=to, due_at=transition.due_at)
        if to is Status.CREATED:
            row.downstream, row.downstream_ended = "", False
            resource_groups.forget(self._tables, row)
        if to is Status.PENDING and row.job.bridge:
            self._tables.bridges.append((self.key, row))

    def _add_attempt(self, attempt: Attempt) -> Row:
        """As `attempts.add_attempts`."""
        old = self.rows[attempt.job_id]
        job = replace(
            old.job,
            id=next(self._tables.ids),
            attempt=old.job.attempt + 1,
            allow_failure=old.plan.allow_failure,
            status=Status.CREATED,
            enqueue=attempt.enqueue,
            auto_retry=True,
            due_at=None,
        )
        old.retried = True
        self.rows[job.id] = Row(job, old.plan, downstream=old.downstream if attempt.follows else "")
        return self.rows[job.id]

    def _cancel(self, rows: Iterable[Row]) -> None:
        """As `cancellation.cancel_jobs`."""
        for row in rows:
            status = row.job.status
            row.set(auto_retry=False)
            if status in COMPLETE or status is Status.CANCELING:
                continue
            if status is Status.RUNNING and row.graceful:
                row.set(status=Status.CANCELING)
                continue
            row.folded = row.folded and not row.is_open()
            row.set(status=Status.CANCELED)
            children.cancel_child_of(self._tables, row)

    def _cancel_redundant(self, decision: Decision) -> None:
        """As `decisions._cancel_redundant`."""
        started = [row for row in self.current() if not row.job.interruptible and row.job.status in STARTED]
        if decision.redundant and not (decision.unless_started and started):
            self._cancel(self.rows[key] for key in decision.redundant if key in self.rows)

    def _refold(self) -> None:
        """As `decisions._refold` and `folding.fold_stages`; the followers of a pipeline hear of its new status."""
        counted = [
            (row.job.stage, row.counts_as(), row.job.allow_failure)
            for row in self.rows.values()
            if not row.retried or row.job.status is Status.CANCELING
        ]
        for position, name in enumerate(self.plan.stages):
            result = composite((status, allowed) for stage, status, allowed in counted if stage == position)
            if result is not Status.CREATED:
                self.stages[name] = result
        before = self.status
        self.status = settled(before, composite((status, allowed) for _, status, allowed in counted))
        if self.status is not before:
            self._tables.follow.append(self.key)

    def _named(self, decision: Decision) -> dict[int, Status]:
        """As `decisions._named`."""
        spoken = {transition.job_id for transition in decision.transitions}
        spoken |= {verdict.job_id for verdict in decision.verdicts}
        spoken |= {*decision.cancel, *decision.redundant, *decision.takes}
        return {key: row.counts_as() for key, row in self.rows.items() if key in spoken and not row.retried}
