"""Projects of other pods that follow those of this one, and telling them of releases."""

from typing import Final

import structlog
from pydantic import TypeAdapter

from application.access import visible_to
from application.pods.cluster import Cluster
from application.pods.cross_pod_people import person_of_pod
from application.pods.other_pods import known_directory, require_places
from application.pods.pod_calls import ask
from application.services import Services
from domain.errors import Forbidden, Invalid, Refused, TooLarge, Unavailable
from domain.pipelines.cross_pod_subscriptions import SETTLED_AFTER, FollowRequest, FollowResponse, Release
from domain.pods.directory import IdKind, Pod
from domain.pods.placement import home_of
from models.repositories.accounts import accounts
from models.repositories.pipelines import pipelines
from models.repositories.projects import followers, projects
from models.rows.cross_pod import CrossPodFollowerRow

_TOLD: Final = TypeAdapter(None)

log = structlog.get_logger()


async def be_followed(services: Services, pod: Pod, project_id: int, request: FollowRequest) -> FollowResponse:
    """Note that a project of another pod follows one of this pod, by the rights of its subscriber's account here.

    Raises `Unavailable` where somebody's copy of the directory may be older, `Invalid` where there are too many.
    """
    directory = require_places(services, pod, request.full_path, "")
    if directory.of_id(project_id, IdKind.PROJECT) != pod.number:
        raise Unavailable(f"Project {project_id} is not known to be in pod {pod.name}.")
    user = await person_of_pod(services, directory, pod.number, request.username, request.home_id)
    if user is None and home_of(directory, request.username) is None:
        raise Unavailable(f"Nobody called {request.username} is known in pod {services.settings.pod} yet.")
    if user is None:
        return FollowResponse()
    upstream = await visible_to(services, user, request.upstream)
    if upstream is None:
        return FollowResponse()
    row = CrossPodFollowerRow(upstream.row.id, project_id, request.full_path, user.id, services.clock())
    async with services.database.write() as connection:
        await followers.keep(connection, row)
    return FollowResponse(upstream.row.id, upstream.row.full_path)


async def be_left(services: Services, pod: Pod, project_id: int, upstream_id: int) -> None:
    """Note that a project of another pod does not follow one of this pod any more."""
    directory = known_directory(services)
    async with services.database.write() as connection:
        row = await followers.find(connection, upstream_id, project_id)
        if row is not None and directory is not None and home_of(directory, row.full_path) == pod.number:
            await followers.forget(connection, row)


async def tell_of_release(services: Services, cluster: Cluster, pipeline_id: int) -> None:
    """Tell every other pod whose projects follow that of a pipeline. Raises `Unavailable` if one has not heard."""
    async with services.database.read() as connection:
        pipeline = await pipelines.get(connection, pipeline_id)
        project = await projects.find(connection, pipeline.project_id)
        rows = await followers.of_project(connection, pipeline.project_id)
    if project is None:
        return
    release = Release(pipeline_id, project.id, project.full_path)
    away: Unavailable | None = None
    for row in rows:
        try:
            await _tell(services, cluster, row, release)
        except Unavailable as error:
            away = error
    if away is not None:
        raise away


async def _tell(services: Services, cluster: Cluster, row: CrossPodFollowerRow, release: Release) -> None:
    if cluster.directory is None:
        raise Unavailable("The directory of pods has not been heard of yet.")
    home = home_of(cluster.directory, row.full_path)
    if home == cluster.pod_number:  # its organisation has come here, and its subscription with it
        await _forget(services, row)
        return
    if not await _may_see(services, row):
        log.info("who subscribed may not see the project any more", project=row.upstream_project_id, user=row.user_id)
        return
    try:
        if home is None:
            raise Refused(f"The organisation of {row.full_path} is gone.")
        await ask(cluster, home, "POST", f"/followers/{row.follower_id}/releases", _TOLD, release)
    except (Refused, Forbidden, Invalid, TooLarge) as error:
        log.info(
            "a project is followed no more", project=row.upstream_project_id, by=row.follower_id, reason=str(error)
        )
        if row.noted_at < services.clock() - SETTLED_AFTER:
            await _forget(services, row)


async def _may_see(services: Services, row: CrossPodFollowerRow) -> bool:
    async with services.database.read() as connection:
        user = await accounts.get(connection, row.user_id)
    return user.state == accounts.ACTIVE and await visible_to(services, user, row.upstream_project_id) is not None


async def _forget(services: Services, row: CrossPodFollowerRow) -> None:
    async with services.database.write() as connection:
        await followers.forget(connection, row)
