"""Pipelines that this pod makes for bridges of others: one for each bridge, however often it is asked for."""

from dataclasses import replace

from sqlalchemy.ext.asyncio import AsyncConnection

from application.bridges.targets import Denied, compiled, denied, pipeline_of_project
from application.pipelines.prepared import FAULTY, Prepared, save_faulty
from application.pods.cross_pod_people import person_of_pod
from application.pods.other_pods import known_directory, require_places
from application.services import Services
from domain.errors import Invalid, PerdureError, Refused, StorageFull, Unavailable
from domain.pipelines.bridges import CREATION_FAILED, NO_PROJECT, TEXT_OF
from domain.pipelines.cross_pod import DownstreamRequest, DownstreamResponse, PipelineState
from domain.pods.directory import Directory, Pod
from domain.pods.placement import home_of
from models.notifications import OUTBOX
from models.repositories.pipelines import cross_pod, pipelines
from models.repositories.pipelines.pipelines import PipelineRequest
from models.rows.cross_pod import CrossPodUpstreamRow


async def downstream_pipeline(
    services: Services, pod: Pod, bridge_id: int, request: DownstreamRequest
) -> DownstreamResponse:
    """The pipeline of a bridge of another pod, which is made if there is none yet, or why there is none.

    Raises `Unavailable` and `StorageFull` (ask again), and `Refused` for a bridge that is another one's.
    """
    directory = require_places(services, pod, request.upstream.full_path, request.path)
    async with services.database.read() as connection:
        known = await cross_pod.upstream_by_bridge(connection, bridge_id)
        if known is not None:
            return await _known(connection, known, request)
    wish = await _wish(services, directory, pod, bridge_id, request)
    if isinstance(wish, Prepared):
        return await _make(services, pod, bridge_id, request, wish, wish.request)
    if wish.request is not None:
        return await _make(services, pod, bridge_id, request, wish, wish.request)
    return DownstreamResponse(reason=wish.reason, text=wish.text)


async def _make(
    services: Services,
    pod: Pod,
    bridge_id: int,
    request: DownstreamRequest,
    wish: Prepared | Denied,
    target: PipelineRequest,
) -> DownstreamResponse:
    """Write the pipeline, unless somebody else has: whoever asks for the same one waits until this is committed."""
    made: int | None = None
    async with services.database.write() as connection:
        await cross_pod.lock_project(connection, target.project_id)
        known = await cross_pod.upstream_by_bridge(connection, bridge_id)
        if known is None:
            made = await _save(services, connection, wish, target)
            known = await cross_pod.keep_upstream(connection, made, pod.number, bridge_id, request)
        response = await _known(connection, known, request)
    if made is not None and isinstance(wish, Prepared):
        await services.notifications.notify(OUTBOX)
        await wish.repository.keep(made, target.sha)
    return response


async def state_for(services: Services, pod: Pod, bridge_id: int) -> PipelineState | None:
    """The pipeline of a bridge of another pod as it is now; None where there is none.

    Raises `Unavailable` for a bridge that is not known to be there: somebody's copy of the directory may be older.
    """
    async with services.database.read() as connection:
        known = await cross_pod.upstream_by_bridge(connection, bridge_id)
        if known is None:
            return None
        if not is_of_pod(services, known.full_path, known.pod, pod):
            raise Unavailable(f"The bridge is not known to be in pod {pod.name}.")
        return await cross_pod.state_of(connection, known.pipeline_id)


def is_of_pod(services: Services, path: str, noted: int, pod: Pod) -> bool:
    """Whether a project that was in the pod `noted` is in `pod` now: where the directory says, else where it was."""
    directory = known_directory(services)
    home = home_of(directory, path) if directory is not None else None
    return pod.number == (noted if home is None else home)


async def _known(
    connection: AsyncConnection, known: CrossPodUpstreamRow, request: DownstreamRequest
) -> DownstreamResponse:
    """What was made before."""
    if (known.upstream_id, known.upstream_project_id) != (request.upstream.id, request.upstream.project_id):
        raise Refused("Conflict: this bridge is another pipeline's.")
    state = await cross_pod.state_of(connection, known.pipeline_id)
    row = await pipelines.get(connection, known.pipeline_id)
    if row.failure_reason != FAULTY:
        return DownstreamResponse(state)
    return DownstreamResponse(state, CREATION_FAILED, row.yaml_errors)


async def _wish(
    services: Services, directory: Directory, pod: Pod, bridge_id: int, request: DownstreamRequest
) -> Prepared | Denied:
    """As for a bridge of this pod, by the rights of the account that whoever runs it has here."""
    user = await person_of_pod(services, directory, pod.number, request.username, request.home_id)
    if user is None:
        return denied(NO_PROJECT, request.path)
    try:
        found = await pipeline_of_project(services, user, request.path, request.branch, request.upstream.project_id)
        if isinstance(found, Denied):
            return found
        upstream = request.upstream
        origin = {"upstream_project_id": upstream.project_id, "upstream_pipeline_id": upstream.id}
        wanted = replace(found, variables=request.variables, inputs=request.inputs, bridge_id=bridge_id, origin=origin)
        return await compiled(services, wanted)
    except (Unavailable, StorageFull):
        raise
    except PerdureError as error:
        return denied(CREATION_FAILED, str(error))


async def _save(
    services: Services, connection: AsyncConnection, wish: Prepared | Denied, target: PipelineRequest
) -> int:
    """Write the pipeline, or one that shows the faults of its configuration."""
    if isinstance(wish, Denied):
        return await save_faulty(services, connection, target, wish.text)
    made = await wish.save(services, connection)
    if made is None:
        raise Invalid(TEXT_OF[CREATION_FAILED])
    return made
