"""Checking a configuration without making a pipeline (GitLab's `ci/lint`).

No variable of the project is resolved here, so none that is protected either.
"""

from typing import Annotated, NotRequired

from fastapi import Depends
from pydantic import BaseModel
from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.leaving_callers import PostEndsWithCaller
from api.routes import RouteList
from api.services import Services
from api.v4.access import KnownCallerDep, ProjectDep
from api.v4.parameters import given
from api.v4.representation.plans import (
    AbsentJobResponse,
    IncludedResponse,
    PlannedJobResponse,
    absent_job,
    included,
    planned_job,
)
from application.access import ProjectAccess
from application.configurations.compiling import Compilation
from application.configurations.config_sources import ConfigSources
from application.configurations.project_config import Configuration, configuration_of
from application.limits.actions import Limited
from application.pipelines.ci_variables import reaching
from application.pipelines.creation import with_commit
from application.pipelines.event_context import event_context
from application.pipelines.refs import find_ref
from auth.permissions import Action
from domain.config.plan import Plan
from domain.errors import ConfigInvalid, Invalid, PipelineFiltered
from domain.projects.config_place import CONFIG_FILE, ConfigSource
from domain.projects.ref_names import HEADS
from git.repository import Repository
from models.repositories.accounts import accounts
from models.repositories.pipelines.pipelines import PipelineRequest

router = RouteList(prefix="/projects/{project}", kind=PostEndsWithCaller)


class GivenText(BaseModel):
    """Parameters of `POST /projects/:id/ci/lint`."""

    content: str
    dry_run: bool = False
    include_jobs: bool = False
    ref: str = ""


class CommittedText(BaseModel):
    """Parameters of `GET /projects/:id/ci/lint`; `sha` and `ref` are the old names of the others."""

    content_ref: str = ""
    sha: str = ""
    dry_run: bool = False
    include_jobs: bool = False
    dry_run_ref: str = ""
    ref: str = ""


class LintResponse(TypedDict):
    """What a configuration would make, or what is wrong with it; jobs only when asked for."""

    valid: bool
    errors: list[str]
    warnings: list[str]
    merged_yaml: str | None
    includes: list[IncludedResponse]
    jobs: NotRequired[list[PlannedJobResponse]]
    absent: NotRequired[list[AbsentJobResponse]]


@router.post("/ci/lint")
async def lint_text(
    wanted: Annotated[GivenText, Depends(given(GivenText))],
    project: ProjectDep,
    services: ServicesDep,
    _caller: KnownCallerDep,
) -> LintResponse:
    """Check a text as if it were the project's configuration; with `dry_run` as a push to `ref` would compile it."""
    project.require(Action.RUN)
    services.limits.note(Limited.LINT, project.caller.user_id)
    repository = services.repositories.get(project.row.id)
    request = await _request(project, repository, wanted.ref)
    config = Configuration(wanted.content, CONFIG_FILE, ConfigSource.REPOSITORY)
    return await _answer(services, project, repository, request, config, wanted)


@router.get("/ci/lint")
async def lint_committed(
    wanted: Annotated[CommittedText, Depends(given(CommittedText))],
    project: ProjectDep,
    services: ServicesDep,
    _caller: KnownCallerDep,
) -> LintResponse:
    """Check the configuration of a commit, of the newest one of the default branch without `content_ref`."""
    services.limits.note(Limited.LINT, project.caller.user_id)
    repository = services.repositories.get(project.row.id)
    request = await _request(project, repository, wanted.dry_run_ref or wanted.ref)
    content_ref = wanted.content_ref or wanted.sha
    sha = await repository.resolve(content_ref) if content_ref else request.sha
    if sha is None:
        raise Invalid(f"content_ref does not have a valid value: there is no {content_ref} in this project")
    config = await configuration_of(services, project.row, sha, repository, {})
    return await _answer(services, project, repository, request, config, wanted)


async def _request(project: ProjectAccess, repository: Repository, ref: str) -> PipelineRequest:
    name, tag, sha = await find_ref(repository, ref or f"{HEADS}{project.row.default_branch}")
    request = PipelineRequest(
        project_id=project.row.id, user_id=project.caller.user_id, ref=name, sha=sha, source="push", tag=tag
    )
    return await with_commit(request, repository)


async def _answer(
    services: Services,
    project: ProjectAccess,
    repository: Repository,
    request: PipelineRequest,
    config: Configuration,
    wanted: GivenText | CommittedText,
) -> LintResponse:
    async with services.database.read() as connection:
        user = await accounts.get(connection, project.caller.user_id)
        ours = await reaching(services, connection, project.row.id)
    context = event_context(services.settings, request, project.row, user, services.clock(), ours)
    sources = ConfigSources.of_event(services, request, project.row, user, repository)
    compilation = Compilation(services, config.text, context, sources, config.file)
    merged: str | None = None
    try:
        merged = await compilation.merged()
        plan = await compilation.plan(every_job=not wanted.dry_run)
    except ConfigInvalid as error:
        errors = [str(issue) for issue in error.issues]
        return {"valid": False, "errors": errors, "warnings": [], "merged_yaml": merged, "includes": []}
    except PipelineFiltered as error:
        return _shown(error.plan, merged, [str(error)], jobs=wanted.include_jobs)
    return _shown(plan, merged, [], jobs=wanted.include_jobs)


def _shown(plan: Plan, merged: str | None, errors: list[str], *, jobs: bool) -> LintResponse:
    shown: LintResponse = {
        "valid": not errors,
        "errors": errors,
        "warnings": [str(warning) for warning in plan.warnings],
        "merged_yaml": merged,
        "includes": [included(one) for one in plan.includes],
    }
    if jobs:
        shown["jobs"] = [planned_job(job) for job in plan.jobs]
        shown["absent"] = [absent_job(job) for job in plan.absent]
    return shown
