"""Protected branches and tags of a project, under GitLab's addresses and shapes."""

from typing import Annotated, Final, Literal

from fastapi import Depends, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.routes import RouteList
from api.v4.access import ProjectDep
from api.v4.encoded_paths import decoded
from api.v4.pagination import PagingDep
from api.v4.parameters import given
from api.v4.without_effect import PROTECTED_BRANCH, PROTECTED_TAG
from application.audit import record
from auth.permissions import Action
from models.repositories.installation.audit import Happened
from models.repositories.paging import slice_of
from models.repositories.projects import protected_refs
from models.rows.protected_refs import ProtectedBranchRow, ProtectedTagRow

router = RouteList(prefix="/projects/{project}")

Level = Literal[0, 30, 40, 60]
_WORDS: Final = {0: "No one", 30: "Developers + Maintainers", 40: "Maintainers", 60: "Administrators"}
_MAINTAINERS: Final = 40


class NewProtectedBranch(BaseModel):
    """Parameters of `POST .../protected_branches`; a name may hold `*`. Level 0 is nobody."""

    name: str = Field(min_length=1, max_length=255)
    push_access_level: Level = _MAINTAINERS
    merge_access_level: Level = _MAINTAINERS
    allow_force_push: bool = False


class BranchChange(BaseModel):
    """Parameters of `PATCH .../protected_branches/:name`."""

    push_access_level: Level | None = None
    merge_access_level: Level | None = None
    allow_force_push: bool | None = None


class TagChange(BaseModel):
    """Parameters of `PATCH .../protected_tags/:name`."""

    create_access_level: Level | None = None


class NewProtectedTag(BaseModel):
    """Parameters of `POST .../protected_tags`."""

    name: str = Field(min_length=1, max_length=255)
    create_access_level: Level = _MAINTAINERS


class RefLevelResponse(TypedDict):
    """From which access level on something may be done; rules here name no single people, groups or keys."""

    id: int
    access_level: int
    access_level_description: str
    deploy_key_id: int | None
    user_id: int | None
    group_id: int | None


class ProtectedBranchResponse(TypedDict):
    """A protected branch, or all whose names fit a pattern."""

    id: int
    name: str
    push_access_levels: list[RefLevelResponse]
    merge_access_levels: list[RefLevelResponse]
    unprotect_access_levels: list[RefLevelResponse]
    allow_force_push: bool
    code_owner_approval_required: bool
    inherited: bool


class ProtectedTagResponse(TypedDict):
    """A protected tag, or all whose names fit a pattern."""

    name: str
    create_access_levels: list[RefLevelResponse]


def _levels(level: int) -> list[RefLevelResponse]:
    return [
        {
            "id": level,
            "access_level": level,
            "access_level_description": _WORDS[level],
            "deploy_key_id": None,
            "user_id": None,
            "group_id": None,
        }
    ]


def branch(row: ProtectedBranchRow) -> ProtectedBranchResponse:
    """A protected branch as GitLab's JSON."""
    return {
        "id": row.id,
        "name": row.name,
        "push_access_levels": _levels(row.push_level),
        "merge_access_levels": _levels(row.merge_level),
        "unprotect_access_levels": _levels(_MAINTAINERS),
        "allow_force_push": row.allow_force_push,
        "code_owner_approval_required": False,
        "inherited": False,
    }


def tag(row: ProtectedTagRow) -> ProtectedTagResponse:
    """A protected tag as GitLab's JSON."""
    return {"name": row.name, "create_access_levels": _levels(row.create_level)}


@router.get("/protected_branches", response_model=list[ProtectedBranchResponse])
async def list_protected_branches(
    project: ProjectDep, services: ServicesDep, paging: PagingDep, search: str = ""
) -> JSONResponse:
    """The protected branches of a project."""
    project.require(Action.INSPECT)
    statement = protected_refs.branches_of(project.row.id, search)
    async with services.database.read() as connection:
        found = await slice_of(connection, statement, paging.number, paging.size)
    return paging.response([branch(row) for row in found.rows], found.total)


@router.get("/protected_branches/{name}")
async def get_protected_branch(name: str, project: ProjectDep, services: ServicesDep) -> ProtectedBranchResponse:
    """One protected branch, by its exact name or pattern."""
    project.require(Action.INSPECT)
    async with services.database.read() as connection:
        return branch(await protected_refs.get(connection, project.row.id, decoded(name), is_tag=False))


@router.post("/protected_branches", status_code=201)
async def protect_branch(
    new: Annotated[NewProtectedBranch, Depends(given(NewProtectedBranch, without_effect=PROTECTED_BRANCH))],
    project: ProjectDep,
    services: ServicesDep,
) -> ProtectedBranchResponse:
    """Protect a branch, or those that fit a name with `*`; maintainers may. Answers 409 for one that is."""
    project.require(Action.ADMINISTER)
    levels = {"push_level": new.push_access_level, "merge_level": new.merge_access_level}
    now = services.clock()
    async with services.database.write() as connection:
        await protected_refs.protect_branch(
            connection, project.row.id, new.name, now, **levels, allow_force_push=new.allow_force_push
        )
        happened = Happened("branch_protected", {"name": new.name, **levels})
        await record(connection, project.caller, project.entity, happened, now)
        return branch(await protected_refs.get(connection, project.row.id, new.name, is_tag=False))


@router.patch("/protected_branches/{name}")
async def change_protected_branch(
    name: str,
    change: Annotated[BranchChange, Depends(given(BranchChange, without_effect=PROTECTED_BRANCH))],
    project: ProjectDep,
    services: ServicesDep,
) -> ProtectedBranchResponse:
    """Change who may push to and merge into a protected branch; maintainers may."""
    project.require(Action.ADMINISTER)
    wanted = {
        "push_level": change.push_access_level,
        "merge_level": change.merge_access_level,
        "allow_force_push": change.allow_force_push,
    }
    values = {key: value for key, value in wanted.items() if value is not None}
    async with services.database.write() as connection:
        row = await protected_refs.get(connection, project.row.id, decoded(name), is_tag=False)
        await protected_refs.change_branch(connection, row.id, **values)
        happened = Happened("branch_protection_changed", {"name": row.name, **values})
        await record(connection, project.caller, project.entity, happened, services.clock())
        return branch(await protected_refs.get(connection, project.row.id, row.name, is_tag=False))


@router.delete("/protected_branches/{name}", status_code=204)
async def unprotect_branch(name: str, project: ProjectDep, services: ServicesDep) -> Response:
    """Protect a branch no more; maintainers may."""
    return await _remove(name, project, services, is_tag=False)


@router.get("/protected_tags", response_model=list[ProtectedTagResponse])
async def list_protected_tags(project: ProjectDep, services: ServicesDep, paging: PagingDep) -> JSONResponse:
    """The protected tags of a project."""
    project.require(Action.INSPECT)
    async with services.database.read() as connection:
        statement = protected_refs.tags_of(project.row.id)
        found = await slice_of(connection, statement, paging.number, paging.size)
    return paging.response([tag(row) for row in found.rows], found.total)


@router.get("/protected_tags/{name}")
async def get_protected_tag(name: str, project: ProjectDep, services: ServicesDep) -> ProtectedTagResponse:
    """One protected tag, by its exact name or pattern."""
    project.require(Action.INSPECT)
    async with services.database.read() as connection:
        return tag(await protected_refs.get(connection, project.row.id, decoded(name), is_tag=True))


@router.post("/protected_tags", status_code=201)
async def protect_tag(
    new: Annotated[NewProtectedTag, Depends(given(NewProtectedTag, without_effect=PROTECTED_TAG))],
    project: ProjectDep,
    services: ServicesDep,
) -> ProtectedTagResponse:
    """Protect a tag, or those that fit a name with `*`; maintainers may."""
    project.require(Action.ADMINISTER)
    level, now = new.create_access_level, services.clock()
    async with services.database.write() as connection:
        await protected_refs.protect_tag(connection, project.row.id, new.name, now, create_level=level)
        happened = Happened("tag_protected", {"name": new.name, "create_level": level})
        await record(connection, project.caller, project.entity, happened, now)
        return tag(await protected_refs.get(connection, project.row.id, new.name, is_tag=True))


@router.patch("/protected_tags/{name}")
async def change_protected_tag(
    name: str,
    change: Annotated[TagChange, Depends(given(TagChange, without_effect=PROTECTED_TAG))],
    project: ProjectDep,
    services: ServicesDep,
) -> ProtectedTagResponse:
    """Change who may create a protected tag; maintainers may.

    Our own: in GitLab a rule is removed and made anew, and the tag is open to everybody in between.
    """
    project.require(Action.ADMINISTER)
    level = change.create_access_level
    async with services.database.write() as connection:
        row = await protected_refs.get(connection, project.row.id, decoded(name), is_tag=True)
        if level is not None:
            await protected_refs.change_tag(connection, row.id, create_level=level)
            happened = Happened("tag_protection_changed", {"name": row.name, "create_level": level})
            await record(connection, project.caller, project.entity, happened, services.clock())
        return tag(await protected_refs.get(connection, project.row.id, row.name, is_tag=True))


@router.delete("/protected_tags/{name}", status_code=204)
async def unprotect_tag(name: str, project: ProjectDep, services: ServicesDep) -> Response:
    """Protect a tag no more; maintainers may."""
    return await _remove(name, project, services, is_tag=True)


async def _remove(name: str, project: ProjectDep, services: ServicesDep, *, is_tag: bool) -> Response:
    project.require(Action.ADMINISTER)
    async with services.database.write() as connection:
        row = await protected_refs.get(connection, project.row.id, decoded(name), is_tag=is_tag)
        await protected_refs.remove(connection, [row.id], is_tag=is_tag)
        happened = Happened("tag_unprotected" if is_tag else "branch_unprotected", {"name": row.name})
        await record(connection, project.caller, project.entity, happened, services.clock())
    return Response(status_code=204)
