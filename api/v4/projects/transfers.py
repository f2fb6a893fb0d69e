"""Projects that move into another group; the path they had leads to them, also for jobs that run."""

from typing import Annotated

from fastapi import Depends
from pydantic import BaseModel

from api.deps import ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.access import Id, ProjectDep
from api.v4.namespaces.groups import GroupDep, group_by
from api.v4.parameters import given
from api.v4.projects.projects import project_document
from api.v4.representation.groups import GroupResponse
from api.v4.representation.groups import group as shown_group
from api.v4.representation.projects import ProjectResponse
from application.access import ProjectAccess, access_to
from application.audit import record
from application.group_access import GroupAccess
from application.projects.creation import require_project_creation
from auth.permissions import Action, require_admin
from domain.errors import Invalid
from models.notifications import RUNNERS
from models.repositories.installation.audit import Happened
from models.repositories.projects import projects

router = RouteList()


class Transfer(BaseModel):
    """Parameters of `PUT /projects/:id/transfer`: the group, by id or full path."""

    namespace: int | str


@router.put("/projects/{project}/transfer")
async def transfer_project(
    wanted: Annotated[Transfer, Depends(given(Transfer))], project: ProjectDep, services: ServicesDep
) -> ProjectResponse:
    """Move a project into another group; its owners may, if they may create projects there.

    GitLab: "Projects API", "Transfer a project". Both lie in one organisation: one lives in one pod, and the runners
    and the tokens of its jobs are its own.
    """
    project.require(Action.OWN)
    target = await group_by(services, project.caller, str(wanted.namespace))
    await require_project_creation(services, target)
    await _move(services, project, target)
    async with services.database.read() as connection:
        return await project_document(connection, services, project)


@router.post("/groups/{group}/projects/{moved_project}", status_code=201)
async def take_project(moved_project: Id, found: GroupDep, services: ServicesDep) -> GroupResponse:
    """Move a project into this group; administrators may. Answers with the group."""
    require_admin(found.caller)
    await _move(services, await access_to(services, found.caller, moved_project), found)
    return shown_group(found.row, services.settings.url)


async def _move(services: Services, project: ProjectAccess, target: GroupAccess) -> None:
    row, owner = project.row, target.row
    if row.namespace_id == owner.id:
        raise Invalid("Failed to transfer project: Project is already in this namespace.")
    if row.organisation_id != owner.organisation_id:
        raise Invalid(
            f"Failed to transfer project: {owner.full_path} belongs to another organisation than {row.full_path}, with"
            " runners and tokens of its own; make the project there and push to it."
        )
    async with services.database.write() as connection:
        await projects.move(connection, row, owner)
        facts = {"from": row.full_path, "to": f"{owner.full_path}/{row.path}"}
        await record(
            connection, project.caller, project.entity, Happened("project_transferred", facts), services.clock()
        )
    await services.notifications.tell(RUNNERS)
