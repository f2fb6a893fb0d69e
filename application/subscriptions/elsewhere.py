"""Subscriptions of this pod's projects to projects of others: made, kept up, ended; and releases that are told.

The pod of a subscription has the only truth of it. The other one keeps a copy, without which it would not tell, and
forgets that when it is told that there is no such subscription (docs/pods.md, "Subscriptions between pods").
"""

from datetime import datetime
from typing import Final

import structlog
from pydantic import TypeAdapter
from sqlalchemy.ext.asyncio import AsyncConnection

from application.access import ProjectAccess
from application.pods.cluster import Cluster
from application.pods.cross_pod_people import account_at_home
from application.pods.other_pods import other_pod, pod_of_project, require_places
from application.pods.pod_calls import ask
from application.services import Services
from domain.errors import Forbidden, NotFound, PerdureError, Refused, Unavailable
from domain.pipelines.cross_pod_subscriptions import FollowRequest, FollowResponse, Release
from domain.pods.directory import IdKind, Pod
from models.repositories.accounts import accounts
from models.repositories.moves import moves
from models.repositories.projects import projects, subscriptions
from models.repositories.projects.subscriptions import DueSubscription, ListedSubscription

_FOLLOWED: Final = TypeAdapter(FollowResponse)
_NOTHING: Final = TypeAdapter(None)
_AWAY: Final = "The organisation of the project is moving to another pod."

log = structlog.get_logger()


def pod_of_upstream(services: Services, upstream: int | str) -> int | None:
    """The number of the other pod that has the project with this id or path; None for one of this pod, or of none."""
    return pod_of_project(services, upstream) if isinstance(upstream, int) else other_pod(services, upstream)


async def follow(
    services: Services, cluster: Cluster, pod: int, project: ProjectAccess, upstream: int | str
) -> FollowResponse:
    """Have another pod tell this one of the releases of a project, by the rights that the caller has there.

    Raises `NotFound` for a project that they may not see there, `Forbidden` for a bot, `Invalid` for one that has too
    many followers, and `Unavailable`.
    """
    async with services.database.read() as connection:
        user = await accounts.get(connection, project.caller.user_id)
    if user.bot:
        raise Forbidden("Tokens of projects and groups follow projects of their own pod only.")
    request = FollowRequest(user.username, account_at_home(user), project.row.full_path, upstream)
    found = await _say(cluster, pod, project.row.id, request)
    if not found.id:
        raise NotFound("Project Not Found")
    return found


async def renew(services: Services, cluster: Cluster, row: DueSubscription) -> None:
    """Say again that a project follows one of another pod. Raises `Unavailable`, `Invalid`, `Refused`, `Forbidden`."""
    pod = pod_of_project(services, row.upstream_project_id)
    if pod is None:
        return
    request = FollowRequest(row.username, row.home_id, row.full_path, row.upstream_project_id)
    found = await _say(cluster, pod, row.project_id, request)
    async with services.database.write() as connection:
        await subscriptions.note_renewed(connection, row.id, found.full_path, services.clock())


async def end(services: Services, cluster: Cluster, row: ListedSubscription) -> None:
    """Tell another pod that a subscription is gone. Where that is not heard, the next release finds nobody."""
    pod = pod_of_project(services, row.upstream_project_id)
    if pod is None:
        return
    try:
        await ask(cluster, pod, "DELETE", f"/followers/{row.project_id}/{row.upstream_project_id}", _NOTHING)
    except PerdureError as error:
        log.info("a pod hears later that nobody follows", project=row.upstream_project_id, reason=str(error))


async def hear_of_release(services: Services, pod: Pod, project_id: int, release: Release) -> None:
    """Another pod tells of a release: the project that follows gets its pipeline, once.

    Raises `Refused` where no subscription waits for it, and `Unavailable` where it may be elsewhere by now.
    """
    now = services.clock()
    async with services.database.write() as connection:
        row = await projects.find(connection, project_id)
        if row is None:
            await _require_not_away(services, connection, project_id, now)
        else:
            require_places(services, pod, release.full_path, row.full_path)
        if row is None or not await subscriptions.note_release(connection, project_id, release, now):
            raise Refused("Conflict: nobody follows this project.")


async def _require_not_away(services: Services, connection: AsyncConnection, project_id: int, now: datetime) -> None:
    """Raises `Unavailable` for a project that is not here since its organisation is somewhere else, or on its way."""
    known = await moves.known_here(connection, now)
    is_moving = any(project_id in row.facts["ids"].get(IdKind.PROJECT, ()) for row in known)
    if is_moving or pod_of_project(services, project_id) is not None:
        raise Unavailable(_AWAY)


async def _say(cluster: Cluster, pod: int, project_id: int, request: FollowRequest) -> FollowResponse:
    return await ask(cluster, pod, "PUT", f"/followers/{project_id}", _FOLLOWED, request)
