"""The tag sets that the pipelines of a group used lately."""

from typing import Annotated

from fastapi import Query

from api.deps import ServicesDep
from api.routes import RouteList
from api.v4.namespaces.groups import GroupDep
from api.v4.representation.pods import UsedTagSetResponse, used_tag_set
from application.pods.tag_sets import used
from auth.permissions import GroupAction

router = RouteList()


@router.get("/groups/{group}/tag_sets")
async def list_used_tag_sets(
    group: GroupDep, services: ServicesDep, days: Annotated[int, Query(ge=1, le=366)] = 30
) -> list[UsedTagSetResponse]:
    """What jobs of pipelines asked for that were made in the last days, in the group and all within it.

    For its maintainers. Each attempt of a job counts, whether it ran or not.
    """
    group.require(GroupAction.ADMINISTER_CI)
    return [used_tag_set(one) for one in await used(services, group.row, days)]
