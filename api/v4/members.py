"""Members of a project."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from api.deps import ServicesDep
from api.v4.access import ProjectDep
from api.v4.pagination import PagingDep
from api.v4.parameters import given
from api.v4.representation.people import member as shown
from auth.permissions import Action
from domain.errors import Forbidden, Refused
from models.repositories import accounts, projects
from models.repositories.listings import members, user
from models.repositories.paging import slice_of

router = APIRouter(prefix="/projects/{project}/members")


class NewMember(BaseModel):
    """Parameters of `POST /projects/:id/members`."""

    user_id: int = Field(ge=1, le=2**53)
    access_level: Literal[10, 20, 30, 40, 50]


@router.get("")
@router.get("/all")
async def list_members(project: ProjectDep, services: ServicesDep, paging: PagingDep) -> JSONResponse:
    """The people of a project with their access levels."""
    async with services.database.read() as connection:
        found = await slice_of(connection, members(project.row.id), paging.number, paging.size)
    return paging.answer([shown(row, services.settings.url) for row in found.rows], found.total)


@router.post("", status_code=201)
async def add_member(
    new: Annotated[NewMember, Depends(given(NewMember))], project: ProjectDep, services: ServicesDep
) -> dict[str, Any]:
    """Give a person an access level, at most one's own. Answers 409 for a person who is a member already."""
    project.require(Action.ADMINISTER)
    if new.access_level > project.level:
        raise Forbidden(f"403 Forbidden: nobody can give a higher access level than his own ({project.level}).")
    async with services.database.write() as connection:
        person = await accounts.get(connection, new.user_id)
        if await projects.member_level(connection, project.row.id, person.id):
            raise Refused("Member already exists")
        await projects.add_member(connection, project.row.id, person.id, new.access_level)
        statement = members(project.row.id).where(user.c.id == person.id)
        row = (await connection.execute(statement)).one()
    return shown(row, services.settings.url)
