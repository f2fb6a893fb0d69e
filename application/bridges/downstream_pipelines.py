"""Pipelines above and below others, as far as somebody may see them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from application.access import access_to
from application.services import Services
from auth.permissions import Caller, is_open
from domain.errors import Forbidden, NotFound
from domain.pipelines.cross_pod import UpstreamPipeline
from models.repositories.pipelines import cross_pod, pipelines
from models.rows.pipelines import JobFacts, PipelineRow


class ShownPipeline(Protocol):
    """What is shown of a pipeline beside another one, be it of this pod or not."""

    @property
    def id(self) -> int:
        """Its id, of one set in the whole cluster."""

    @property
    def iid(self) -> int:
        """Its number in its project."""

    @property
    def project_id(self) -> int:
        """The id of its project."""

    @property
    def sha(self) -> str:
        """Its commit."""

    @property
    def ref(self) -> str:
        """Its branch or tag."""

    @property
    def status(self) -> str:
        """How it is, or was when its pod last told of it."""

    @property
    def warned(self) -> bool:
        """Whether it has passed, and something failed in it that was allowed to."""

    @property
    def source(self) -> str:
        """What made it."""

    @property
    def name(self) -> str:
        """What its configuration calls it."""

    @property
    def created_at(self) -> datetime:
        """When it was made."""

    @property
    def updated_at(self) -> datetime:
        """When it changed last."""


@dataclass(frozen=True, slots=True)
class Related:
    """A pipeline, and the full path of its project."""

    row: ShownPipeline
    full_path: str


async def downstream_of(services: Services, caller: Caller, jobs: Sequence[JobFacts]) -> dict[int, Related]:
    """The pipelines that these jobs have triggered or follow, by job id, as far as the caller may see them."""
    followed = {job.id: job.downstream_id for job in jobs if job.downstream_id is not None}
    seen = await visible(services, caller, set(followed.values()))
    runs = {job.downstream_id for job in jobs if job.user_id == caller.user_id}
    seen |= await _of_other_pods(services, caller, set(followed.values()) - set(seen), runs)
    return {job_id: seen[downstream_id] for job_id, downstream_id in followed.items() if downstream_id in seen}


async def visible(services: Services, caller: Caller, pipeline_ids: set[int]) -> dict[int, Related]:
    """Those of these pipelines of this pod that the caller may see, by id."""
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


async def upstream_elsewhere(services: Services, caller: Caller, row: PipelineRow) -> UpstreamPipeline | None:
    """The pipeline of another pod whose bridge has made this one, if the caller may see it."""
    if row.bridge_id is None or row.upstream_id is not None or services.cluster is None:
        return None
    async with services.database.read() as connection:
        of = await cross_pod.upstream_of(connection, row.id)
    if of is None or not _is_shown(caller, of.visibility, runs=row.user_id == caller.user_id):
        return None
    return UpstreamPipeline(of.upstream_id, of.upstream_project_id, of.full_path, of.visibility)


async def _of_other_pods(
    services: Services, caller: Caller, pipeline_ids: set[int], runs: set[int | None]
) -> dict[int, Related]:
    """Those of these pipelines that other pods have, as they told last; `runs` are those that the caller has made."""
    if not pipeline_ids or services.cluster is None:
        return {}
    async with services.database.read() as connection:
        rows = await cross_pod.downstreams(connection, pipeline_ids)
    return {
        row.pipeline_id: Related(cross_pod.known_state(row), row.full_path)
        for row in rows
        if _is_shown(caller, row.visibility, runs=row.pipeline_id in runs)
    }


def _is_shown(caller: Caller, visibility: str, *, runs: bool) -> bool:
    """Only the other pod knows the members of its projects.

    So a private one is shown to whoever has run the bridge, as whom it was asked, and to administrators.
    """
    is_administrator = caller.is_admin and not caller.job_id
    return is_open(caller, visibility) or is_administrator or (runs and caller.is_known)
