"""The admin area of the pod that answers: how it is, what its runners take, what waits (docs/pods.md)."""

from api.deps import ServicesDep
from api.routes import RouteList
from api.v4.access import KnownCallerDep
from api.v4.representation.pods import (
    PodResponse,
    QueuedTagSetResponse,
    ServedTagSetResponse,
    pod,
    queued_tag_set,
    served_tag_set,
)
from application.pods.own_state import own_queue, own_state
from auth.permissions import require_admin
from models.repositories import database_time
from models.repositories.runners import runner_counts

router = RouteList(prefix="/pod")


@router.get("")
async def get_pod(caller: KnownCallerDep, services: ServicesDep) -> PodResponse:
    """How the pod is that the token belongs to: what it reaches, its runners, jobs and versions; for administrators."""
    require_admin(caller)
    return pod(await own_state(services))


@router.get("/tag_sets")
async def list_served_tag_sets(caller: KnownCallerDep, services: ServicesDep) -> list[ServedTagSetResponse]:
    """The tag sets that runners of the pod take, with how many there are of each kind; for administrators."""
    require_admin(caller)
    async with services.database.read() as connection:
        now = await database_time.moment(connection)
        found = await runner_counts.tag_sets(connection, now, services.settings.times.runner_online)
    return [served_tag_set(one) for one in found]


@router.get("/queue")
async def list_queued_tag_sets(caller: KnownCallerDep, services: ServicesDep) -> list[QueuedTagSetResponse]:
    """What waits for a runner by tag set, what has waited longest first; for administrators."""
    require_admin(caller)
    return [queued_tag_set(one) for one in await own_queue(services)]
