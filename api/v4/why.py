"""Why a pipeline is as it is: our own addition to GitLab's paths."""

from functools import partial
from typing import Any

from fastapi import APIRouter

from api.deps import ServicesDep
from api.v4.access import JobDep, PipelineDep
from domain.config.why import why_shown
from models.repositories import pipelines, reasons

router = APIRouter(prefix="/projects/{project}")


@router.get("/pipelines/{pipeline_id}/why")
async def why_of_pipeline(found: PipelineDep, services: ServicesDep) -> dict[str, Any]:
    """The clause that let the pipeline be made, those of its jobs, and those that kept other jobs away.

    Who may only read sees the values of variables that the server defines or the configuration writes, and no others.
    """
    async with services.database.read() as connection:
        jobs = await reasons.of_jobs(connection, found.row.id)
    seen = partial(why_shown, may_run=found.project.may_run(found.row))
    why = found.row.reasons.get("why")
    absent = found.row.reasons.get("absent", [])
    return {
        "pipeline": why and seen(why),
        "jobs": [{"id": row.id, "name": row.name, "stage": row.stage_name, "why": seen(row.why)} for row in jobs],
        "absent": [{**one, "why": seen(one["why"])} for one in absent],
        "warnings": found.row.reasons.get("warnings", []),
        "includes": found.row.reasons.get("includes", []),
    }


@router.get("/jobs/{job_id}/why")
async def why_of_job(found: JobDep, services: ServicesDep) -> dict[str, Any]:
    """The clause that put a job into its pipeline, and whether somebody has started it by hand in Temporal.

    Nobody knows who that was, so the job has the rights of the pipeline's user.
    """
    row = found.row
    async with services.database.read() as connection:
        pipeline = await pipelines.get(connection, row.pipeline_id)
        why = why_shown(await reasons.of_job(connection, row.id), may_run=found.project.may_run(pipeline))
    known = {"id": row.id, "name": row.name, "stage": row.stage_name}
    return {**known, "why": why, "unknown_caller": row.unknown_caller}
