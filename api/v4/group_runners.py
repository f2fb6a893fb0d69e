"""The runners of an organisation, under GitLab's name for it: group."""

from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from api.deps import ServicesDep
from api.v4.access import KnownCallerDep
from api.v4.organisations import organisation_of, require_sight
from api.v4.pagination import PagingDep
from api.v4.registration_tokens import renewed
from api.v4.runner_list import RunnerListDep, listed
from auth.permissions import MAINTAINER, require_admin
from domain.errors import Forbidden
from domain.matching import RunnerType
from models.repositories import runner_listings
from models.repositories.listings import has_level
from models.repositories.registration_tokens import RunnerScope

router = APIRouter(prefix="/groups/{reference}/runners")


@router.get("")
async def list_group_runners(
    reference: str, caller: KnownCallerDep, services: ServicesDep, paging: PagingDep, wishes: RunnerListDep
) -> JSONResponse:
    """The runners for all projects of an organisation: its own and those of the instance; for its maintainers."""
    row = await organisation_of(reference, services)
    await require_sight(services, caller, row)
    async with services.database.read() as connection:
        if not (caller.is_admin or await has_level(connection, caller.user_id, row.id, MAINTAINER)):
            raise Forbidden(f"403 Forbidden: you maintain no project of {row.path}.")
    return await listed(services, paging, runner_listings.of_organisation(row.id), wishes)


@router.post("/reset_registration_token", status_code=201)
async def reset_registration_token(reference: str, caller: KnownCallerDep, services: ServicesDep) -> dict[str, Any]:
    """A new token with which runners of an organisation register; only administrators administer one."""
    require_admin(caller)
    row = await organisation_of(reference, services)
    return await renewed(services, RunnerScope(RunnerType.GROUP, row.id))
