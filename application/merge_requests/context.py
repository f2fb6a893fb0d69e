"""A merge request with what it lies between: its two projects and their repositories."""

from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncConnection

from application.services import Services
from domain.errors import NotFound
from domain.merge_requests.merge_request import EventType, ref_of
from git.reading.revision import commit_named
from git.reading.tree_reading import merge_base
from git.repository import Repository
from git.transport.fetching import fetch_commit
from models.repositories.merge_requests import merge_requests
from models.repositories.projects import projects
from models.rows.merge_requests import MergeRequestRow
from models.rows.projects import ProjectRow


@dataclass(frozen=True, slots=True)
class MergeContext:
    """`row` is the merge request; `source` is None when the fork that it came from is gone."""

    row: MergeRequestRow
    target: ProjectRow
    source: ProjectRow | None
    repository: Repository

    @property
    def same_project(self) -> bool:
        """Whether both branches are the target project's own."""
        return self.row.source_project_id == self.row.project_id

    @property
    def reference(self) -> str:
        """`group/project!7`."""
        return f"{self.target.full_path}!{self.row.iid}"

    def ref(self, event_type: EventType) -> str:
        """The ref in the target's repository for pipelines of this kind."""
        return ref_of(self.row.iid, event_type)

    async def target_head(self) -> str | None:
        """The head of the target branch now."""
        return await commit_named(self.repository, f"refs/heads/{self.row.target_branch}")


async def around(services: Services, connection: AsyncConnection, row: MergeRequestRow) -> MergeContext:
    """What is around a merge request. Raises `NotFound` for one whose project is being removed."""
    target = await projects.find(connection, row.project_id)
    if target is None:
        raise NotFound("Project Not Found")
    source: ProjectRow | None = target
    if row.source_project_id is None:
        source = None
    elif row.source_project_id != row.project_id:
        source = await projects.find(connection, row.source_project_id)
    return MergeContext(row, target, source, services.repositories.get(target.id))


async def surroundings_of(services: Services, merge_request_id: int) -> MergeContext | None:
    """The same by the id of a merge request; None if it is gone."""
    async with services.database.read() as connection:
        row = await merge_requests.get(connection, merge_request_id)
        return None if row is None else await around(services, connection, row)


@dataclass(frozen=True, slots=True)
class Heads:
    """Where a merge request stands in git: columns of its row."""

    head_sha: str
    base_sha: str
    start_sha: str


async def bring_head(services: Services, target_id: int, source_id: int, head: str, target_branch: str) -> Heads:
    """Have the head of a source branch in the target's repository; where the two branches stand then.

    Raises `NotFound`, `Unavailable`.
    """
    repository = services.repositories.get(target_id)
    if source_id != target_id:
        await fetch_commit(repository, services.repositories.get(source_id), head)
    start = await commit_named(repository, f"refs/heads/{target_branch}") or ""
    base = await merge_base(repository, start, head) if start else None
    return Heads(head, base or "", start)
