"""Why a pipeline is as it is: our own addition to GitLab's paths."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from fastapi import APIRouter
from sqlalchemy.ext.asyncio import AsyncConnection

from api.deps import ServicesDep
from api.services import Services
from api.v4.access import JobDep, PipelineDep
from domain.config.why import why_shown
from models.columns import Record
from models.repositories.pipelines import left_out, pipelines, reasons
from models.repositories.queue import waiting_jobs

router = APIRouter(prefix="/projects/{project}")


@router.get("/pipelines/{pipeline_id}/why")
async def why_of_pipeline(found: PipelineDep, services: ServicesDep) -> dict[str, Any]:
    """The clause that let the pipeline be made, those of its jobs, and those that kept other jobs away.

    `stuck_reason` says why no runner can take a job that waits, `left_out` what the runner that took it does not do of
    what it asks for.

    Who may only read sees the values of variables that the server defines or the configuration writes, and no others.
    """
    async with services.database.read() as connection:
        jobs = await reasons.of_jobs(connection, found.row.id)
        stuck = await _stuck(connection, services, jobs)
        omitted = await left_out.of_pipeline(connection, found.row.id)
    seen = partial(why_shown, may_run=found.project.may_run(found.row))
    why = found.row.reasons.get("why")
    absent = found.row.reasons.get("absent", [])
    return {
        "pipeline": why and seen(why),
        "jobs": [{**_known(row, stuck, omitted.get(row.id, ())), "why": seen(row.why)} for row in jobs],
        "absent": [{**one, "why": seen(one["why"])} for one in absent],
        "warnings": found.row.reasons.get("warnings", []),
        "includes": found.row.reasons.get("includes", []),
    }


@router.get("/jobs/{job_id}/why")
async def why_of_job(found: JobDep, services: ServicesDep) -> dict[str, Any]:
    """The clause that put a job into its pipeline, and whether somebody has started it by hand in Temporal.

    Nobody knows who that was, so the job has the rights of the pipeline's user. `stuck_reason` says why no runner can
    take it, if it waits for one, `left_out` what the runner that took it does not do of what it asks for.
    """
    row = found.row
    async with services.database.read() as connection:
        pipeline = await pipelines.get(connection, row.pipeline_id)
        why = why_shown(await reasons.of_job(connection, row.id), may_run=found.project.may_run(pipeline))
        stuck = await _stuck(connection, services, [row])
        omitted = await left_out.of_job(connection, row.id)
    return {**_known(row, stuck, omitted), "why": why, "unknown_caller": row.unknown_caller}


async def _stuck(connection: AsyncConnection, services: Services, rows: Sequence[Record]) -> Mapping[int, str]:
    """Why no runner can take those of the jobs that wait for one, by id."""
    online = services.settings.times.runner_online
    return await waiting_jobs.reasons(connection, rows, services.clock(), online)


def _known(row: Record, stuck: Mapping[int, str], omitted: Sequence[str]) -> dict[str, Any]:
    return {
        "id": row.id,
        "name": row.name,
        "stage": row.stage_name,
        "stuck_reason": stuck.get(row.id),
        "left_out": list(omitted),
    }
