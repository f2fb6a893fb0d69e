"""What the caller may do with a job now, and what each of it will do: the buttons of its page."""

from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncConnection

from api.pages.pipelines.deeds import AGAIN
from application.access import ProjectAccess
from application.jobs.leavings import is_erasable, require_erase
from auth.permissions import Action
from domain.errors import Forbidden, NotFound, Unauthenticated
from domain.pipelines.operations import CANCELABLE, RETRIABLE
from domain.pipelines.status import COMPLETE, Status
from domain.pipelines.stuck import awaits_permission
from models.repositories.environments import deploy_permissions
from models.repositories.pipelines import overview
from models.rows.artifacts import ArtifactRow
from models.rows.pipelines import JobRow, PipelineRow


@dataclass(frozen=True, slots=True)
class Offers:
    """The buttons. `inputs` and `steps` say that there is more to say than yes.

    `others`: the pipeline has jobs to retry. One that has passed with optional jobs unplayed is over: these are played
    or left, and not canceled.
    """

    play: bool
    unschedule: bool
    retry: bool
    others: bool
    steps: bool
    inputs: bool
    cancel: bool
    erase: bool
    keep: bool
    delete: bool
    allow: bool

    @property
    def more(self) -> bool:
        """Whether there are some that are seldom wanted."""
        return self.erase or self.keep or self.delete


async def offers_of(
    connection: AsyncConnection,
    project: ProjectAccess,
    row: JobRow,
    pipeline: PipelineRow,
    archive: ArtifactRow | None,
    stuck: str = "",
) -> Offers:
    """What the REST API would do for the caller."""
    guarded = await deploy_permissions.refusal_of_job(connection, row.id, project.caller.user_id)
    state, may_change = Status(row.status), not guarded and project.may_run(pipeline)
    allowed = may_change and not row.retried
    ended = state in COMPLETE
    return Offers(
        play=allowed and state in {Status.MANUAL, Status.SCHEDULED},
        unschedule=allowed and state is Status.SCHEDULED,
        retry=allowed and state in RETRIABLE,
        others=allowed and bool(await overview.named(connection, pipeline.id, AGAIN, 1)),
        steps=bool(row.plan.get("run")),
        inputs=bool(row.plan.get("inputs")),
        cancel=allowed and state in CANCELABLE and pipeline.status not in COMPLETE,
        erase=may_change and _may_erase(project, row),
        keep=may_change and archive is not None and archive.expire_at is not None,
        delete=may_change and project.may(Action.ADMINISTER) and ended and archive is not None,
        allow=project.caller.is_admin and awaits_permission(stuck),
    )


def _may_erase(project: ProjectAccess, row: JobRow) -> bool:
    if not is_erasable(row):
        return False
    try:
        require_erase(project, row)
    except (Forbidden, NotFound, Unauthenticated):
        return False
    return True
