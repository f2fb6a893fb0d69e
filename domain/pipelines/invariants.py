"""What must hold of stored pipelines whatever happened: a table of rules, each with a sentence and a remedy.

The rules are looked up in SQL (`models.repositories.pipelines.invariants`) and compared with Temporal here. One that is
broken at a single look of a running system may be on its way; one that two looks in a row find (`confirmed`) is broken.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from domain.pipelines.status import COMPLETE, Status


class Rule(StrEnum):
    """What must hold. The values are the names by which metrics and `perdure doctor --deep` tell of it."""

    STAGE_STATUS = "stage_status"
    PIPELINE_STATUS = "pipeline_status"
    FINISHED_AT = "finished_at"
    RUNNING_WITHOUT_LEASE = "running_without_lease"
    LEASE_WITHOUT_JOB = "lease_without_job"
    PENDING_WITHOUT_QUEUE = "pending_without_queue"
    QUEUE_WITHOUT_JOB = "queue_without_job"
    BRIDGE_WITHOUT_PIPELINE = "bridge_without_pipeline"
    VERDICT_UNFOLDED = "verdict_unfolded"
    VERDICT_WITHOUT_BELL = "verdict_without_bell"
    BELL_WITHOUT_VERDICT = "bell_without_verdict"
    OUTBOX_OLD = "outbox_old"
    WAITER_WITHOUT_HOLDER = "waiter_without_holder"
    LOG_OPEN = "log_open"
    ATTEMPTS = "attempts"
    PIPELINE_WITHOUT_WORKFLOW = "pipeline_without_workflow"
    WORKFLOW_WITHOUT_PIPELINE = "workflow_without_pipeline"


_RECONCILE: Final = "`temporal workflow signal --workflow-id pipeline-{pipeline} --name reconcile`"
_SWEEP: Final = "The sweeper gives such a job up within minutes; if not, cancel it: `perdure job cancel {subject}`"
_REPORT: Final = "Nothing in Perdure writes this: keep a backup (`perdure backup`) and report it"
_RELAY: Final = "Is Temporal up (`perdure doctor --local`)? The relay logs why it refuses; a restart loses nothing"

WORDS: Final[Mapping[Rule, tuple[str, str]]] = {
    Rule.STAGE_STATUS: ("stage {subject} of pipeline {pipeline} is {detail}", _RECONCILE),
    Rule.PIPELINE_STATUS: ("pipeline {pipeline} is {detail}", _RECONCILE),
    Rule.FINISHED_AT: ("pipeline {pipeline} is {detail}", _RECONCILE),
    Rule.RUNNING_WITHOUT_LEASE: ("job {subject} of pipeline {pipeline} is {detail}, and no runner holds it", _SWEEP),
    Rule.LEASE_WITHOUT_JOB: ("a runner holds job {subject} of pipeline {pipeline}, which is {detail}", _REPORT),
    Rule.PENDING_WITHOUT_QUEUE: (
        "job {subject} of pipeline {pipeline} is pending, and no runner can see it",
        "Cancel it and run it again: `perdure job cancel {subject}`, `perdure job retry {subject}`",
    ),
    Rule.QUEUE_WITHOUT_JOB: ("runners are offered job {subject} of pipeline {pipeline}, which is {detail}", _REPORT),
    Rule.BRIDGE_WITHOUT_PIPELINE: (
        "bridge {subject} of pipeline {pipeline} is {detail}, and nothing makes its downstream pipeline",
        "Cancel it and run it again: `perdure job cancel {subject}`, `perdure job retry {subject}`",
    ),
    Rule.VERDICT_UNFOLDED: (
        "job {subject} of pipeline {pipeline} is {detail}, and its pipeline has not taken that in",
        _RECONCILE,
    ),
    Rule.VERDICT_WITHOUT_BELL: (
        "job {subject} of pipeline {pipeline} is {detail}, and nobody will tell its pipeline",
        _RECONCILE,
    ),
    Rule.BELL_WITHOUT_VERDICT: (
        "the outbox tells again and again of job {subject} of pipeline {pipeline}, whose end is recorded",
        _REPORT,
    ),
    Rule.OUTBOX_OLD: ("row {subject} of the outbox, of pipeline {pipeline}, is older than it may be: {detail}", _RELAY),
    Rule.WAITER_WITHOUT_HOLDER: (
        "job {subject} of pipeline {pipeline} waits for a resource group that nobody holds",
        "The reconciler lets the group look again each minute; if not, is its worker up?",
    ),
    Rule.LOG_OPEN: ("job {subject} of pipeline {pipeline} is {detail}, and its log can still be written", _REPORT),
    Rule.ATTEMPTS: ("job {subject} of pipeline {pipeline} has {detail}", _REPORT),
    Rule.PIPELINE_WITHOUT_WORKFLOW: (
        "pipeline {pipeline} is {detail}, and no workflow of it runs",
        "The reconciler starts it again each minute; if not, is a worker up (`perdure status`)?",
    ),
    Rule.WORKFLOW_WITHOUT_PIPELINE: (
        "a workflow of pipeline {pipeline} runs, and the pipeline is {detail}",
        "`temporal workflow terminate --workflow-id pipeline-{pipeline}`; SQL has everything",
    ),
}
"""What is wrong, and what to do about it."""


@dataclass(frozen=True, slots=True, order=True)
class Broken:
    """A rule that does not hold. `subject` is the id of the row that it is about (a stage: its name)."""

    rule: Rule
    pipeline_id: int
    subject: str = ""
    detail: str = ""

    @property
    def sentence(self) -> str:
        """What is wrong."""
        return self._put(WORDS[self.rule][0])

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return self._put(WORDS[self.rule][1])

    def _put(self, text: str) -> str:
        return text.format(pipeline=self.pipeline_id, subject=self.subject, detail=self.detail)


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds that something may be on its way: a verdict until it is folded, an outbox row until its effect is."""

    unfolded: float = 180.0
    outbox: float = 600.0


def confirmed(first: Iterable[Broken], second: Iterable[Broken]) -> list[Broken]:
    """What two looks have found: what only one of them saw was on its way."""
    return sorted(set(first) & set(second))


def against_temporal(
    live: Mapping[int, str], known: Mapping[int, str], running: Collection[int], may_wait: Collection[int] = ()
) -> list[Broken]:
    """Pipelines that have not ended without a workflow, and workflows of pipelines that have or that are not there.

    `live` are pipelines that must have a workflow, with their status; `running` those whose workflow Temporal lists as
    running, and `known` their statuses, where they are there. Of those that have ended `may_wait` may have a workflow
    that waits for a person to try them again.
    """
    found = [
        Broken(Rule.PIPELINE_WITHOUT_WORKFLOW, number, detail=status)
        for number, status in live.items()
        if number not in running
    ]
    found += [
        Broken(Rule.WORKFLOW_WITHOUT_PIPELINE, number, detail=known.get(number, "not there"))
        for number in running
        if known.get(number, Status.SUCCESS) in COMPLETE and number not in may_wait
    ]
    return sorted(found)
