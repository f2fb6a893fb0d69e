"""A pipeline that is about to be written together with what asks for it: with a plan, or with the reason for none."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy.ext.asyncio import AsyncConnection

from application.pipelines.creation import prepare, with_commit, with_head
from application.pipelines.deployment_targets import places_for
from application.pipelines.sealed_values import seal_of
from application.services import Services
from domain.config.plan import Plan
from domain.environments.places import Place
from domain.errors import (
    ConfigInvalid,
    ConfigMissing,
    Invalid,
    PerdureError,
    PipelineFiltered,
    StorageFull,
    Unavailable,
)
from domain.pipelines.skipping import BY_MESSAGE, is_skipped
from domain.pipelines.status import Status
from git.repository import Repository
from models.repositories.pipelines import pipelines
from models.repositories.pipelines.pipelines import PipelineRequest
from models.rows.projects import ProjectRow

FAULTY: Final = "config_error"
"""The failure reason of a pipeline that shows why it could not be made."""


async def save_faulty(services: Services, connection: AsyncConnection, request: PipelineRequest, faults: str) -> int:
    """Write a pipeline without jobs that shows why it could not be made; its id."""
    now, seal = services.clock(), seal_of(services.sealer)
    return await pipelines.create_ended(
        connection, request, Status.FAILED, now, seal=seal, reason=FAULTY, errors=faults
    )


@dataclass(frozen=True, slots=True)
class Prepared:
    """Has a `plan`, with the `places` of its jobs, or an `error`; with `skip` it only says why nothing was wanted.

    `repository` is the one that it runs on.
    """

    request: PipelineRequest
    repository: Repository
    plan: Plan | None = None
    error: PerdureError | None = None
    skip: str = ""
    places: Sequence[Place] = ()

    @property
    def fault(self) -> str:
        """Why nothing will run; empty if something will."""
        if isinstance(self.error, ConfigInvalid):
            return "\n".join(map(str, self.error.issues))
        return str(self.error or "")

    @property
    def is_unwanted(self) -> bool:
        """Whether there is no configuration, or its rules want no pipeline: not even one that shows a fault."""
        return isinstance(self.error, ConfigMissing | PipelineFiltered)

    @property
    def shown(self) -> PipelineRequest | None:
        """The request of a pipeline that shall show the fault; None where not even that is wanted."""
        return None if self.is_unwanted else self.request

    async def save(self, services: Services, connection: AsyncConnection) -> int | None:
        """Write the pipeline; None if there is no configuration, or its rules want none."""
        now, seal = services.clock(), seal_of(services.sealer)
        if self.is_unwanted:
            return None
        services.metrics.created(self.request.source, 0 if self.skip or self.plan is None else len(self.plan.jobs))
        if self.skip:
            return await pipelines.create_ended(connection, self.request, Status.SKIPPED, now, seal=seal, why=self.skip)
        if self.plan is not None:
            return await pipelines.create(connection, self.request, self.plan, now, self.places, seal=seal)
        return await save_faulty(services, connection, self.request, self.fault)

    def report(self, services: Services, project: ProjectRow, pipeline_id: int | None, name: str = "") -> list[str]:
        """What the pusher shall read; `name` is what the pipeline is for, if not its ref."""
        name = name or self.request.ref
        if isinstance(self.error, ConfigMissing):
            return []
        if pipeline_id is None:
            return ["", f"No pipeline for {name}:", f"  {self.fault}", ""]
        address = f"{services.settings.url}/{project.full_path}/-/pipelines/{pipeline_id}"
        if self.skip:
            return ["", f"Pipeline {pipeline_id} for {name}: {self.skip}", f"  {address}", ""]
        if self.plan is not None:
            return ["", f"Pipeline {pipeline_id} for {name}:", f"  {address}", ""]
        return ["", f"Pipeline {pipeline_id} could not be made:", *(f"  {x}" for x in self.fault.split("\n")), ""]


async def prepared(
    services: Services,
    request: PipelineRequest,
    repository: Repository,
    *,
    skip: str | None = None,
    child_config: str = "",
) -> Prepared:
    """Compile what a request asks for; faults of the configuration are part of the result. Raises `Unavailable`.

    Without `skip` the commit's message says whether anything is wanted. `child_config` takes the place of the
    project's configuration.
    """
    plan: Plan | None = None
    error: Invalid | None = None
    places: Sequence[Place] = ()
    try:
        request, plan = await prepare(services, request, repository, child_config)
        places = await places_for(services, request, plan)
    except Invalid as raised:
        error = raised
    if error is None:
        request = await with_head(request, repository)
    else:
        request, plan = await with_commit(request, repository), None
    if skip is None:
        skip = BY_MESSAGE if is_skipped(request.source, request.commit.get("message", "")) else ""
    return Prepared(request, repository, plan, error, skip, places)


async def prepared_by_itself(
    services: Services, request: PipelineRequest, repository: Repository, child_config: str = ""
) -> Prepared:
    """As `prepared`, for what nobody waits for and `[skip ci]` does not stop: whatever is wrong is part of the result.

    Raises `Unavailable` and `StorageFull`: try again later.
    """
    try:
        return await prepared(services, request, repository, skip="", child_config=child_config)
    except (Unavailable, StorageFull):
        raise
    except PerdureError as error:
        return Prepared(await with_commit(request, repository), repository, error=error)
