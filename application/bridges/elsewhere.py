"""Pipelines that other pods have made for bridges of this one: asked for, noted, and heard of.

A bridge has its pipeline when this pod has noted it. Until then the other pod is asked again, and gives the same one.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from pydantic import TypeAdapter
from sqlalchemy.ext.asyncio import AsyncConnection

from application.bridges.downstream import Elsewhere
from application.bridges.for_other_pods import is_of_pod
from application.pods.cluster import Cluster
from application.pods.pod_calls import ask
from application.services import Services
from domain.errors import Forbidden, Invalid, Refused, TooLarge, Unavailable
from domain.pipelines.bridges import CREATION_FAILED
from domain.pipelines.cross_pod import DownstreamResponse, PipelineState
from domain.pipelines.status import Status
from domain.pods.directory import Pod
from domain.pods.placement import other_pod_of
from models.notifications import OUTBOX, pipeline_topic
from models.repositories.pipelines import bridges, cross_pod
from models.repositories.pipelines.bridges import Bridge
from models.rows.cross_pod import CrossPodDownstreamRow

RESPONSE: Final = TypeAdapter(DownstreamResponse)
STATE: Final = TypeAdapter(PipelineState | None)


async def ask_for(cluster: Cluster, bridge_id: int, wish: Elsewhere) -> DownstreamResponse:
    """What the other pod has made for a bridge, by now or before. Raises `Unavailable`: ask again later."""
    try:
        return await ask(cluster, wish.pod, "PUT", f"/bridges/{bridge_id}/pipeline", RESPONSE, wish.request)
    except (Invalid, Forbidden, Refused, TooLarge) as error:
        return DownstreamResponse(reason=CREATION_FAILED, text=str(error))


async def note(
    connection: AsyncConnection, bridge: Bridge, pod: int, response: DownstreamResponse, now: datetime
) -> None:
    """A pending bridge has the pipeline that another pod has made, or has failed."""
    state = response.pipeline
    if state is not None:
        await cross_pod.keep_downstream(connection, bridge.job.id, pod, state, now)
    if state is None or response.reason:
        shown = None if state is None else state.id
        reason, text = response.reason or CREATION_FAILED, response.text
        await bridges.refuse(connection, bridge, reason, text, now, downstream_id=shown)
        return
    await begin(connection, bridge, state, now)


async def begin(connection: AsyncConnection, bridge: Bridge, state: PipelineState, now: datetime) -> None:
    """A pending bridge runs, and takes over at once what is known of its pipeline in another pod."""
    await bridges.begin(connection, bridge, state.id, now)
    await bridges.tell_of_other_pod(connection, state, now)


async def hear(services: Services, pod: Pod, bridge_id: int, state: PipelineState) -> None:
    """Another pod tells of the pipeline that it has made for a bridge of this one.

    Raises `Unavailable` (tell again later) while this pod has not noted that pipeline, or the bridge cannot follow yet;
    `Refused` for what no bridge of this pod wants to hear.
    """
    async with services.database.write() as connection:
        await bridges.lock_followers(connection, state.id)
        row = await cross_pod.downstream_of_bridge(connection, bridge_id)
        if row is None and await bridges.is_pending(connection, bridge_id):
            raise Unavailable("The bridge has not noted its pipeline yet.")
        if row is None or row.pipeline_id != state.id or not is_of_pod(services, row.full_path, row.pod, pod):
            raise Refused("Conflict: no bridge follows this pipeline.")
        changed = await _take_over(connection, row, state, services.clock())
    await tell(services, changed)


async def look(services: Services, cluster: Cluster, row: CrossPodDownstreamRow) -> None:
    """Ask how a pipeline is of which nothing was heard for a while. One that is gone has failed.

    Raises `Unavailable`.
    """
    pod = other_pod_of(cluster.directory, cluster.pod_number, row.full_path) if cluster.directory else None
    state = await ask(cluster, row.pod if pod is None else pod, "GET", f"/bridges/{row.bridge_id}/pipeline", STATE)
    async with services.database.write() as connection:
        await bridges.lock_followers(connection, row.pipeline_id)
        known = await cross_pod.downstream_of_bridge(connection, row.bridge_id)
        if known is None:
            return
        if state is None or state.id != row.pipeline_id:
            last = cross_pod.known_state(known)
            state = replace(last, status=Status.FAILED, tick=last.tick + 1)
        changed = await _take_over(connection, known, state, services.clock())
    await tell(services, changed)


async def _take_over(
    connection: AsyncConnection, row: CrossPodDownstreamRow, state: PipelineState, now: datetime
) -> Sequence[int]:
    """Pipelines whose bridges have changed. Of what comes late nothing is kept, but what is known is followed."""
    is_new = await cross_pod.hear(connection, row, state, now)
    told = await bridges.tell_of_other_pod(connection, state if is_new else cross_pod.known_state(row), now)
    if told.again:
        raise Unavailable("The end of a bridge is not folded yet.")
    return told.pipelines


async def tell(services: Services, pipeline_ids: Sequence[int]) -> None:
    """Wake the relay, and those who watch these pipelines."""
    if not pipeline_ids:
        return
    await services.notifications.notify(OUTBOX)
    for pipeline_id in pipeline_ids:
        await services.notifications.show(pipeline_topic(pipeline_id))
