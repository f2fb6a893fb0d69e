"""The runners of a group."""

from fastapi.responses import JSONResponse

from api.deps import ServicesDep
from api.routes import RouteList
from api.v4.namespaces.groups import GroupDep
from api.v4.pagination import PagingDep
from api.v4.representation.runners import ListedRunnerResponse, RunnerTokenResponse, issued_token
from api.v4.runners.lists import RunnerListDep, listed
from application.runners.registration_tokens import renewed
from auth.permissions import GroupAction
from models.repositories.runners import runner_listings
from models.repositories.runners.registration_tokens import scope_of_group

router = RouteList(prefix="/groups/{group}/runners")


@router.get("", response_model=list[ListedRunnerResponse])
async def list_group_runners(
    group: GroupDep, services: ServicesDep, paging: PagingDep, wishes: RunnerListDep
) -> JSONResponse:
    """The runners for all projects of a group: its own, of groups above it and of the instance; for its maintainers."""
    group.require(GroupAction.ADMINISTER_CI)
    return await listed(services, paging, runner_listings.of_group(group.row), wishes)


@router.post("/reset_registration_token", status_code=201)
async def reset_registration_token(group: GroupDep, services: ServicesDep) -> RunnerTokenResponse:
    """A new token with which runners of a group register; its owners may."""
    group.require(GroupAction.OWN)
    return issued_token(await renewed(services, scope_of_group(group.row)))
