"""Deploy tokens of projects and groups, under GitLab's addresses and shapes: they fetch code, and pull and push images.

Source: GitLab: "Deploy tokens API"; "Deploy tokens" for the scopes and for the one that jobs are given.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final, NotRequired

from fastapi import Depends, Response
from fastapi.responses import JSONResponse
from pydantic import Field, field_validator
from typing_extensions import TypedDict

from api.deps import CallerDep, ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.access import Id
from api.v4.owned_routes import mounted, of_owner, of_owner_to_change
from api.v4.owner_access import OwnerAccess, of_group, of_project
from api.v4.pagination import PagingDep
from api.v4.parameters import Optionals, given
from application.accounts.deploy_token_access import OF_JOBS, purpose_of
from application.accounts.token_chains import maker_of
from application.audit import record
from auth.permissions import Action, GroupAction, require_admin
from auth.routable_token import deploy_token
from auth.scopes import OF_DEPLOYMENT, checked_scopes
from auth.secret_token import digest
from domain.errors import FieldsInvalid
from domain.moments import moment
from models.repositories.installation.audit import Happened
from models.repositories.namespaces import deploy_tokens
from models.repositories.owner import Owner
from models.repositories.paging import slice_of
from models.rows.deploy_tokens import DeployTokenRow


class NewDeployToken(Optionals):
    """Parameters of `POST .../deploy_tokens`."""

    name: str = Field(min_length=1, max_length=255)
    username: str = Field(default="", max_length=255, pattern=r"^[A-Za-z0-9_.+-]*$")
    scopes: list[str] = Field(max_length=20)
    expires_at: datetime | None = None

    @field_validator("expires_at")
    @classmethod
    def _has_zone(cls, value: datetime | None) -> datetime | None:
        return value if value is None or value.tzinfo is not None else value.replace(tzinfo=UTC)


class DeployTokenResponse(TypedDict):
    """A token; it is itself in the one response that shows it."""

    id: int
    name: str
    username: str
    expires_at: str | None
    scopes: Sequence[str]
    revoked: bool
    expired: bool
    token: NotRequired[str]


def _shown(row: DeployTokenRow, now: datetime, *, plain: str = "") -> DeployTokenResponse:
    """A token as GitLab's JSON; `plain` is the token itself, in the one response that shows it."""
    document: DeployTokenResponse = {
        "id": row.id,
        "name": row.name,
        "username": row.username,
        "expires_at": moment(row.expires_at),
        "scopes": row.scopes,
        "revoked": row.revoked_at is not None,
        "expired": row.expires_at is not None and row.expires_at <= now,
    }
    if plain:
        document["token"] = plain
    return document


async def _listed(services: Services, paging: PagingDep, owner: Owner, active: bool | None) -> JSONResponse:
    now = services.clock()
    async with services.database.read() as connection:
        statement = deploy_tokens.of_owner(owner, now, active=active)
        found = await slice_of(connection, statement, paging.number, paging.size)
    return paging.response([_shown(row, now) for row in found.rows], found.total)


def _new_token(services: Services, found: OwnerAccess) -> str:
    of = {"project_id": found.owner.project_id or 0, "group_id": found.owner.namespace_id or 0}
    return deploy_token(services.settings.pod_number, found.organisation_id, **of)


def _values(services: Services, owner: Owner, new: NewDeployToken, plain: str) -> dict[str, Any]:
    """What is kept of a new token. Raises `Invalid`."""
    if new.expires_at is not None and new.expires_at <= services.clock():
        raise FieldsInvalid(expires_at="is invalid: must be a time to come")
    is_of_jobs = new.name == OF_JOBS and owner.project_id is not None
    return {
        "name": new.name,
        "username": new.username,
        "scopes": checked_scopes(new.scopes, OF_DEPLOYMENT),
        "token_hash": digest(plain),
        "names_pod": True,
        "sealed": services.sealer.seal(plain, purpose_of(owner.project_id)) if is_of_jobs else "",
    }


routes = RouteList()
"""The same calls for the tokens of one kind of owner."""


@routes.get("", response_model=list[DeployTokenResponse])
async def list_deploy_tokens(
    services: ServicesDep,
    paging: PagingDep,
    active: bool | None = None,
    found: OwnerAccess = Depends(of_owner),
) -> JSONResponse:
    """The deploy tokens; `active` tells those that are good now from the others."""
    return await _listed(services, paging, found.owner, active)


@routes.get("/{token_id}")
async def get_deploy_token(
    token_id: Id, services: ServicesDep, found: OwnerAccess = Depends(of_owner)
) -> DeployTokenResponse:
    """One deploy token."""
    async with services.database.read() as connection:
        row = await deploy_tokens.get(connection, found.owner, token_id)
    return _shown(row, services.clock())


@routes.post("", status_code=201)
async def create_deploy_token(
    new: Annotated[NewDeployToken, Depends(given(NewDeployToken))],
    services: ServicesDep,
    found: OwnerAccess = Depends(of_owner_to_change),
) -> DeployTokenResponse:
    """Make a deploy token; it is shown only in this response."""
    now, plain = services.clock(), _new_token(services, found)
    values = _values(services, found.owner, new, plain)
    async with services.database.write() as connection:
        maker = await maker_of(connection, found.caller)
        values |= {"expires_at": maker.last_moment(new.expires_at), "maker_id": maker.id}
        row = await deploy_tokens.add(connection, found.owner, now, **values)
        happened = Happened("deploy_token_created", {"id": row.id, "name": row.name, "scopes": row.scopes})
        await record(connection, found.caller, found.entity, happened, now)
    return _shown(row, now, plain=plain)


@routes.delete("/{token_id}", status_code=204)
async def revoke_deploy_token(
    token_id: Id, services: ServicesDep, found: OwnerAccess = Depends(of_owner_to_change)
) -> Response:
    """Revoke a deploy token: it opens nothing from now on."""
    now = services.clock()
    async with services.database.write() as connection:
        row = await deploy_tokens.get(connection, found.owner, token_id)
        await deploy_tokens.revoke(connection, row.id, now)
        happened = Happened("deploy_token_revoked", {"id": row.id, "name": row.name})
        await record(connection, found.caller, found.entity, happened, now)
    return Response(status_code=204)


router = RouteList()


@router.get("/deploy_tokens", response_model=list[DeployTokenResponse])
async def list_all_deploy_tokens(
    caller: CallerDep, services: ServicesDep, paging: PagingDep, active: bool | None = None
) -> JSONResponse:
    """The deploy tokens of all projects and groups; for administrators."""
    require_admin(caller)
    return await _listed(services, paging, Owner(), active)


_OF_PROJECTS: Final = of_project(Action.ADMINISTER)
router.include(
    mounted(routes, "/projects/{project}/deploy_tokens", {of_owner: _OF_PROJECTS, of_owner_to_change: _OF_PROJECTS})
)
# Maintainers of a group see its tokens, owners make and revoke them.
_OF_GROUPS: Final = {of_owner: of_group(GroupAction.ADMINISTER_CI), of_owner_to_change: of_group(GroupAction.OWN)}
router.include(mounted(routes, "/groups/{group}/deploy_tokens", _OF_GROUPS))
