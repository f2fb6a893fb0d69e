"""Why a pipeline is as it is: our own addition to GitLab's paths."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.routes import RouteList
from api.v4.access import JobDep, PipelineDep
from domain.config.why import why_shown
from models.repositories.pipelines import left_out, pipelines, reasons
from models.repositories.queue import waiting_jobs

router = RouteList(prefix="/projects/{project}")


class _Named(Protocol):
    """A job, of whatever row."""

    @property
    def id(self) -> int:
        """Its number."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def stage_name(self) -> str:
        """What its stage is called."""


class KnownJobResponse(TypedDict):
    """A job that is in its pipeline; `left_out` is what its runner does not do of what it asks for."""

    id: int
    name: str
    stage: str
    stuck_reason: str | None
    left_out: list[str]


class ExplainedJobResponse(KnownJobResponse):
    """A job with the clause that put it into its pipeline."""

    why: dict[str, Any]


class JobWhyResponse(ExplainedJobResponse):
    """The same of one job, and whether somebody has started it by hand in Temporal."""

    unknown_caller: bool


class PipelineWhyResponse(TypedDict):
    """Why a pipeline is as it is, as it was kept when it was made."""

    pipeline: dict[str, Any] | None
    jobs: list[ExplainedJobResponse]
    absent: list[dict[str, Any]]
    warnings: list[dict[str, Any]]
    includes: list[dict[str, Any]]


@router.get("/pipelines/{pipeline_id}/why")
async def why_of_pipeline(found: PipelineDep, services: ServicesDep) -> PipelineWhyResponse:
    """The clause that let the pipeline be made, those of its jobs, and those that kept other jobs away.

    `stuck_reason` says why no runner can take a job that waits, `left_out` what the runner that took it does not do of
    what it asks for.

    Who may only read sees the values of variables that the server defines or the configuration writes, and no others.
    """
    async with services.database.read() as connection:
        jobs = await reasons.of_jobs(connection, found.row.id)
        stuck = await waiting_jobs.reasons(connection, jobs, services.clock(), services.settings.times.runner_online)
        omitted = await left_out.of_pipeline(connection, found.row.id)
    seen = partial(why_shown, may_run=found.project.may_run(found.row))
    why = found.row.reasons.get("why")
    absent = found.row.reasons.get("absent", [])
    return {
        "pipeline": why and seen(why),
        "jobs": [{**_known(row, stuck.get(row.id), omitted.get(row.id, ())), "why": seen(row.why)} for row in jobs],
        "absent": [{**one, "why": seen(one["why"])} for one in absent],
        "warnings": found.row.reasons.get("warnings", []),
        "includes": found.row.reasons.get("includes", []),
    }


@router.get("/jobs/{job_id}/why")
async def why_of_job(found: JobDep, services: ServicesDep) -> JobWhyResponse:
    """The clause that put a job into its pipeline, and whether somebody has started it by hand in Temporal.

    Nobody knows who that was, so the job has the rights of the pipeline's user. `stuck_reason` says why no runner can
    take it, if it waits for one, `left_out` what the runner that took it does not do of what it asks for.
    """
    row = found.row
    async with services.database.read() as connection:
        pipeline = await pipelines.get(connection, row.pipeline_id)
        why = why_shown(await reasons.of_job(connection, row.id), may_run=found.project.may_run(pipeline))
        stuck = await waiting_jobs.reasons(connection, [row], services.clock(), services.settings.times.runner_online)
        omitted = await left_out.of_job(connection, row.id)
    return {**_known(row, stuck.get(row.id), omitted), "why": why, "unknown_caller": row.unknown_caller}


def _known(row: _Named, stuck_reason: str | None, omitted: Sequence[str]) -> KnownJobResponse:
    return {
        "id": row.id,
        "name": row.name,
        "stage": row.stage_name,
        "stuck_reason": stuck_reason,
        "left_out": list(omitted),
    }
