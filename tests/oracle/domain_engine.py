"""The pure core of the product behind rows as SQL would hold them; nobody recomputes or repairs anything here.

A stored status changes only where the product's SQL would change it: by a recorded `Decision`, by a claim, and by the
end of a row. The memory of a pipeline's workflow is separate from its rows, as it is in the product, and is lost when
the workflow closes.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from typing import Any, Final

from domain.bridges import Act, follow
from domain.config.plan import JobPlan, Plan
from domain.decisions import advance, decide
from domain.messages import Answer, Command, Decision, Leaving, Loaded, Recorded
from domain.operations import Attempt
from domain.pipeline import Job, Pipeline
from domain.redundancy import LEAVE, STARTED
from domain.resource_groups import Candidate, ProcessMode, choose
from domain.status import COMPLETE, JOB_TRANSITIONS, MIRROR_TRANSITIONS, OPEN, Status, composite, settled
from domain.verdict import Verdict, allows_failure
from tests.cases.engine import COMMANDS
from tests.compiling import plan_of
from tests.oracle.events import Event
from tests.oracle.seen import Seen, SeenJob, SeenRun
from tests.oracle.world import ROOT

NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""Time stands still: a delayed job is due only when an event says so."""

MOST_TURNS: Final = 1_000
"""After so many turns a project will never come to rest."""


@dataclass
class Row:
    """A row of a job: what decisions know of it, with the status that SQL has, and what only SQL knows."""

    job: Job
    plan: JobPlan
    folded: bool = True
    retried: bool = False
    graceful: bool = False
    ran: bool = False
    reason: str = ""
    exit_code: int | None = None
    made: str = ""
    downstream: str = ""
    downstream_ended: bool = False

    def set(self, **values: Any) -> None:
        """Write columns."""
        self.job = replace(self.job, **values)

    def is_open(self) -> bool:
        """Whether an activity waits for it."""
        return self.job.status in OPEN or (self.job.status is Status.MANUAL and bool(self.downstream))

    def snapshot(self) -> Job:
        """As decisions see it: one whose verdict is not folded yet still runs."""
        return replace(
            self.job,
            status=self.job.status if self.folded else Status.RUNNING,
            follows=bool(self.downstream),
        )

    def verdict(self) -> Verdict:
        """The verdict that the row holds."""
        job = self.job
        given = (self.reason, self.exit_code, job.allow_failure, job.auto_retry)
        return Verdict(job.id, job.status, 1, *given, of_row=True, ran=self.ran)

    def counts_as(self) -> Status:
        """A verdict that is not folded counts as running, so that an automatic retry hides its failure."""
        return self.job.status if self.folded or self.job.status is Status.CANCELED else Status.RUNNING


@dataclass
class Stored:
    """A pipeline: its rows in SQL, and what its workflow remembers (None: the workflow is closed)."""

    key: str
    plan: Plan
    rows: dict[int, Row] = field(default_factory=dict)
    stages: dict[str, Status] = field(default_factory=dict)
    status: Status = Status.CREATED
    memory: Pipeline | None = None
    owed: bool = False
    verdicts: dict[int, Verdict] = field(default_factory=dict)
    known: set[int] = field(default_factory=set)
    commands: list[Command] = field(default_factory=list)
    granted: set[int] = field(default_factory=set)
    answers: dict[str, Answer] = field(default_factory=dict)

    def latest(self, name: str) -> Row:
        """The row of the latest attempt."""
        return next(row for row in self.current() if row.job.name == name)

    def current(self) -> list[Row]:
        """The latest attempts, in the order of the configuration."""
        rows = [row for row in self.rows.values() if not row.retried]
        return sorted(rows, key=lambda row: [job.name for job in self.plan.jobs].index(row.job.name))

    def lift(self, row: Row) -> None:
        """A row runs: so do its stage and its pipeline."""
        self.stages[self.plan.stages[row.job.stage]] = Status.RUNNING
        if self.status not in COMPLETE:
            self.status = Status.RUNNING

    def load(self) -> None:
        """The workflow reads SQL."""
        plan = self.plan.auto_cancel
        jobs = tuple(row.snapshot() for row in self.current())
        loaded = Loaded(
            Pipeline(1, self.plan.stages, jobs, self.status, plan.on_new_commit, plan.on_job_failure),
            tuple(row.verdict() for row in self.rows.values() if not row.folded),
            leaving=tuple(Leaving(row.job.id) for row in self.rows.values() if row.retried and row.job.status in OPEN),
            shown=tuple(self.stages.values()),
        )
        self.memory, self.owed = loaded.pipeline, loaded.is_owed
        for verdict in loaded.verdicts:
            self.known.discard(verdict.job_id)
            self.hear(verdict)

    def hear(self, verdict: Verdict) -> None:
        """The bell of a row rings in the workflow."""
        if verdict.job_id not in self.known:
            self.verdicts[verdict.job_id] = verdict

    def is_over(self) -> bool:
        """Whether the workflow closes."""
        waits = [row for row in self.rows.values() if row.is_open()]
        return self.memory is not None and not waits and self.status in COMPLETE and self.memory.is_complete()


class DomainProject:
    """One project with all its pipelines."""

    def __init__(self, config: Mapping[str, Any], files: Mapping[str, Any], modes: Mapping[str, str]) -> None:
        """Create the first pipeline; `files` are the configurations of the others, `modes` those of the groups."""
        texts = {name: json.dumps(text) for name, text in files.items()}
        self._plans = {name: plan_of(text, files=texts, ref="master") for name, text in texts.items()}
        self._ids = count(1)
        self._keys = count(1)
        self._modes = modes
        self._holders: dict[str, int] = {}
        self._pipelines: dict[str, Stored] = {}
        self._pending_bridges: list[tuple[Stored, Row]] = []
        self._news: list[str] = []
        text = json.dumps(config)
        self._create(ROOT, plan_of(text, files=texts, ref="master"))

    async def begin(self) -> None:
        """Come to rest for the first time."""
        self._rest()

    async def happen(self, events: Sequence[Event]) -> tuple[bool, ...]:
        """Let events of one moment happen, then come to rest; whether each was accepted."""
        accepted: dict[int, bool] = {}
        asked: dict[int, tuple[Stored, str]] = {}
        targets = [self._target(event) for event in events]
        for number, (event, target) in enumerate(zip(events, targets, strict=True)):
            if event.kind == "newer_commit":
                self._newer_commit(event.run)
                accepted[number] = True
            elif event.kind not in COMMANDS:
                accepted[number] = target is not None and self._fact(*target, event)
            elif event.run in self._pipelines:
                stored, key = self._pipelines[event.run], f"command-{next(self._keys)}"
                stored.commands.append(Command(COMMANDS[event.kind], key, target[1].job.id if target else None))
                asked[number] = stored, key
            else:
                accepted[number] = False
        self._rest()
        for number, (stored, key) in asked.items():
            accepted[number] = events[number].job == "" or not stored.answers[key].refused
        return tuple(accepted[number] for number in range(len(events)))

    async def seen(self) -> Seen:
        """All pipelines, as SQL has them."""
        return {
            key: SeenRun(
                str(stored.status),
                {name: str(status) for name, status in stored.stages.items()},
                {
                    row.job.name: SeenJob(str(row.job.status), row.job.attempt, row.job.allow_failure)
                    for row in stored.current()
                },
            )
            for key, stored in self._pipelines.items()
        }

    async def loose_ends(self) -> list[str]:
        """What may not be left at rest, a sentence each."""
        found = [f"{key}: a bridge has to follow it again and cannot" for key in self._news]
        for key, stored in self._pipelines.items():
            unfolded = sorted(row.job.name for row in stored.rows.values() if not row.folded)
            if stored.memory is None:
                found += [f"{key}: its workflow is closed, the verdict of {name} is not folded" for name in unfolded]
            if stored.memory is not None and stored.is_over():
                found.append(f"{key}: its workflow is open although it is over")
        return found

    def _create(self, key: str, plan: Plan) -> Stored:
        stored = Stored(key, plan, stages=dict.fromkeys(plan.stages, Status.CREATED))
        for job in plan.jobs:
            row = Row(
                Job(
                    id=next(self._ids),
                    name=job.name,
                    stage=plan.stages.index(job.stage),
                    when=job.when,
                    allow_failure=job.allow_failure,
                    needs=None if job.needs is None else tuple(need.job for need in job.needs),
                    retry=job.retry,
                    start_in=job.start_in,
                    interruptible=bool(job.interruptible),
                    grouped=bool(job.resource_group),
                    bridge=job.trigger is not None,
                ),
                job,
            )
            stored.rows[row.job.id] = row
        self._pipelines[key] = stored
        stored.load()
        return stored

    def _newer_commit(self, key: str) -> None:
        older = [one for one in self._pipelines.values() if "/" not in one.key and one.status not in COMPLETE]
        self._create(key, self._plans[key])
        for stored in older:
            if stored.plan.auto_cancel.on_new_commit != LEAVE:
                stored.commands.append(Command("auto_cancel", f"auto-cancel-{next(self._keys)}"))

    def _target(self, event: Event) -> tuple[Stored, Row] | None:
        stored = self._pipelines.get(event.run)
        if stored is None or not event.job:
            return None
        if event.attempt:
            rows = [r for r in stored.rows.values() if (r.job.name, r.job.attempt) == (event.job, event.attempt)]
            return (stored, rows[0]) if rows else None
        return stored, stored.latest(event.job)

    def _fact(self, stored: Stored, row: Row, event: Event) -> bool:
        if event.kind == "run":
            if row.job.status is not Status.PENDING or row.job.bridge:
                return False
            row.set(status=Status.RUNNING)
            row.ran, row.graceful = True, event.graceful
            stored.lift(row)
            return True
        if event.kind == "due":
            if row.job.status is not Status.SCHEDULED:
                return True
            row.set(due_at=NOW)
            assert stored.memory is not None
            known = next(job for job in stored.memory.jobs if job.id == row.job.id)
            stored.memory = stored.memory.with_jobs([replace(known, due_at=NOW)])
            return True
        status = Status.SUCCESS if event.kind == "success" else Status.FAILED
        return self._end(stored, row, status, event.reason if status is Status.FAILED else "", event.code)

    def _end(self, stored: Stored, row: Row, status: Status, reason: str = "", code: int | None = None) -> bool:
        """As `verdicts.end_jobs`: end an open row; one that is being canceled is canceled, whatever is said of it."""
        if not row.is_open():
            return False
        to = Status.CANCELED if row.job.status is Status.CANCELING else status
        if to is Status.FAILED:
            allowed = allows_failure(row.job.allow_failure, row.plan.allow_failure_exit_codes, code)
            row.set(allow_failure=allowed)
        row.set(status=to)
        row.folded, row.reason, row.exit_code = False, reason, code
        if to is Status.CANCELED:
            self._cancel_child_of(row)
        stored.hear(row.verdict())
        return True

    def _rest(self) -> None:
        """Go on until nothing follows any more. Raises `AssertionError` if that never comes."""
        for _ in range(MOST_TURNS):
            moved = [self._turns(stored) for stored in list(self._pipelines.values())]
            if not (any(moved) or self._begin_bridges() or self._tell_followers() or self._choose()):
                break
        else:
            raise AssertionError("the project never comes to rest")
        for stored in self._pipelines.values():
            if stored.is_over():
                stored.memory, stored.verdicts, stored.known = None, {}, set()

    def _turns(self, stored: Stored) -> bool:
        """Let a workflow decide and record until nothing follows; whether anything did."""
        if stored.memory is None:
            if not (stored.commands or stored.granted):
                return False
            stored.load()
        if any(command.name == "mirror_downstream" for command in stored.commands):
            stored.load()  # as the workflow does: what only SQL knows is read before it is obeyed
        moved = False
        while True:
            assert stored.memory is not None
            commands, stored.commands = tuple(stored.commands), []
            granted, stored.granted = frozenset(stored.granted), set()
            verdicts = tuple(stored.verdicts.values())
            turn = decide(stored.memory, verdicts, commands, NOW, granted=granted, owed=stored.owed)
            if turn.decision is None:
                return moved
            moved, stored.owed = True, False
            stored.commands = [*turn.waiting, *stored.commands]
            recorded = self._record(stored, turn.decision)
            stored.memory = advance(turn.pipeline, recorded)
            stored.known -= {one.job_id for one in turn.decision.transitions if one.to is Status.CREATED}
            for verdict in turn.decision.verdicts:
                stored.verdicts.pop(verdict.job_id, None)
                stored.known.add(verdict.job_id)
            self._ring_canceled(stored)

    def _ring_canceled(self, stored: Stored) -> None:
        """The outbox tells of rows that a decision has canceled."""
        for row in stored.rows.values():
            if not row.folded:
                stored.hear(row.verdict())

    def _record(self, stored: Stored, decision: Decision) -> Recorded:
        """As `decisions.record`."""
        for verdict in decision.verdicts:
            stored.rows[verdict.job_id].folded = True
        for transition in decision.transitions:
            self._move(stored, stored.rows[transition.job_id], transition.to, transition.due_at)
        made = {attempt.job_id: self._next(stored, attempt) for attempt in decision.attempts}
        slots = self._take(stored, decision.takes)
        for answer in decision.answers:
            stored.answers[answer.key] = answer
        self._cancel(stored, [made[-key].job.id if key < 0 else key for key in decision.cancel])
        for answer in decision.answers:
            if answer.name == "cancel_pipeline" and not answer.refused:
                self._cancel_below(stored.key)
        self._cancel_redundant(stored, decision)
        before = stored.status
        self._refold(stored)
        if stored.status is not before:
            self._news.append(stored.key)
        spoken = {transition.job_id for transition in decision.transitions}
        spoken |= {verdict.job_id for verdict in decision.verdicts}
        spoken |= {*decision.cancel, *decision.redundant, *decision.takes}
        rows = [row for key, row in stored.rows.items() if key in spoken and not row.retried]
        return Recorded(
            stored.status,
            {row.job.id: row.counts_as() for row in rows},
            tuple(row.snapshot() for row in made.values()),
            decision.answers,
            slots,
        )

    def _move(self, stored: Stored, row: Row, to: Status, due_at: datetime | None) -> None:
        mirrored = row.downstream and to in MIRROR_TRANSITIONS.get(row.job.status, ())
        if to not in JOB_TRANSITIONS[row.job.status] and not mirrored:
            return
        row.set(status=to, due_at=due_at)
        if to is Status.CREATED:
            row.downstream, row.downstream_ended = "", False
        if to is Status.CREATED and self._holders.get(row.plan.resource_group) == row.job.id:
            del self._holders[row.plan.resource_group]
        if to is Status.PENDING and row.job.bridge:
            self._pending_bridges.append((stored, row))

    def _next(self, stored: Stored, attempt: Attempt) -> Row:
        """As `attempts.add_attempts`."""
        old = stored.rows[attempt.job_id]
        row = Row(
            replace(
                old.job,
                id=next(self._ids),
                attempt=old.job.attempt + 1,
                allow_failure=old.plan.allow_failure,
                status=Status.CREATED,
                enqueue=attempt.enqueue,
                auto_retry=True,
                due_at=None,
                slot=False,
            ),
            old.plan,
            downstream=old.downstream if attempt.follows else "",
        )
        old.retried = True
        stored.rows[row.job.id] = row
        return row

    def _take(self, stored: Stored, takes: Sequence[int]) -> tuple[int, ...]:
        """As `resource_groups.take`."""
        for key in sorted(takes):
            row = stored.rows[key]
            if row.job.status is Status.WAITING_FOR_RESOURCE and self._is_free(row.plan.resource_group):
                self._holders[row.plan.resource_group] = key
        held = [stored.rows[key] for key in takes if self._holders.get(stored.rows[key].plan.resource_group) == key]
        for row in held:
            row.set(slot=True)
        return tuple(row.job.id for row in held)

    def _is_free(self, group: str) -> bool:
        holder = self._holders.get(group)
        rows = {key: row for stored in self._pipelines.values() for key, row in stored.rows.items()}
        return holder is None or rows[holder].job.status in COMPLETE

    def _cancel(self, stored: Stored, ids: Sequence[int]) -> None:
        """As `cancellation.cancel_jobs`."""
        for row in [stored.rows[key] for key in ids]:
            status = row.job.status
            row.set(auto_retry=False)
            if status in COMPLETE or status is Status.CANCELING:
                continue
            if status is Status.RUNNING and row.graceful:
                row.set(status=Status.CANCELING)
                continue
            row.folded = not row.is_open() and row.folded
            row.set(status=Status.CANCELED)
            self._cancel_child_of(row)

    def _cancel_redundant(self, stored: Stored, decision: Decision) -> None:
        """As `decisions._cancel_redundant`."""
        started = [row for row in stored.current() if not row.job.interruptible and row.job.status in STARTED]
        if decision.redundant and not (decision.unless_started and started):
            self._cancel(stored, [key for key in decision.redundant if key in stored.rows])

    def _cancel_child_of(self, row: Row) -> None:
        if row.downstream and self._pipelines[row.downstream].status not in COMPLETE:
            self._ask(row.downstream, "cancel_pipeline")
            self._cancel_below(row.downstream)

    def _cancel_below(self, above: str) -> None:
        """As `children.cancel_children`."""
        for key, child in self._pipelines.items():
            if key.startswith(f"{above}/") and child.status not in COMPLETE:
                self._ask(key, "cancel_pipeline")

    def _ask(self, key: str, name: str, job_id: int | None = None, reason: str = "") -> None:
        self._pipelines[key].commands.append(Command(name, f"own-{next(self._keys)}", job_id, reason=reason))

    def _refold(self, stored: Stored) -> None:
        """As `decisions._refold`."""
        counted = [
            (row.job.stage, row.counts_as(), row.job.allow_failure)
            for row in stored.rows.values()
            if not row.retried or row.job.status is Status.CANCELING
        ]
        for position, name in enumerate(stored.plan.stages):
            result = composite((status, allowed) for stage, status, allowed in counted if stage == position)
            if result is not Status.CREATED:
                stored.stages[name] = result
        stored.status = settled(stored.status, composite((status, allowed) for _, status, allowed in counted))

    def _begin_bridges(self) -> bool:
        """As the loop of bridges does: make the child pipeline, or follow the one that there is."""
        begun, self._pending_bridges = self._pending_bridges, []
        for stored, row in begun:
            if row.job.status is not Status.PENDING:
                continue
            if not (row.downstream or row.made):
                row.made = f"{stored.key}/{row.job.name}#{row.job.attempt}"
                self._create(row.made, self._plans[_file_of(row.plan)])
            row.downstream = row.downstream or row.made
            row.set(status=Status.RUNNING)
            row.ran = True
            stored.lift(row)
            if not _strategy(row):
                self._end(stored, row, Status.SUCCESS)
            self._news.append(row.downstream)
        return bool(begun)

    def _tell_followers(self) -> bool:
        """As `bridges.tell_followers`."""
        news, self._news = list(dict.fromkeys(self._news)), []
        moved = False
        for key in news:
            status = self._pipelines[key].status
            followers = [
                (stored, row)
                for stored in self._pipelines.values()
                for row in stored.current()
                if row.downstream == key
            ]
            for stored, row in followers:
                row.downstream_ended |= status in COMPLETE
                step = follow(_strategy(row), row.job.status, status, ended_before=row.downstream_ended)
                must_wait = step.act is Act.REVIVE and not row.folded
                moved |= step.act is not Act.NOTHING and not must_wait
                if must_wait:
                    self._news.append(key)
                elif step.act is Act.END:
                    self._end(stored, row, step.to, "downstream_pipeline_failed" * (step.to is Status.FAILED))
                elif step.act is Act.REVIVE:
                    self._ask(stored.key, "revive_bridge", row.job.id)
                elif step.act is Act.MIRROR:
                    self._ask(stored.key, "mirror_downstream", row.job.id, str(step.to))
        return moved

    def _choose(self) -> bool:
        """As the workflows of resource groups do: tell a waiting job that the slot is free for it."""
        order = list(self._pipelines)
        groups: dict[str, list[Candidate]] = {}
        for stored in self._pipelines.values():
            for row in stored.current():
                if row.plan.resource_group:
                    candidate = Candidate(row.job.id, order.index(stored.key), row.job.status)
                    groups.setdefault(row.plan.resource_group, []).append(candidate)
        for group, candidates in groups.items():
            mode = ProcessMode(self._modes.get(group, "unordered"))
            chosen = choose(mode, self._is_free(group), candidates)
            if chosen is not None:
                self._pipelines[order[chosen.pipeline_id]].granted.add(chosen.job_id)
                return True
        return False


def _strategy(row: Row) -> str:
    assert row.plan.trigger is not None
    return row.plan.trigger.strategy


def _file_of(plan: JobPlan) -> str:
    assert plan.trigger is not None
    return str(plan.trigger.include[0]["local"])
