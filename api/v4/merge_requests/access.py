"""The merge request of a path, and what of it is shown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends

from api.deps import ServicesDep
from api.services import Services
from api.v4.access import Id, ProjectDep
from api.v4.pipelines.pipelines import full as full_pipeline
from api.v4.representation.merge_requests import (
    Around,
    Details,
    MergeRequestDetailsResponse,
    detailed,
    people_of,
)
from api.v4.representation.milestones import MilestoneResponse, web_url
from api.v4.representation.milestones import milestone as shown_milestone
from application.access import ProjectAccess, access_to
from application.merge_requests.context import MergeContext, around
from application.merge_requests.standing import assess
from application.merge_requests.wishes import require_change, require_merge
from domain.errors import Forbidden, NotFound, TooLarge, Unauthenticated
from git.reading.diffs import changed_files
from models.repositories.merge_requests import merge_request_notes, merge_requests
from models.repositories.merge_requests.standings import Assessment
from models.repositories.projects import milestones, relations
from models.rows.labels import MilestoneRow
from models.rows.merge_requests import MergeRequestRow
from models.rows.namespaces import NamespaceRow
from models.rows.pipelines import PipelineRow
from models.rows.projects import ProjectRow

_MAX_COUNTED = 1_000
"""More changed files are told as `1000+`, as in GitLab."""


@dataclass(frozen=True, slots=True)
class MergeRequestAccess:
    """A merge request that the caller may read; `project` is its target."""

    here: MergeContext
    project: ProjectAccess

    @property
    def row(self) -> MergeRequestRow:
        """Its row."""
        return self.here.row

    def require_change(self) -> None:
        """Raise unless the caller may change it: its author may, and whoever may push to the project."""
        require_change(self.project, self.row)


async def merge_request_of(iid: Id, project: ProjectDep, services: ServicesDep) -> MergeRequestAccess:
    """The merge request of a path. Raises `NotFound`."""
    async with services.database.read() as connection:
        row = await merge_requests.find(connection, project.row.id, iid)
        return MergeRequestAccess(await around(services, connection, row), project)


MergeRequestDep = Annotated[MergeRequestAccess, Depends(merge_request_of)]


async def again(services: Services, found: MergeRequestAccess) -> MergeRequestAccess:
    """The same as it is by now."""
    return await merge_request_of(found.row.iid, found.project, services)


async def surrounded(services: Services, rows: Sequence[MergeRequestRow]) -> Around:
    """What merge requests point to."""
    async with services.database.read() as connection:
        people = await relations.users(connection, people_of(rows))
        targets = await relations.projects(connection, {row.project_id for row in rows})
        ids = [row.id for row in rows]
        notes = await merge_request_notes.counts(connection, ids)
        unresolved = await merge_request_notes.unresolved(connection, ids)
        planned = await milestones.by_id(connection, {row.milestone_id for row in rows})
        groups = await relations.namespaces(connection, {one.namespace_id for one in planned.values()})
    shown_ones = {key: _milestone(services, one, targets, groups) for key, one in planned.items()}
    return Around(services.settings.url, people, targets, notes, unresolved, shown_ones)


def _milestone(
    services: Services, row: MilestoneRow, targets: Mapping[int, ProjectRow], groups: Mapping[int, NamespaceRow]
) -> MilestoneResponse:
    path = targets[row.project_id].full_path if row.project_id is not None else ""
    group = None if row.namespace_id is None else groups.get(row.namespace_id)
    pages = web_url(services.settings.url, path, group)
    return shown_milestone(row, pages, services.clock().date())


async def shown(services: Services, found: MergeRequestAccess) -> MergeRequestDetailsResponse:
    """A merge request in full, as it is now."""
    fresh = await again(services, found)
    assessment = await assess(services, fresh.here)
    details = await _details(services, fresh, assessment)
    return detailed(fresh.row, await surrounded(services, [fresh.row]), details)


async def _details(services: Services, found: MergeRequestAccess, assessment: Assessment) -> Details:
    standing, changes = assessment.standing, await changes_count(found.here)
    can_merge = await may_merge(found)
    pipeline = assessment.pipeline
    seen = None if pipeline is None else await pipeline_project(services, found, pipeline.project_id)
    if pipeline is None or seen is None:
        return Details(standing, changes, can_merge=can_merge)
    document = await full_pipeline(services, pipeline.id, seen)
    return Details(standing, changes, pipeline, document, seen.full_path, can_merge)


async def pipeline_project(services: Services, found: MergeRequestAccess, project_id: int) -> ProjectRow | None:
    """The project of a pipeline, which may be a fork; None if the caller may not see it."""
    if project_id == found.project.row.id:
        return found.project.row
    try:
        return (await access_to(services, found.project.caller, project_id)).row
    except (NotFound, Forbidden, Unauthenticated):
        return None


async def may_merge(found: MergeRequestAccess) -> bool:
    """Whether the caller may merge it."""
    try:
        await require_merge(found.project, found.row.target_branch)
    except (Forbidden, Unauthenticated, NotFound):
        return False
    return True


async def changes_count(here: MergeContext) -> str:
    """How many files a merge request changes."""
    if not here.row.base_sha:
        return "0"
    try:
        count = len(await changed_files(here.repository, here.row.base_sha, here.row.head_sha))
    except TooLarge:
        count = _MAX_COUNTED + 1
    return str(count) if count <= _MAX_COUNTED else f"{_MAX_COUNTED}+"


async def visible_projects(
    services: Services, rows: Sequence[PipelineRow], found: MergeRequestAccess
) -> dict[int, ProjectRow]:
    """The projects of pipelines, by id, as far as the caller may see them."""
    ids = {row.project_id for row in rows}
    seen = {key: await pipeline_project(services, found, key) for key in ids}
    return {key: row for key, row in seen.items() if row is not None}
