"""What a newer commit makes redundant: which older pipelines, and which of their jobs may be canceled.

Source: docs/reference/pipelines.md, "Automatic cancel", "Pipeline sources".
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from domain.pipelines.operations import CANCELABLE
from domain.pipelines.pipeline import Job, Pipeline
from domain.pipelines.status import COMPLETE, Status

LEAVE: Final = "none"
"""The `on_new_commit` of a pipeline that no newer commit touches."""
ONLY_INTERRUPTIBLE: Final = "interruptible"
"""The `on_new_commit` that lets a newer commit cancel interruptible jobs, whatever the others do."""
DANGLING_SOURCES: Final = frozenset(
    {
        "container_registry_push",
        "duo_workflow",
        "ondemand_dast_scan",
        "ondemand_dast_validation",
        "parent_pipeline",
        "pipeline_execution_policy_schedule",
        "security_orchestration_policy",
        "webide",
    }
)
"""Pipelines of these sources are not those of their ref: they neither cancel nor are canceled (children go with their
parents)."""
NOT_OLDER_THAN: Final = timedelta(days=7)
"""A pipeline that has waited for longer is left to people."""
STARTED: Final = frozenset({Status.RUNNING, Status.CANCELING, Status.SUCCESS, Status.FAILED})
"""States of a job that has begun to do something."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A pipeline as far as this rule looks at it. A branch and a tag of the same name are different refs."""

    id: int
    project_id: int
    ref: str
    tag: bool
    sha: str
    source: str
    status: Status
    created_at: datetime
    on_new_commit: str = "conservative"


def cancels_others(new: Contender) -> bool:
    """Whether a new pipeline makes older ones redundant at all."""
    return new.source not in DANGLING_SOURCES


def is_redundant(old: Contender, new: Contender, head: str = "") -> bool:
    """Whether `old` is to be told that `new` is there; what it cancels then is up to `redundant_jobs`.

    `head` is the commit that the ref points to, empty if nobody knows: its pipeline is never redundant, even when one
    of an earlier commit was created after it.
    """
    return (
        cancels_others(new)
        and old.source not in DANGLING_SOURCES
        and (old.project_id, old.ref, old.tag) == (new.project_id, new.ref, new.tag)
        and old.id < new.id
        and old.sha not in {new.sha, head}
        and old.status not in COMPLETE
        and old.created_at >= new.created_at - NOT_OLDER_THAN
        and old.on_new_commit != LEAVE
    )


def redundant_jobs(pipeline: Pipeline) -> tuple[int, ...]:
    """The jobs of a redundant pipeline that its `workflow:auto_cancel:on_new_commit` lets be canceled, in their order.

    Empty when nothing may be. Only latest attempts count, so a job that was retried has not started yet.
    """
    if pipeline.on_new_commit == LEAVE:
        return ()
    only_interruptible = pipeline.on_new_commit == ONLY_INTERRUPTIBLE
    if not only_interruptible and any(has_started(job) and not job.interruptible for job in pipeline.jobs):
        return ()
    return tuple(
        job.id for job in pipeline.jobs if job.status in CANCELABLE and (job.interruptible or not only_interruptible)
    )


def has_started(job: Job) -> bool:
    """Whether the attempt has begun. A bridge that takes over `manual` from its downstream pipeline has."""
    return job.status in STARTED or (job.follows and job.status is Status.MANUAL)
