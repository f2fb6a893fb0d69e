"""Compiled configurations as GitLab's JSON, with our reasons added."""

from typing import Any

from typing_extensions import TypedDict

from domain.config.plan import AbsentJob, Included, JobPlan
from domain.config.why import Why, why_shown
from models.repositories.pipelines.compiled import why_document


class PlannedNeedResponse(TypedDict):
    """A job that another one needs."""

    name: str
    artifacts: bool
    optional: bool


PlannedJobResponse = TypedDict(
    "PlannedJobResponse",
    {
        "name": str,
        "stage": str,
        "before_script": list[str],
        "script": list[str],
        "after_script": list[str],
        "tag_list": list[str],
        "only": str | None,
        "except": str | None,
        "environment": str | None,
        "when": str,
        "allow_failure": bool,
        "needs": list[PlannedNeedResponse] | None,
        "why": dict[str, Any],
    },
)
"""A job as `ci/lint` shows it; `needs` is null for a job that waits for its stages."""


class AbsentJobResponse(TypedDict):
    """A job that is not in the pipeline."""

    name: str
    stage: str
    why: dict[str, Any]


class IncludedResponse(TypedDict):
    """A file that was included; `extra` is empty here."""

    type: str
    location: str
    extra: dict[str, Any]
    included_by: str | None


def planned_job(job: JobPlan) -> PlannedJobResponse:
    """A job that would be in the pipeline."""
    return {
        "name": job.name,
        "stage": job.stage,
        "before_script": list(job.before_script),
        "script": list(job.script),
        "after_script": list(job.after_script),
        "tag_list": list(job.tags),
        "only": None,
        "except": None,
        "environment": job.environment.name if job.environment else None,
        "when": job.when,
        "allow_failure": job.allow_failure,
        "needs": None
        if job.needs is None
        else [{"name": need.job, "artifacts": need.artifacts, "optional": need.optional} for need in job.needs],
        "why": _why(job.why),
    }


def absent_job(job: AbsentJob) -> AbsentJobResponse:
    """A job that is not in the pipeline."""
    return {"name": job.name, "stage": job.stage, "why": _why(job.why)}


def included(one: Included) -> IncludedResponse:
    """A file that was included."""
    return {"type": one.kind, "location": one.location, "extra": {}, "included_by": one.by or None}


def _why(why: Why) -> dict[str, Any]:
    """Whoever may lint a configuration of a project may run it."""
    return why_shown(why_document(why), may_run=True)
