"""The plan of a pipeline before there is one: the same steps as when it is made, and nothing is written."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from application.limits.actions import Limited
from application.pipelines.creation import prepare
from application.pipelines.deployment_targets import places_for
from application.pipelines.run_form import faults_of
from application.services import Services
from domain.config.plan import JobPlan, Plan
from domain.config.why import why_shown
from domain.environments.places import Place
from domain.errors import Invalid, PipelineFiltered
from domain.why.absent import absent
from domain.why.explanation import Explanation
from git.repository import Repository
from models.repositories.pipelines.compiled import why_document
from models.repositories.pipelines.pipelines import PipelineRequest

MAX_JOBS: Final = 500
"""Jobs that are shown, of those that would run and of those that would not; the others are counted."""


@dataclass(frozen=True, slots=True)
class PlannedJob:
    """A job that would be made, and where it would deploy to."""

    job: JobPlan
    environment: str = ""


@dataclass(frozen=True, slots=True)
class Preview:
    """What would be made: jobs by stage, and those that would not, with the reason. `faults` say why nothing would."""

    stages: tuple[tuple[str, tuple[PlannedJob, ...]], ...] = ()
    absent: tuple[tuple[str, Explanation], ...] = ()
    faults: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    why: str = ""
    jobs: int = 0
    absent_jobs: int = 0
    name: str = ""


async def preview_of(services: Services, request: PipelineRequest, repository: Repository) -> Preview:
    """The plan of a request; faults of the configuration are part of it. Raises `TooMany`, `Unavailable`."""
    services.limits.note(Limited.LINT, request.user_id)
    try:
        request, plan = await prepare(services, request, repository)
        places = await places_for(services, request, plan)
    except PipelineFiltered as error:
        return _preview(error.plan, (), faults_of(error))
    except Invalid as error:
        return Preview(faults=faults_of(error))
    return _preview(plan, places, ())


def _preview(plan: Plan, places: Sequence[Place], faults: tuple[str, ...]) -> Preview:
    known = {job.name: place.environment for job, place in zip(plan.jobs, places, strict=False)}
    shown = [PlannedJob(job, known.get(job.name, "")) for job in plan.jobs[:MAX_JOBS]]
    by_stage = ((stage, tuple(one for one in shown if one.job.stage == stage)) for stage in plan.stages)
    reasons = ((job.name, absent(why_shown(why_document(job.why), may_run=True))) for job in plan.absent[:MAX_JOBS])
    return Preview(
        stages=tuple((stage, jobs) for stage, jobs in by_stage if jobs),
        absent=tuple(reasons),
        faults=faults,
        warnings=tuple(map(str, plan.warnings)),
        why=plan.why.text,
        jobs=len(plan.jobs),
        absent_jobs=len(plan.absent),
        name=plan.name,
    )
