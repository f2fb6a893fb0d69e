"""CI/CD variables of projects, of groups and of the instance, under GitLab's addresses and shapes."""

from typing import Annotated, Literal, Self

from fastapi import Depends, Query, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field, field_validator, model_validator
from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.owned_routes import mounted, of_owner
from api.v4.owner_access import OwnerAccess, of_group, of_instance, of_project
from api.v4.pagination import PagingDep
from api.v4.parameters import given
from application.audit import record
from auth.permissions import Action, GroupAction
from domain.errors import FieldsInvalid
from domain.variables.ci_variables import EVERYWHERE, KEY, MAX_VALUE, cannot_be_masked
from models.repositories.installation.audit import Happened
from models.repositories.paging import slice_of
from models.repositories.projects import ci_variables
from models.rows.variables import CiVariableRow

Kind = Literal["env_var", "file"]


class NewCiVariable(BaseModel):
    """Parameters of `POST .../variables`. A hidden one is masked, and never shown again."""

    key: str
    value: str = Field(max_length=MAX_VALUE)
    variable_type: Kind = "env_var"
    protected: bool = False
    masked: bool = False
    masked_and_hidden: bool = False
    raw: bool = False
    environment_scope: str = Field(default=EVERYWHERE, min_length=1, max_length=255)
    description: str | None = Field(default="", max_length=255)

    @field_validator("key")
    @classmethod
    def _is_name(cls, value: str) -> str:
        if KEY.fullmatch(value) is None:
            raise ValueError("can contain only letters, digits and '_', 255 at most")
        return value

    @model_validator(mode="after")
    def _can_be_masked(self) -> Self:
        fault = cannot_be_masked(self.value) if self.masked or self.masked_and_hidden else ""
        if fault:
            raise FieldsInvalid(value=fault)
        return self


class VariableChanges(BaseModel):
    """Parameters of `PUT .../variables/:key`; what is not given stays as it is."""

    value: str | None = Field(default=None, max_length=MAX_VALUE)
    variable_type: Kind | None = None
    protected: bool | None = None
    masked: bool | None = None
    raw: bool | None = None
    environment_scope: str | None = Field(default=None, min_length=1, max_length=255)
    description: str | None = Field(default=None, max_length=255)
    filter: dict[str, str] = {}


class CiVariableResponse(TypedDict):
    """A CI/CD variable; a hidden one without its value."""

    variable_type: str
    key: str
    value: str | None
    hidden: bool
    protected: bool
    masked: bool
    raw: bool
    environment_scope: str
    description: str | None


def _shown(services: Services, row: CiVariableRow) -> CiVariableResponse:
    value = None if row.hidden else services.sealer.open(row.value, ci_variables.purpose_of(ci_variables.owner_of(row)))
    return {
        "variable_type": row.variable_type,
        "key": row.key,
        "value": value,
        "hidden": row.hidden,
        "protected": row.protected,
        "masked": row.masked,
        "raw": row.raw,
        "environment_scope": row.environment_scope,
        "description": row.description or None,
    }


ScopeDep = Annotated[str | None, Query(alias="filter[environment_scope]")]


def _require_maskable(services: Services, row: CiVariableRow, changes: VariableChanges) -> None:
    if row.hidden and changes.masked is False:
        raise FieldsInvalid(masked="is invalid: a hidden variable stays masked")
    value = changes.value
    if value is None:
        value = services.sealer.open(row.value, ci_variables.purpose_of(ci_variables.owner_of(row)))
    if fault := cannot_be_masked(value):
        raise FieldsInvalid(value=fault)


routes = RouteList()
"""The same five calls for the variables of one kind of owner."""


@routes.get("", response_model=list[CiVariableResponse])
async def list_variables(
    services: ServicesDep, paging: PagingDep, found: OwnerAccess = Depends(of_owner)
) -> JSONResponse:
    """The variables, by key; hidden ones without their values."""
    async with services.database.read() as connection:
        page = await slice_of(connection, ci_variables.of_owner(found.owner), paging.number, paging.size)
    return paging.response([_shown(services, row) for row in page.rows], page.total)


@routes.get("/{key}")
async def get_variable(
    key: str, services: ServicesDep, scope: ScopeDep = None, found: OwnerAccess = Depends(of_owner)
) -> CiVariableResponse:
    """One variable; where several have the key, `filter[environment_scope]` says which."""
    async with services.database.read() as connection:
        return _shown(services, await ci_variables.find(connection, found.owner, key, scope))


@routes.post("", status_code=201)
async def add_variable(
    new: Annotated[NewCiVariable, Depends(given(NewCiVariable))],
    services: ServicesDep,
    found: OwnerAccess = Depends(of_owner),
) -> CiVariableResponse:
    """Add a variable; its value is kept sealed."""
    values = {
        "key": new.key,
        "value": services.sealer.seal(new.value, ci_variables.purpose_of(found.owner)),
        "variable_type": new.variable_type,
        "protected": new.protected,
        "masked": new.masked or new.masked_and_hidden,
        "hidden": new.masked_and_hidden,
        "raw": new.raw,
        "environment_scope": new.environment_scope,
        "description": new.description or "",
    }
    now = services.clock()
    async with services.database.write() as connection:
        key = await ci_variables.add(connection, found.owner, now, **values)
        happened = Happened("variable_added", {"key": new.key, "environment_scope": new.environment_scope})
        await record(connection, found.caller, found.entity, happened, now)
        return _shown(services, await ci_variables.get(connection, key))


@routes.put("/{key}")
async def change_variable(
    key: str,
    changes: Annotated[VariableChanges, Depends(given(VariableChanges))],
    services: ServicesDep,
    found: OwnerAccess = Depends(of_owner),
) -> CiVariableResponse:
    """Change a variable."""
    now, scope = services.clock(), changes.filter.get("environment_scope")
    values = changes.model_dump(exclude_none=True, exclude={"filter"})
    async with services.database.write() as connection:
        row = await ci_variables.find(connection, found.owner, key, scope)
        if values.get("masked", row.masked):
            _require_maskable(services, row, changes)
        if changes.value is not None:
            values["value"] = services.sealer.seal(changes.value, ci_variables.purpose_of(found.owner))
        await ci_variables.change(connection, row, now, **values)
        details = {"key": key, "environment_scope": row.environment_scope, "changed": sorted(values)}
        await record(connection, found.caller, found.entity, Happened("variable_changed", details), now)
        return _shown(services, await ci_variables.get(connection, row.id))


@routes.delete("/{key}", status_code=204)
async def remove_variable(
    key: str, services: ServicesDep, scope: ScopeDep = None, found: OwnerAccess = Depends(of_owner)
) -> Response:
    """Remove a variable."""
    async with services.database.write() as connection:
        row = await ci_variables.find(connection, found.owner, key, scope)
        await ci_variables.remove(connection, row.id)
        happened = Happened("variable_removed", {"key": key, "environment_scope": row.environment_scope})
        await record(connection, found.caller, found.entity, happened, services.clock())
    return Response(status_code=204)


router = RouteList()
router.include(mounted(routes, "/projects/{project}/variables", {of_owner: of_project(Action.ADMINISTER)}))
router.include(mounted(routes, "/groups/{group}/variables", {of_owner: of_group(GroupAction.ADMINISTER_CI)}))
router.include(mounted(routes, "/admin/ci/variables", {of_owner: of_instance}))
