"""A pipeline that is about to be written together with what asks for it: with a plan, or with the reason for none."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncConnection

from api.pipeline_creation import prepare, with_commit, with_head
from api.places import places_for
from api.services import Services
from domain.config.plan import Plan
from domain.errors import ConfigInvalid, ConfigMissing, Invalid, PipelineFiltered
from domain.places import Place
from domain.skipping import is_skipped
from domain.status import Status
from git.repository import Repository
from models.repositories import pipelines
from models.repositories.pipelines import PipelineRequest


@dataclass(frozen=True, slots=True)
class Prepared:
    """What `save` writes. Without a plan a pipeline that failed shows `faults`; with `absent` there is none at all."""

    request: PipelineRequest
    plan: Plan | None = None
    places: Sequence[Place] = ()
    faults: str = ""
    absent: str = ""

    async def save(self, services: Services, connection: AsyncConnection) -> int | None:
        """Write the pipeline; None if there is none to be."""
        now = services.clock()
        if self.absent:
            return None
        if is_skipped(self.request.source, self.request.commit.get("message", "")):
            return await pipelines.create_ended(connection, self.request, Status.SKIPPED, now)
        if self.plan is not None:
            return await pipelines.create(connection, self.request, self.plan, now, self.places)
        failed = {"reason": "config_error", "errors": self.faults}
        return await pipelines.create_ended(connection, self.request, Status.FAILED, now, **failed)


async def prepared(services: Services, request: PipelineRequest, repository: Repository) -> Prepared:
    """Compile what a request asks for; faults of the configuration are part of the answer. Raises `Unavailable`."""
    try:
        request, plan = await prepare(services, request, repository)
        places = await places_for(services, request, plan)
    except (ConfigMissing, PipelineFiltered) as error:
        return Prepared(request, absent=str(error))
    except Invalid as error:
        faults = "\n".join(map(str, error.issues)) if isinstance(error, ConfigInvalid) else str(error)
        return Prepared(await with_commit(request, repository), faults=faults)
    return Prepared(await with_head(request, repository), plan, places)
