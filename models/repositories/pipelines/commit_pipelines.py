"""The newest pipelines of commits."""

from collections.abc import Collection

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.pipelines.bridges import CHILD
from models.columns import padded, table_of
from models.repositories.pipelines.warnings import PIPELINE
from models.rows.pipelines import PipelineRow
from models.tables.pipelines import Pipeline
from models.typed_rows import all_of

pipeline = table_of(Pipeline)


async def newest_of_commits(
    connection: AsyncConnection, project_id: int, shas: Collection[str]
) -> dict[str, PipelineRow]:
    """The newest pipeline of each of these commits in a project, by sha; child pipelines do not count."""
    if not shas:
        return {}
    newest = select(func.max(pipeline.c.id)).where(
        pipeline.c.project_id == project_id, pipeline.c.sha.in_(padded(shas)), pipeline.c.source != CHILD
    )
    statement = select(*PIPELINE).where(pipeline.c.id.in_(newest.group_by(pipeline.c.sha)))
    return {row.sha: row for row in all_of(PipelineRow, await connection.execute(statement))}
