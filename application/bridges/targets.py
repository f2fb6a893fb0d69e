"""The project that a bridge names, as far as whoever runs it may use it, and what its configuration says.

The same for a bridge of this pod and for one of another.
"""

from dataclasses import dataclass

from application.access import ProjectAccess, visible_to
from application.pipelines.prepared import Prepared, prepared_by_itself
from application.pipelines.refs import find_ref
from application.services import Services
from domain.errors import Forbidden, NotFound, Unauthenticated
from domain.pipelines.bridges import (
    CREATION_FAILED,
    DOWNSTREAM,
    INVALID_TRIGGER,
    NO_PERMISSION,
    NO_PROJECT,
    TEXT_OF,
)
from domain.projects.ref_names import HEADS
from models.repositories.pipelines.pipelines import PipelineRequest
from models.repositories.projects.project_paths import written_path
from models.rows.accounts import UserRow


@dataclass(frozen=True, slots=True)
class Denied:
    """No pipeline: the failure reason, what people read, and the request of a pipeline that shall show the faults."""

    reason: str
    text: str
    request: PipelineRequest | None = None


def denied(reason: str, detail: str = "") -> Denied:
    """A refusal in the words of its reason."""
    return Denied(reason, _text(reason, detail))


async def pipeline_of_project(
    services: Services, user: UserRow, path: str, branch: str, own_project_id: int
) -> PipelineRequest | Denied:
    """A pipeline of another project: of the branch that is named, else of its default branch. Raises `NotFound`.

    `own_project_id` is the project of the bridge.
    """
    project = await visible_project(services, user, path)
    if project is None:
        return denied(NO_PROJECT, path)
    if project.row.id == own_project_id:
        return denied(INVALID_TRIGGER, path)
    ref, tag, sha = await find_ref(
        services.repositories.get(project.row.id), branch or f"{HEADS}{project.row.default_branch}"
    )
    try:
        project.require_run(ref, tag=tag)
    except (Forbidden, Unauthenticated):
        return denied(NO_PERMISSION, path)
    return PipelineRequest(project_id=project.row.id, user_id=user.id, ref=ref, sha=sha, source=DOWNSTREAM, tag=tag)


async def visible_project(services: Services, user: UserRow, path: str) -> ProjectAccess | None:
    """A project that whoever runs the bridge may see, by its full path."""
    async with services.database.read() as connection:
        written = await written_path(connection, path)
    return None if written is None else await visible_to(services, user, written)


async def compiled(services: Services, request: PipelineRequest, child_config: str = "") -> Prepared | Denied:
    """The pipeline with its plan. Raises `Unavailable` and `StorageFull`."""
    try:
        repository = services.repositories.get(request.project_id)
    except NotFound:
        return denied(CREATION_FAILED, "The downstream project has no commits.")
    made = await prepared_by_itself(services, request, repository, child_config)
    return made if made.error is None else Denied(CREATION_FAILED, _text(CREATION_FAILED, made.fault), made.shown)


def _text(reason: str, detail: str) -> str:
    return f"{TEXT_OF[reason]}: {detail}" if detail else f"{TEXT_OF[reason]}."
