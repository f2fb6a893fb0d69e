"""Results of a commit: reported by systems outside, listed together with the jobs of its pipelines."""

from collections.abc import Sequence
from typing import Annotated, Final, Literal

from fastapi import Depends, Query
from fastapi.responses import JSONResponse
from pydantic import Field
from sqlalchemy.ext.asyncio import AsyncConnection

from api.deps import ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.pagination import PagingDep
from api.v4.parameters import Optionals, given
from api.v4.repositories.access import CommitDep, RepositoryAccess, RepositoryDep
from api.v4.representation.commit_statuses import CommitStatusResponse, of_job, reported
from auth.permissions import Action
from domain.errors import NotFound
from domain.projects.commit_status import State
from domain.projects.ref_names import TAGS, short_name
from git.reading.ref_listing import refs_with
from git.reading.ref_presence import has_ref
from models.repositories.paging import slice_of
from models.repositories.pipelines import commit_statuses, jobs, pipelines
from models.repositories.pipelines.commit_statuses import JOB, Report, StatusFilter
from models.repositories.projects import relations
from models.repositories.projects.listings import PipelineFilter, latest_pipeline
from models.rows.commit_statuses import CommitStatusRow
from models.rows.pipelines import JobFacts, PipelineRow

router = RouteList(prefix="/projects/{project}")

_MAX_LENGTH: Final = 255
_DEFAULT_NAME: Final = "default"


class StatusGiven(Optionals):
    """Parameters of `POST /projects/:id/statuses/:sha`; `context` is another word for `name`."""

    state: State
    ref: str = Field(default="", max_length=_MAX_LENGTH)
    name: str = Field(default="", max_length=_MAX_LENGTH)
    context: str = Field(default="", max_length=_MAX_LENGTH)
    target_url: str | None = Field(default=None, max_length=_MAX_LENGTH, pattern=r"^https?://")
    description: str | None = Field(default=None, max_length=_MAX_LENGTH)
    coverage: float | None = Field(default=None, ge=0, le=100)
    pipeline_id: int | None = Field(default=None, ge=1, le=2**53)


@router.post("/statuses/{sha}", status_code=201)
async def report_status(
    new: Annotated[StatusGiven, Depends(given(StatusGiven))],
    commit: CommitDep,
    repository: RepositoryDep,
    services: ServicesDep,
) -> CommitStatusResponse:
    """Report a result for a commit. The same name again changes the result, or begins the next one if it has ended.

    Of a protected ref, whoever may run pipelines on it, as in GitLab.
    """
    repository.project.require(Action.RUN)
    async with services.database.read() as connection:
        ref, pipeline = await _place(connection, repository, commit, new)
    if pipeline is None:
        repository.project.require_run(ref, tag=await has_ref(repository.git.path, f"{TAGS}{ref}"))
    else:
        repository.project.require_run_of(pipeline)
    report = Report(
        project_id=repository.row.id,
        user_id=repository.project.caller.user_id,
        sha=commit,
        ref=ref,
        name=new.name or new.context or _DEFAULT_NAME,
        state=new.state,
        pipeline_id=None if pipeline is None else pipeline.id,
        target_url=new.target_url,
        description=new.description,
        coverage=new.coverage,
    )
    async with services.database.write() as connection:
        row = await commit_statuses.take(connection, report, services.clock())
        users = await relations.users(connection, [row.user_id])
    return reported(row, users.get(row.user_id), services.settings.url)


async def _place(
    connection: AsyncConnection, repository: RepositoryAccess, sha: str, new: StatusGiven
) -> tuple[str, PipelineRow | None]:
    """Ref and pipeline of a result: those given, else those of the commit's newest pipeline, else a branch alone.

    Raises `NotFound` for a pipeline of another commit, and for a commit that no branch holds.
    """
    short = short_name(new.ref)
    wanted = PipelineFilter({"sha": sha} | ({"ref": short} if short else {}))
    if new.pipeline_id is not None:
        row = await pipelines.get(connection, new.pipeline_id, repository.row.id)
        if row.sha != sha or (short and row.ref != short):
            raise NotFound("Pipeline for pipeline_id, sha and ref Not Found")
        return row.ref, row
    newest = await latest_pipeline(connection, repository.row.id, wanted)
    if newest is not None:
        return newest.ref, newest
    names = [short] if short else await refs_with(repository.git, sha, "refs/heads")
    if not names:
        raise NotFound("References for commit Not Found")
    return names[0], None


@router.get("/repository/commits/{sha}/statuses", response_model=list[CommitStatusResponse])
async def list_statuses(
    commit: CommitDep,
    repository: RepositoryDep,
    services: ServicesDep,
    paging: PagingDep,
    ref: str = "",
    stage: str = "",
    name: str = "",
    all: bool = False,  # noqa: A002  (GitLab's name)
    pipeline_id: Annotated[int | None, Query(ge=1, le=2**53)] = None,
    order_by: Literal["id", "pipeline_id"] = "id",
    sort: Literal["asc", "desc"] = "asc",
) -> JSONResponse:
    """The results of a commit, the first one first: jobs of its pipelines, and what others reported."""
    wanted = StatusFilter(ref, stage, name, pipeline_id, all, order_by, sort == "asc")
    async with services.database.read() as connection:
        statement = commit_statuses.of_commit(repository.row.id, commit, wanted)
        page = await slice_of(connection, statement, paging.number, paging.size)
        items = await _shown(services, connection, repository, [(row.kind, row.id) for row in page.rows])
    return paging.response(items, page.total)


async def _shown(
    services: Services, connection: AsyncConnection, repository: RepositoryAccess, listed: Sequence[tuple[str, int]]
) -> list[CommitStatusResponse]:
    """Results by kind and id."""
    of_ours = await jobs.by_ids(connection, (key for kind, key in listed if kind == JOB))
    of_others = await commit_statuses.by_ids(connection, [key for kind, key in listed if kind != JOB])
    everything: list[JobFacts | CommitStatusRow] = [*of_ours.values(), *of_others.values()]
    users = await relations.users(connection, (row.user_id for row in everything))
    around = await relations.of_jobs(
        connection, list(of_ours.values()), services.settings.times.ticks_until_unresponsive
    )
    url = services.settings.url
    items = []
    for kind, key in listed:
        if kind == JOB:
            one = of_ours[key]
            pipeline = around.pipelines[one.pipeline_id]
            items.append(of_job(one, pipeline, users.get(one.user_id), repository.path, url))
        else:
            items.append(reported(of_others[key], users.get(of_others[key].user_id), url))
    return items
