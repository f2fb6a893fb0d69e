"""Configurations that pipelines were made from: written with the pipeline, read by whoever looks."""

from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import table_of
from models.tables.pipelines import PipelineConfig

config = table_of(PipelineConfig)


async def put(connection: AsyncConnection, pipeline_id: int, merged: bytes) -> None:
    """Keep the configuration of a pipeline that is being made; an empty one is none."""
    if merged:
        await connection.execute(insert(config).values(pipeline_id=pipeline_id, merged=merged))


async def of_pipeline(connection: AsyncConnection, pipeline_id: int) -> bytes | None:
    """The configuration of a pipeline as `domain.config.merged` packs it; None if none was kept."""
    statement = select(config.c.merged).where(config.c.pipeline_id == pipeline_id)
    return (await connection.execute(statement)).scalar_one_or_none()
