"""Why a pipeline is as it is: our own addition to GitLab's paths."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.routes import RouteList
from api.v4.access import JobDep, PipelineDep
from application.jobs import explaining
from application.pipelines.sealed_values import reason_shown
from domain.why.absent import absent as absent_job
from domain.why.explanation import Explanation
from domain.why.jobless import jobless
from models.repositories.pipelines import jobs as job_rows
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


class ExplanationResponse(TypedDict):
    """Why a job is as it is (`text`), the facts behind that (docs/why.md), and the next step, if any."""

    reason: str
    text: str
    facts: dict[str, Any]
    next_step: str | None


class ExplainedJobResponse(KnownJobResponse):
    """A job with the clause that put it into its pipeline, and why it is as it is."""

    why: dict[str, Any]
    explanation: ExplanationResponse


class JobWhyResponse(ExplainedJobResponse):
    """The same of one job, and whether somebody has started it by hand in Temporal."""

    unknown_caller: bool


class PipelineWhyResponse(TypedDict):
    """Why a pipeline is as it is, as it was kept when it was made; `explanation` is that of one without jobs."""

    pipeline: dict[str, Any] | None
    explanation: ExplanationResponse | None
    jobs: list[ExplainedJobResponse]
    absent: list[dict[str, Any]]
    warnings: list[dict[str, Any]]
    includes: list[dict[str, Any]]


@router.get("/pipelines/{pipeline_id}/why")
async def why_of_pipeline(found: PipelineDep, services: ServicesDep) -> PipelineWhyResponse:
    """The clause that let the pipeline be made, those of its jobs, and those that kept other jobs away.

    `explanation` says why each is as it is and what to do, as its page does; `stuck_reason` why no runner can take a
    job that waits, `left_out` what the runner that took it does not do of what it asks for.

    Who may only read sees the values of variables that the server defines or the configuration writes, and no others.
    """
    async with services.database.read() as connection:
        jobs = await reasons.of_jobs(connection, found.row.id)
        rows = [row for row in await job_rows.in_order(connection, found.row.id) if not row.retried]
        stuck = await waiting_jobs.reasons(connection, jobs, services.clock(), services.settings.times.runner_online)
        omitted = await left_out.of_pipeline(connection, found.row.id)
    explained = await explaining.of_jobs(services, found.project, found.row, rows)
    seen = partial(reason_shown, services.sealer, may_run=found.project.may_run(found.row))
    why = found.row.reasons.get("why")
    absent = found.row.reasons.get("absent", [])
    return {
        "pipeline": why and seen(why),
        "explanation": None if rows else shown(jobless(found.row.status, found.row.yaml_errors)),
        "jobs": [
            {
                **_known(row, stuck.get(row.id), omitted.get(row.id, ())),
                "why": seen(row.why),
                "explanation": shown(explained[row.id]),
            }
            for row in jobs
            if row.id in explained
        ],
        "absent": [_absent(one, seen(one["why"])) for one in absent],
        "warnings": found.row.reasons.get("warnings", []),
        "includes": found.row.reasons.get("includes", []),
    }


@router.get("/jobs/{job_id}/why")
async def why_of_job(found: JobDep, services: ServicesDep) -> JobWhyResponse:
    """The clause that put a job into its pipeline, and whether somebody has started it by hand in Temporal.

    Nobody knows who that was, so the job has the rights of the pipeline's user. `stuck_reason` says why no runner can
    take it, if it waits for one, `left_out` what the runner that took it does not do of what it asks for;
    `explanation` why it is as it is, whatever its state, and what to do.
    """
    row = found.row
    async with services.database.read() as connection:
        pipeline = await pipelines.get(connection, row.pipeline_id)
        kept = await reasons.of_job(connection, row.id)
        why = reason_shown(services.sealer, kept, may_run=found.project.may_run(pipeline))
        stuck = await waiting_jobs.reasons(connection, [row], services.clock(), services.settings.times.runner_online)
        omitted = await left_out.of_job(connection, row.id)
    explained = await explaining.of_jobs(services, found.project, pipeline, [row])
    return {
        **_known(row, stuck.get(row.id), omitted),
        "why": why,
        "explanation": shown(explained[row.id]),
        "unknown_caller": row.unknown_caller,
    }


def _absent(one: Mapping[str, Any], why: dict[str, Any]) -> dict[str, Any]:
    """A job that is not in the pipeline."""
    return {**one, "why": why, "explanation": shown(absent_job(why))}


def shown(explanation: Explanation) -> ExplanationResponse:
    """An explanation as REST shows it."""
    return {
        "reason": explanation.reason,
        "text": explanation.text,
        "facts": dict(explanation.facts),
        "next_step": explanation.next_step or None,
    }


def _known(row: _Named, stuck_reason: str | None, omitted: Sequence[str]) -> KnownJobResponse:
    return {
        "id": row.id,
        "name": row.name,
        "stage": row.stage_name,
        "stuck_reason": stuck_reason,
        "left_out": list(omitted),
    }
