"""Why a pipeline is as it is: our own addition to GitLab's paths."""

from typing import Any

from fastapi import APIRouter

from api.deps import ServicesDep
from api.v4.access import JobDep, PipelineDep
from models.repositories import reasons

router = APIRouter(prefix="/projects/{project}")


@router.get("/pipelines/{pipeline_id}/why")
async def why_of_pipeline(found: PipelineDep, services: ServicesDep) -> dict[str, Any]:
    """The clause that let the pipeline be made, those of its jobs, and those that kept other jobs away."""
    async with services.database.read() as connection:
        jobs = await reasons.of_jobs(connection, found.row.id)
    return {
        "pipeline": found.row.reasons.get("why"),
        "jobs": [{"id": row.id, "name": row.name, "stage": row.stage_name, "why": row.why} for row in jobs],
        "absent": found.row.reasons.get("absent", []),
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
        why = await reasons.of_job(connection, row.id)
    known = {"id": row.id, "name": row.name, "stage": row.stage_name}
    return {**known, "why": why, "unknown_caller": row.unknown_caller}
