"""Bodies of Job Hooks and Deployment Hooks: the job as it was when the event was noted."""

from collections.abc import Mapping
from typing import Any

from activities.hooks import parts
from activities.hooks.moments import exact, iso, read, seconds
from activities.hooks.pipeline_body import environment_of
from domain.pipelines.status import Status
from domain.pipelines.verdict import public_reason
from models.repositories.hooks.hook_facts import Around, ToldJobRow
from models.rows.hooks import EventDeliveryRow
from models.rows.pipelines import PipelineRow


def job_body(row: EventDeliveryRow, around: Around, url: str) -> dict[str, Any]:
    """The body for an event of a job. `commit.id` is that of the pipeline, as in GitLab."""
    facts, pipeline, (job,) = row.facts, around.pipeline, around.jobs
    assert pipeline is not None
    queued, started, finished = (read(facts[name]) for name in ("queued_at", "started_at", "finished_at"))
    failed = facts["status"] == Status.FAILED
    return {
        "object_kind": "build",
        "ref": pipeline.ref,
        "tag": pipeline.tag,
        "before_sha": pipeline.before_sha,
        "sha": pipeline.sha,
        "retries_count": job.attempt - 1,
        "build_id": job.id,
        "build_name": job.name,
        "build_stage": job.stage_name,
        "build_status": facts["status"],
        "build_created_at": exact(job.created_at),
        "build_created_at_iso": iso(job.created_at),
        "build_started_at": exact(started),
        "build_started_at_iso": iso(started),
        "build_finished_at": exact(finished),
        "build_finished_at_iso": iso(finished),
        "build_duration": seconds(started, finished),
        "build_queued_duration": seconds(queued, started or finished or row.happened_at),
        "build_allow_failure": facts["allow_failure"],
        "build_failure_reason": public_reason(facts["failure_reason"]) if failed else "unknown_failure",
        "pipeline_id": pipeline.id,
        "runner": parts.runner(around.runner(facts["runner_id"])),
        "project_id": around.project.id,
        "project_name": f"{around.project.namespace} / {around.project.name}",
        "user": parts.person(around.user(row.user_id)),
        "commit": _commit(facts, pipeline),
        "repository": parts.repository(around.project, url),
        "project": parts.project(around.project, url),
        "environment": environment_of(job),
        **parts.source_pipeline(around, url),
    }


def _commit(facts: Mapping[str, Any], pipeline: PipelineRow) -> dict[str, Any]:
    started, finished = read(facts["pipeline_started_at"]), read(facts["pipeline_finished_at"])
    ran = facts.get("pipeline_duration")  # facts of earlier versions have none
    lasted = seconds(started, finished) if ran is None else ran
    author = pipeline.commit
    return {
        "id": pipeline.id,
        "name": pipeline.name or None,
        "sha": pipeline.sha,
        "message": author.get("message", ""),
        "author_name": author.get("author_name", ""),
        "author_email": author.get("author_email", ""),
        "author_url": f"mailto:{author.get('author_email', '')}",
        "status": facts["pipeline_status"],
        "duration": None if lasted is None else int(lasted),
        "started_at": exact(started),
        "started_at_iso": iso(started),
        "finished_at": exact(finished),
        "finished_at_iso": iso(finished),
    }


def deployment_body(row: EventDeliveryRow, around: Around, url: str) -> dict[str, Any]:
    """The body for an event of a deployment; the job is what deploys, if one does."""
    facts, user = row.facts, around.user(row.user_id)
    page = f"{url}/{around.project.full_path}"
    told = _reported(facts) if around.pipeline is None else _deployed(around.pipeline, around.jobs[0], page)
    sha = told.pop("sha")
    return {
        "object_kind": "deployment",
        "status": facts["status"],
        "status_changed_at": row.happened_at.strftime("%Y-%m-%d %H:%M:%S %z"),
        "deployment_id": facts["deployment_id"],
        **told,
        "project": parts.project(around.project, url),
        "short_sha": sha[:8],
        "user": parts.person(user),
        "user_url": None if user is None else f"{url}/{user.username}",
        "commit_url": f"{page}/-/commit/{sha}",
    }


def _deployed(pipeline: PipelineRow, job: ToldJobRow, page: str) -> dict[str, Any]:
    """What the job that deploys has of it."""
    return {
        "sha": pipeline.sha,
        "ref": pipeline.ref,
        "commit_title": pipeline.commit.get("title", ""),
        "deployable_id": job.id,
        "deployable_url": f"{page}/-/jobs/{job.id}",
        "environment": job.environment,
        "environment_tier": job.environment_tier,
        "environment_slug": job.environment_slug,
        "environment_external_url": job.external_url or None,
    }


def _reported(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The same of a deployment that no job made: all of it was noted."""
    names = ("sha", "ref", "commit_title", "environment", "environment_tier", "environment_slug")
    told = {name: facts[name] for name in names}
    external_url = facts["environment_external_url"] or None
    return {**told, "deployable_id": None, "deployable_url": None, "environment_external_url": external_url}
