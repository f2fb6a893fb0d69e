"""Compiled configurations as GitLab's JSON, with our reasons added."""

from typing import Any

from domain.config.plan import AbsentJob, Included, JobPlan
from domain.config.why import Why, why_shown
from models.repositories.pipelines.compiled import why_document


def planned_job(job: JobPlan) -> dict[str, Any]:
    """A job as `ci/lint` shows it; `needs` is null for a job that waits for its stages."""
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


def absent_job(job: AbsentJob) -> dict[str, Any]:
    """A job that is not in the pipeline."""
    return {"name": job.name, "stage": job.stage, "why": _why(job.why)}


def included(one: Included) -> dict[str, Any]:
    """A file that was included."""
    return {"type": one.kind, "location": one.location, "extra": {}, "included_by": one.by or None}


def _why(why: Why) -> dict[str, Any]:
    """Whoever may lint a configuration of a project may run it."""
    return why_shown(why_document(why), may_run=True)
