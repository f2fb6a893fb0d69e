"""Pipelines that are about to be written: with a plan, or with the reason why there is none."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from api.services import Services
from domain.config.plan import Plan
from domain.errors import ConfigInvalid, Invalid, PipelineFiltered
from domain.places import Place
from domain.status import Status
from models.repositories import pipelines
from models.repositories.pipelines import PipelineRequest


@dataclass(frozen=True, slots=True)
class MadePipeline:
    """Has a `plan`, with the `places` of its jobs, or an `error`; with `skip` it only shows that nothing was wanted."""

    request: PipelineRequest
    plan: Plan | None
    error: Invalid | None = None
    skip: bool = False
    places: Sequence[Place] = ()

    async def save(self, services: Services, connection: AsyncConnection) -> int | None:
        """Write the pipeline; None if the rules want none."""
        now = services.clock()
        if isinstance(self.error, PipelineFiltered):
            return None
        if self.skip:
            return await pipelines.create_ended(connection, self.request, Status.SKIPPED, now)
        if self.plan is not None:
            return await pipelines.create(connection, self.request, self.plan, now, self.places)
        return await pipelines.create_ended(
            connection, self.request, Status.FAILED, now, reason="config_error", errors=self._text()
        )

    def _text(self) -> str:
        if isinstance(self.error, ConfigInvalid):
            return "\n".join(str(issue) for issue in self.error.issues)
        return str(self.error)

    def report(self, services: Services, project: Any, pipeline_id: int | None, name: str = "") -> list[str]:
        """What the pusher shall read; `name` is what the pipeline is for, if not its ref."""
        name = name or self.request.ref
        if pipeline_id is None:
            return ["", f"No pipeline for {name}:", f"  {self.error}", ""]
        address = f"{services.settings.url}/{project.full_path}/-/pipelines/{pipeline_id}"
        if self.skip:
            return ["", f"Pipeline {pipeline_id} for {name} is skipped, as its commit asks.", ""]
        if self.plan is not None:
            return ["", f"Pipeline {pipeline_id} for {name}:", f"  {address}", ""]
        return ["", f"Pipeline {pipeline_id} could not be made:", *(f"  {x}" for x in self._text().split("\n")), ""]
