"""Rows of jobs, and what the pipelines of a project have in common: ids, statuses, slots, and the outbox."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from domain.config.plan import JobPlan, Plan
from domain.messages import Command
from domain.pipelines.pipeline import Job
from domain.pipelines.status import OPEN, Status
from domain.pipelines.verdict import Verdict


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

    def snapshot(self, *, slot: bool = False) -> Job:
        """As `job_rows.snapshot`: one whose verdict is not folded yet still runs."""
        status = self.job.status if self.folded else Status.RUNNING
        return replace(self.job, status=status, follows=bool(self.downstream), slot=slot)

    def verdict(self) -> Verdict:
        """As `job_rows.verdict_of`."""
        job = self.job
        given = (self.reason, self.exit_code, job.allow_failure, job.auto_retry)
        return Verdict(job.id, job.status, 1, *given, of_row=True, ran=self.ran)

    def counts_as(self) -> Status:
        """As `folding.counts_as`: a verdict that is not folded runs, so that an automatic retry hides its failure."""
        return self.job.status if self.folded or self.job.status is Status.CANCELED else Status.RUNNING


def first_row(job: JobPlan, plan: Plan, number: int) -> Row:
    """As `pipelines.create` makes the first attempt of a job."""
    return Row(
        Job(
            id=number,
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


@dataclass
class Tables:
    """What the pipelines of a project have in common. `statuses` are those of the pipelines, by their keys.

    A pipeline below another one has its key, a slash, and more. `holders` are the jobs that have the slot of a resource
    group or had it last. The other three are the outbox: pending bridges with the keys of their pipelines, pipelines
    whose followers are to hear of them, and what pipelines are asked.
    """

    statuses: dict[str, Status] = field(default_factory=dict)
    holders: dict[str | None, Row] = field(default_factory=dict)
    bridges: list[tuple[str, Row]] = field(default_factory=list)
    follow: list[str] = field(default_factory=list)
    commands: defaultdict[str, list[Command]] = field(default_factory=lambda: defaultdict(list))
    ids: Iterator[int] = field(default_factory=lambda: count(1))
    keys: Iterator[int] = field(default_factory=lambda: count(1))

    def ask(self, key: str, name: str, job_id: int | None = None, reason: str = "") -> str:
        """Put a command into the outbox; its key."""
        command = Command(name, f"command-{next(self.keys)}", job_id, reason=reason)
        self.commands[key].append(command)
        return command.key
