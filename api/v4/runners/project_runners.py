"""The runners of a project: those that may take its jobs, and the links of project runners."""

from typing import Annotated

from fastapi import Depends, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from api.deps import ServicesDep
from api.routes import RouteList
from api.v4.access import Id, ProjectDep
from api.v4.pagination import PagingDep
from api.v4.parameters import given
from api.v4.representation.runners import (
    ListedRunnerResponse,
    RunnerResponse,
    RunnerTokenResponse,
    issued_token,
    runner,
)
from api.v4.runners.access import access_to_runner
from api.v4.runners.lists import RunnerListDep, listed
from application.runners.registration_tokens import renewed
from auth.permissions import Action, RunnerAction
from domain.errors import Forbidden, Invalid, NotFound
from domain.runners.matching import RunnerType
from domain.runners.status import Holds
from models.notifications import RUNNERS
from models.repositories import database_time
from models.repositories.runners import runner_listings, runners
from models.repositories.runners.registration_tokens import RunnerScope
from models.rows.projects import ProjectRow
from models.rows.runners import RunnerRow

router = RouteList(prefix="/projects/{project}/runners")


class NewLink(BaseModel):
    """Parameters of `POST /projects/:id/runners`."""

    runner_id: int = Field(ge=1, le=2**53)


@router.get("", response_model=list[ListedRunnerResponse])
async def list_project_runners(
    project: ProjectDep, services: ServicesDep, paging: PagingDep, wishes: RunnerListDep
) -> JSONResponse:
    """The runners that may take jobs of the project: linked ones, those of its organisation and of the instance."""
    project.require(Action.ADMINISTER)
    return await listed(services, paging, runner_listings.of_project(project.row), wishes)


@router.post("", status_code=201)
async def link_runner(
    new: Annotated[NewLink, Depends(given(NewLink))], project: ProjectDep, services: ServicesDep
) -> RunnerResponse:
    """Let a project runner of the same organisation take jobs of this project, too."""
    project.require(Action.ADMINISTER)
    found = await access_to_runner(services, project.caller, new.runner_id)
    found.require(RunnerAction.CHANGE)
    async with services.database.write() as connection:
        row = await runners.held(connection, new.runner_id)
        if row is None:
            raise NotFound("Runner Not Found")
        _check_link(row, project.row)
        if project.row.id in {item.id for item in await runners.projects_of(connection, row.id)}:
            raise Invalid("Bad request: the runner is linked to this project already.")
        await runners.link(connection, row.id, project.row.id)
        ticks = services.settings.times.ticks_until_unresponsive
        holding = await runner_listings.holding(connection, [row.id], ticks)
        now = await database_time.moment(connection)
    await services.notifications.tell(RUNNERS)
    return runner(row, now, holding.get(row.id, Holds.NOTHING))


def _check_link(row: RunnerRow, project: ProjectRow) -> None:
    """Raise `Forbidden` for a runner that cannot be linked (R0.11: nothing is shared across organisations)."""
    if row.runner_type != RunnerType.PROJECT:
        raise Forbidden(
            f"Forbidden: runner {row.id} is a runner of type {row.runner_type}; only project runners are linked."
        )
    if row.organisation_id != project.organisation_id:
        raise Forbidden(f"Forbidden: runner {row.id} belongs to another organisation; add one to this project's.")
    if row.locked:
        raise Forbidden("Forbidden: Runner is locked; unlock it to link it to further projects.")


@router.delete("/{runner_id}", status_code=204)
async def unlink_runner(runner_id: Id, project: ProjectDep, services: ServicesDep) -> Response:
    """Let a project runner take no more jobs of this project; it must have another one."""
    project.require(Action.ADMINISTER)
    async with services.database.write() as connection:
        await runners.held(connection, runner_id)
        linked = {item.id for item in await runners.projects_of(connection, runner_id)}
        if project.row.id not in linked:
            raise NotFound("Runner Not Found")
        if len(linked) == 1:
            raise Forbidden("Forbidden: Only one project associated with the runner. Please remove the runner instead")
        await runners.unlink(connection, runner_id, project.row.id)
    await services.notifications.tell(RUNNERS)
    return Response(status_code=204)


@router.post("/reset_registration_token", status_code=201)
async def reset_registration_token(project: ProjectDep, services: ServicesDep) -> RunnerTokenResponse:
    """A new token with which runners of this project register."""
    project.require(Action.ADMINISTER)
    scope = RunnerScope(RunnerType.PROJECT, project.row.organisation_id, project.row.id)
    return issued_token(await renewed(services, scope))
