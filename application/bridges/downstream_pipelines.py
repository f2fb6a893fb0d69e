"""Pipelines above and below others, as far as somebody may see them."""

from collections.abc import Sequence
from dataclasses import dataclass

from application.access import access_to
from application.services import Services
from auth.permissions import Caller
from domain.errors import Forbidden, NotFound
from models.repositories.pipelines import pipelines
from models.rows.pipelines import JobFacts, PipelineRow


@dataclass(frozen=True, slots=True)
class Related:
    """A pipeline, and the full path of its project."""

    row: PipelineRow
    full_path: str


async def downstream_of(services: Services, caller: Caller, jobs: Sequence[JobFacts]) -> dict[int, Related]:
    """The pipelines that these jobs have triggered or follow, by job id, as far as the caller may see them."""
    followed = {job.id: job.downstream_id for job in jobs if job.downstream_id is not None}
    seen = await visible(services, caller, set(followed.values()))
    return {job_id: seen[downstream_id] for job_id, downstream_id in followed.items() if downstream_id in seen}


async def visible(services: Services, caller: Caller, pipeline_ids: set[int]) -> dict[int, Related]:
    """Those of these pipelines that the caller may see, by id."""
    if not pipeline_ids:
        return {}
    async with services.database.read() as connection:
        rows = await pipelines.by_ids(connection, pipeline_ids)
    paths: dict[int, str] = {}
    for project_id in {row.project_id for row in rows}:
        try:
            paths[project_id] = (await access_to(services, caller, project_id)).row.full_path
        except (NotFound, Forbidden):
            continue
    return {row.id: Related(row, paths[row.project_id]) for row in rows if row.project_id in paths}
