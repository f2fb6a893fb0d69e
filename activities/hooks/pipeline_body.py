"""Bodies of Pipeline Hooks: the pipeline and its jobs as they were when the event was noted."""

from collections.abc import Mapping
from typing import Any

from activities.hooks import parts
from activities.hooks.moments import plain, read, seconds
from domain.merge_requests.merge_request import branch_of
from domain.pipelines.shown_status import WARNING, Shown, shown_as
from domain.pipelines.status import ALLOWED_TO_FAIL, COMPLETE, HELD_BY_RUNNER, Status
from domain.pipelines.verdict import public_reason
from models.repositories.hooks.hook_facts import Around, ToldJobRow, ToldMergeRequest
from models.rows.hooks import EventDeliveryRow


def pipeline_body(row: EventDeliveryRow, around: Around, url: str) -> dict[str, Any]:
    """The body for an event of a pipeline; a status and what belongs to it is never mixed with what came later."""
    facts, pipeline, page = row.facts, around.pipeline, f"{url}/{around.project.full_path}"
    assert pipeline is not None
    statuses = {job_id: Status(status) for status, ids in facts["builds"].items() for job_id in ids}
    started, finished = read(facts["started_at"]), read(facts["finished_at"])
    lasted = facts.get("duration", seconds(started, finished))
    return {
        "object_kind": "pipeline",
        "object_attributes": {
            "id": pipeline.id,
            "iid": pipeline.iid,
            "name": pipeline.name or None,
            "ref": branch_of(pipeline.ref, pipeline.merge_request),
            "tag": pipeline.tag,
            "sha": pipeline.sha,
            "before_sha": pipeline.before_sha,
            "source": pipeline.source,
            "status": facts["status"],
            "detailed_status": _shown(facts["status"], statuses, around).label,
            "stages": list(around.stages),
            "created_at": plain(pipeline.created_at),
            "finished_at": plain(finished),
            "duration": None if lasted is None else int(lasted),
            "queued_duration": seconds(pipeline.created_at, started),
            "protected_ref": pipeline.ref_protected,
            "variables": [{"key": one["key"], "value": one["value"]} for one in pipeline.variables],
            "url": f"{page}/-/pipelines/{pipeline.id}",
        },
        "merge_request": None if around.merge_request is None else _merge_request(around.merge_request, url),
        "user": parts.person(around.user(row.user_id)),
        "project": parts.project(around.project, url),
        "commit": parts.commit(pipeline, page),
        **parts.source_pipeline(around, url),
        "builds": [_build(job, statuses[job.id], around) for job in around.jobs],
    }


def _merge_request(told: ToldMergeRequest, url: str) -> dict[str, Any]:
    row = told.row
    return {
        "id": row.id,
        "iid": row.iid,
        "title": row.title,
        "source_branch": row.source_branch,
        "source_project_id": row.source_project_id,
        "target_branch": row.target_branch,
        "target_project_id": row.project_id,
        "state": row.state,
        "merge_status": row.merge_status,
        "detailed_merge_status": told.detailed_status,
        "url": f"{url}/{told.path}/-/merge_requests/{row.iid}",
    }


def _shown(status: str, statuses: Mapping[int, Status], around: Around) -> Shown:
    """How the pipeline was shown then."""
    bad = any(job.allow_failure and statuses[job.id] in ALLOWED_TO_FAIL for job in around.jobs)
    return shown_as(WARNING if bad and status == Status.SUCCESS else status)


def _build(job: ToldJobRow, status: Status, around: Around) -> dict[str, Any]:
    has_ended = status in COMPLETE
    started = job.started_at if has_ended or status in HELD_BY_RUNNER else None
    finished = job.finished_at if has_ended else None
    return {
        "id": job.id,
        "stage": job.stage_name,
        "name": job.name,
        "status": status,
        "created_at": plain(job.created_at),
        "started_at": plain(started),
        "finished_at": plain(finished),
        "duration": seconds(started, finished),
        "queued_duration": seconds(job.queued_at, started),
        "failure_reason": public_reason(job.failure_reason) if status is Status.FAILED else None,
        "when": job.when,
        "manual": job.when == "manual",
        "allow_failure": job.allow_failure,
        "user": parts.person(around.user(job.user_id)),
        "runner": parts.runner(around.runner(job.runner_id)) if started is not None else None,
        "artifacts_file": {
            "filename": job.filename if has_ended else None,
            "size": job.size if has_ended else None,
        },
        "environment": environment_of(job),
    }


def environment_of(job: ToldJobRow) -> dict[str, Any] | None:
    """The environment that a job names."""
    if not job.environment_action:
        return None
    return {
        "name": job.environment,
        "action": job.environment_action,
        "deployment_tier": job.environment_tier,
    }
