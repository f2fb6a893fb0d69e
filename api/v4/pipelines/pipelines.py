"""Pipelines: listed, read, created, canceled, retried."""

from datetime import datetime
from typing import Annotated, Any, Final, Literal, NotRequired

from fastapi import Depends, Query, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.access import Id, PipelineDep, ProjectDep
from api.v4.asking import KEPT, answer_with
from api.v4.pagination import PagingDep
from api.v4.parameters import given
from api.v4.representation.pipelines import ListedPipelineResponse, PipelineDetailsResponse, listed_pipeline, pipeline
from application.pipelines import removal
from application.pipelines.creation import create_pipeline
from application.pipelines.refs import find_ref, pipelines_of_ref
from application.pipelines.sealed_values import opened_variables
from auth.permissions import Action
from domain.errors import Invalid, NotFound
from domain.messages import Answer, Operation
from domain.pipelines.coverage import average
from domain.projects.ref_names import HEADS
from models.repositories.accounts import accounts
from models.repositories.logs import coverage
from models.repositories.paging import slice_of
from models.repositories.pipelines import pipelines
from models.repositories.pipelines.pipelines import PipelineRequest
from models.repositories.projects import listings
from models.repositories.projects.listings import PipelineFilter
from models.repositories.projects.listings import pipelines as listed
from models.rows.projects import ProjectRow

_FILTERS: Final = ("status", "ref", "sha", "source")

router = RouteList(prefix="/projects/{project}")


class NewVariable(BaseModel):
    """A variable of a pipeline or of a manual job."""

    key: str = Field(pattern=r"^[a-zA-Z0-9_]{1,255}$")
    value: str = ""


class NewPipeline(BaseModel):
    """Parameters of `POST /projects/:id/pipeline`."""

    ref: str
    variables: list[NewVariable] = []
    inputs: dict[str, Any] = {}


class PipelineVariableResponse(TypedDict):
    """A variable that a pipeline was started with."""

    variable_type: str
    raw: bool
    key: str
    value: str


class AskedPipelineResponse(PipelineDetailsResponse):
    """A pipeline after an operation; `notice` says that there was nothing to do."""

    notice: NotRequired[str]


async def filter_of(
    request: Request,
    scope: Literal["", "running", "pending", "finished", "branches", "tags"] = "",
    updated_after: datetime | None = None,
    updated_before: datetime | None = None,
    order_by: Literal["id", "status", "ref", "updated_at", "user_id"] = "id",
    sort: Literal["asc", "desc"] = "desc",
) -> PipelineFilter:
    """Which pipelines a call wants. Raises `Invalid` for a time without a zone."""
    for name, value in (("updated_after", updated_after), ("updated_before", updated_before)):
        if value is not None and value.tzinfo is None:
            raise Invalid(f"{name} is invalid: give a time zone, as in 2026-01-31T12:00:00Z.")
    equal = {name: request.query_params[name] for name in _FILTERS if request.query_params.get(name)}
    return PipelineFilter(equal, scope, updated_after, updated_before, order_by, sort == "asc")


@router.get("/pipelines", response_model=list[ListedPipelineResponse])
async def list_pipelines(
    project: ProjectDep, services: ServicesDep, paging: PagingDep, wanted: Annotated[PipelineFilter, Depends(filter_of)]
) -> JSONResponse:
    """The pipelines of a project, newest first."""
    async with services.database.read() as connection:
        found = await slice_of(connection, listed(project.row.id, wanted), paging.number, paging.size)
    items = [listed_pipeline(row, project.row.full_path, services.settings.url) for row in found.rows]
    return paging.response(items, found.total)


@router.get("/pipelines/latest")
async def latest_pipeline(
    project: ProjectDep, services: ServicesDep, ref: Annotated[str, Query()] = ""
) -> PipelineDetailsResponse:
    """The newest pipeline of a ref (of the default branch without one)."""
    name = ref or f"{HEADS}{project.row.default_branch}"
    wanted = await pipelines_of_ref(services.repositories, project.row.id, name)
    async with services.database.read() as connection:
        row = await listings.latest_pipeline(connection, project.row.id, wanted)
    if row is None:
        raise NotFound("Pipeline Not Found")
    return await full(services, row.id, project.row)


@router.get("/pipelines/{pipeline_id}")
async def get_pipeline(found: PipelineDep, services: ServicesDep) -> PipelineDetailsResponse:
    """One pipeline."""
    return await full(services, found.row.id, found.project.row)


async def full(services: Services, pipeline_id: int, project: ProjectRow) -> PipelineDetailsResponse:
    """A pipeline in full, as it is now."""
    async with services.database.read() as connection:
        row = await pipelines.get(connection, pipeline_id, project.id)
        user = await accounts.get(connection, row.user_id)
        covered = average(await coverage.of_pipeline(connection, pipeline_id))
    url, now = services.settings.url, services.clock()
    return pipeline(row, user, project.full_path, url, now, coverage=covered)


@router.get("/pipelines/{pipeline_id}/variables")
async def variables_of_pipeline(found: PipelineDep, services: ServicesDep) -> list[PipelineVariableResponse]:
    """The variables that the pipeline was started with; whoever may start pipelines may see them."""
    found.project.require(Action.INSPECT)
    return [
        {
            "variable_type": variable.get("variable_type", "env_var"),
            "raw": bool(variable.get("raw")),
            "key": variable["key"],
            "value": variable["value"],
        }
        for variable in opened_variables(services.sealer, found.row.variables)
    ]


@router.post("/pipeline", status_code=201)
async def start_pipeline(
    new: Annotated[NewPipeline, Depends(given(NewPipeline))], project: ProjectDep, services: ServicesDep
) -> PipelineDetailsResponse:
    """Create a pipeline for a branch or tag. Answers 400 with every fault of the configuration."""
    project.require(Action.RUN)
    repository = services.repositories.get(project.row.id)
    ref, tag, sha = await find_ref(repository, new.ref)
    project.require_run(ref, tag=tag)
    request = PipelineRequest(
        project_id=project.row.id,
        user_id=project.caller.user_id,
        ref=ref,
        sha=sha,
        source="api",
        tag=tag,
        variables=tuple(variable.model_dump() for variable in new.variables),
        inputs=new.inputs,
    )
    pipeline_id = await create_pipeline(services, request, repository)
    return await full(services, pipeline_id, project.row)


@router.post("/pipelines/{pipeline_id}/cancel", response_model=AskedPipelineResponse, responses=KEPT)
async def cancel_pipeline(pipeline_id: Id, found: PipelineDep, services: ServicesDep) -> JSONResponse:
    """Cancel every job that has not ended."""
    return await _ask(services, found, pipeline_id, "cancel_pipeline", 200)


@router.post("/pipelines/{pipeline_id}/retry", status_code=201, response_model=AskedPipelineResponse, responses=KEPT)
async def retry_pipeline(pipeline_id: Id, found: PipelineDep, services: ServicesDep) -> JSONResponse:
    """Run every failed or canceled job again."""
    return await _ask(services, found, pipeline_id, "retry_pipeline", 201)


@router.delete("/pipelines/{pipeline_id}", status_code=204)
async def delete_pipeline(found: PipelineDep, services: ServicesDep) -> None:
    """Remove a pipeline that has ended, with its jobs, logs and artifacts; its owners may. 409 while it has not."""
    found.project.require(Action.OWN)
    await removal.remove(services, found.project, found.row)


async def _ask(services: Services, found: PipelineDep, pipeline_id: int, name: str, status: int) -> JSONResponse:
    found.project.require_run_of(found.row)

    async def present(_answer: Answer) -> PipelineDetailsResponse:
        return await full(services, pipeline_id, found.project.row)

    caller_id = found.project.caller.user_id
    return await answer_with(services, pipeline_id, name, Operation(), caller_id, present, status)
