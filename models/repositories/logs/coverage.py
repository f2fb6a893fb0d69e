"""The coverage of jobs, which is found in their logs, and of their pipelines."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import CompoundSelect, bindparam, select, union_all, update
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import table_of
from models.repositories.pipelines.job_rows import job
from models.tables.commit_statuses import CommitStatus

status = table_of(CommitStatus)


def _of_pipeline(*which: str) -> CompoundSelect[Any]:
    """Statement for the coverage of pipeline `b_pipeline`; with "name", of what is called `b_name` there."""
    return union_all(
        *(
            select(table.c.coverage).where(
                table.c.pipeline_id == bindparam("b_pipeline"),
                ~table.c.retried,
                table.c.coverage.is_not(None),
                *(table.c[name] == bindparam(f"b_{name}") for name in which),
            )
            for table in (job, status)
        )
    )


_OF_PIPELINE: Final = _of_pipeline()
_OF_NAME: Final = _of_pipeline("name")


async def put(connection: AsyncConnection, found: Mapping[int, float]) -> None:
    """Keep the coverage of jobs, by their ids."""
    for job_id, value in found.items():
        await connection.execute(update(job).where(job.c.id == job_id).values(coverage=value))


async def of_pipeline(connection: AsyncConnection, pipeline_id: int, name: str = "") -> Sequence[float]:
    """Those of the latest attempts of its jobs, and of what others report of its commit; of one `name` or all."""
    asked = {"b_pipeline": pipeline_id}
    found = connection.execute(_OF_NAME, {**asked, "b_name": name}) if name else connection.execute(_OF_PIPELINE, asked)
    return (await found).scalars().all()
