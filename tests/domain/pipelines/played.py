"""A pipeline that is played to its end: the test is the database and all runners, and watches every decision.

All jobs of a resource group are of the same one, whose slot goes to the first that waits.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count
from typing import Final

from domain.config.plan import When
from domain.messages import Answer, Command, Decision, Recorded
from domain.pipelines.decisions import Turn, advance, decide
from domain.pipelines.pipeline import Job, Pipeline
from domain.pipelines.status import COMPLETE, JOB_TRANSITIONS, OPEN, Status, settled
from domain.pipelines.verdict import SCRIPT_FAILURE, Verdict
from tests.domain.pipelines.graphs import NOW, START_IN

MAX_TURNS: Final = 200
"""More turns than any of these small pipelines may take to come to rest."""

COMMANDS: Final = ("cancel_job", "play_job", "retry_job", "unschedule_job")
PIPELINE_COMMANDS: Final = ("cancel_pipeline", "retry_pipeline")
FACTS: Final = ("succeed", "fail", "due")
EVENTS: Final = FACTS + COMMANDS + PIPELINE_COMMANDS


@dataclass
class Played:
    """Lets things happen to `pipeline` and records what the core decides, at most `room` offers a turn."""

    pipeline: Pipeline
    room: int = 1_000_000
    now: datetime = NOW
    answers: list[Answer] = field(default_factory=list)
    watch: Callable[[Pipeline, Decision], None] = lambda before, decision: None
    _verdicts: dict[int, Verdict] = field(default_factory=dict)
    _ids: Iterator[int] = field(default_factory=lambda: count(1000))

    def happen(self, event: str, job: Job) -> None:
        """One event on a job (on the pipeline, if the event is one), and everything that follows."""
        commands: tuple[Command, ...] = ()
        if event in COMMANDS:
            commands = (Command(event, f"key-{next(self._ids)}", job.id),)
        elif event in PIPELINE_COMMANDS:
            commands = (Command(event, f"key-{next(self._ids)}"),)
        elif event == "due":
            self.now += timedelta(seconds=START_IN)
        elif job.status in OPEN and job.id not in self._verdicts:
            ended = Status.SUCCESS if event == "succeed" else Status.FAILED
            verdict = Verdict(job.id, ended, 1, SCRIPT_FAILURE, None, job.allow_failure, of_row=True)
            self._verdicts[job.id] = replace(verdict, ran=job.status is Status.RUNNING)  # nobody lifts what is pending
        self.rest(commands)

    def rest(self, commands: tuple[Command, ...] = ()) -> None:
        """Decide and record until nothing follows."""
        for _ in range(MAX_TURNS):
            before = self.pipeline
            turn = self._decide(commands)
            if turn.decision is None:
                return
            commands = ()
            self._check(before, turn.decision)
            self._record(turn, turn.decision)
        raise AssertionError(f"No rest after {MAX_TURNS} turns: {self.pipeline}")

    def _decide(self, commands: tuple[Command, ...]) -> Turn:
        verdicts = tuple(self._verdicts.values())
        return decide(self.pipeline, verdicts, commands, self.now, room=self._free(), granted=self.granted())

    def granted(self) -> frozenset[int]:
        """The job whose turn it is in the resource group, unless another one holds the slot."""
        jobs = [job for job in self.pipeline.jobs if job.grouped and job.id not in self._verdicts]
        if any(job.slot and job.status not in COMPLETE for job in jobs):
            return frozenset()
        return frozenset([job.id for job in jobs if job.status is Status.WAITING_FOR_RESOURCE][:1])

    def folded(self) -> Pipeline:
        """The pipeline with the verdicts from which nothing follows yet: they are recorded with the next decision."""
        return self.pipeline.with_jobs(
            replace(job, status=self._verdicts[job.id].status) for job in self.pipeline.jobs if job.id in self._verdicts
        )

    def _free(self) -> int:
        return self.room - sum(job.status in OPEN for job in self.pipeline.jobs if job.id not in self._verdicts)

    def _check(self, before: Pipeline, decision: Decision) -> None:
        check_table(before, decision)
        self.watch(before, decision)

    def _record(self, turn: Turn, decision: Decision) -> None:
        self.answers += decision.answers
        after = turn.pipeline
        held = {job.id: job.status is Status.RUNNING for job in after.jobs if job.status in OPEN}
        self._verdicts = {
            key: Verdict(key, Status.CANCELED, of_row=True, ran=held[key]) for key in decision.cancel if key in held
        }
        attempts = tuple(
            replace(job, id=next(self._ids), attempt=job.attempt + 1) for job in after.jobs if not job.has_row
        )
        assert len(attempts) == len(decision.attempts)
        status = settled(self.pipeline.status, after.folded())
        recorded = Recorded(status, {}, attempts, slots=decision.takes)
        self.pipeline = advance(after, recorded)

    def finish(self, how: str = "succeed") -> None:
        """Let every open job end, every delayed one become due and every manual one be played, until all is over."""
        for _ in range(MAX_TURNS):
            waiting = [job for job in self.pipeline.jobs if job.status not in COMPLETE and job.id not in self._verdicts]
            waiting = [job for job in waiting if job.status is not Status.CREATED]
            if not waiting:
                return
            waiting.sort(key=lambda job: job.status not in OPEN)  # what is open may take the room of what is due
            self.happen(NEXT[waiting[0].status] or how, waiting[0])
        raise AssertionError(f"The pipeline does not end: {self.pipeline}")


NEXT: Final[Mapping[Status, str]] = {
    Status.MANUAL: "play_job",
    Status.SCHEDULED: "due",
    Status.PENDING: "",
    Status.RUNNING: "",
}
"""What brings a job in this state on; empty: its end."""


def check_table(before: Pipeline, decision: Decision) -> None:
    """Every transition of a decision is one of the table, taken after the verdicts of the same decision."""
    now = {job.id: job.status for job in before.jobs} | {v.job_id: v.status for v in decision.verdicts}
    for transition in decision.transitions:
        assert transition.to in JOB_TRANSITIONS[now[transition.job_id]], (transition, now[transition.job_id])
        assert (transition.due_at is not None) == (transition.to is Status.SCHEDULED)
        now[transition.job_id] = transition.to


def check_needs_have_ended(before: Pipeline, decision: Decision) -> None:
    """What becomes pending by itself, or asks for its slot, waits for nothing any more.

    `always` does not wait for the other needs once one is skipped or ignored (docs/reference/pipelines.md, "Composite
    status").
    """
    started = {Status.PENDING, Status.WAITING_FOR_RESOURCE}
    asked = {job_id for answer in decision.answers for job_id in answer.jobs}
    now = {job.name: job.status for job in before.jobs}
    now |= {job.name: v.status for v in decision.verdicts for job in before.jobs if job.id == v.job_id}
    retried = {attempt.job_id for attempt in decision.attempts}
    now |= {job.name: Status.CREATED for job in before.jobs if job.id in retried}
    now |= {job.name: Status.CANCELED for job in before.jobs if job.id in decision.cancel and job.status not in OPEN}
    by_id = {job.id: job for job in before.jobs}
    for transition in decision.transitions:
        job = by_id[transition.job_id]
        if transition.to in started and job.status is Status.CREATED and job.id not in asked:
            awaited = before.needed_by(job) if job.needs is not None else _earlier(before, job)
            open_ones = [other for other in awaited if not _is_over(other, now[other.name])]
            ruled_out = any(_rules_out(other, now[other.name]) for other in awaited)
            assert not open_ones or (job.needs is not None and job.when is When.ALWAYS and ruled_out), (job, open_ones)
        now[job.name] = transition.to


def _earlier(of: Pipeline, job: Job) -> list[Job]:
    return [other for other in of.jobs if other.stage < job.stage]


def _is_over(job: Job, status: Status) -> bool:
    return status in COMPLETE or _rules_out(job, status)


def _rules_out(job: Job, status: Status) -> bool:
    return status is Status.SKIPPED or (status is Status.MANUAL and job.allow_failure)
