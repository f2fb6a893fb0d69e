"""What has led to a pipeline, in this pod and in others, as far as the limits of hierarchies and loops ask for it."""

from sqlalchemy.ext.asyncio import AsyncConnection

from application.services import Services
from domain.pipelines.bridges import Ancestor
from models.repositories.pipelines import bridges, cross_pod
from models.rows.pipelines import PipelineRow


def root_of(pipeline: PipelineRow) -> int:
    """The id of the first pipeline of a hierarchy."""
    return pipeline.root_id or pipeline.id


async def hierarchy_of(
    services: Services, connection: AsyncConnection, pipeline: PipelineRow
) -> tuple[tuple[Ancestor, ...], int]:
    """A pipeline with those that have led to it, and how many its hierarchy holds, in other pods too."""
    above = await bridges.above(connection, pipeline.id)
    size = await bridges.size_of_hierarchy(connection, root_of(pipeline))
    if services.cluster is None:
        return above, size
    further, more = await cross_pod.above(connection, root_of(pipeline))
    return above + further, size + more
