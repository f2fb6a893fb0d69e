"""The runner that a call names, as the caller may use it."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends

from api.deps import ServicesDep
from api.services import Services
from api.v4.access import Id, KnownCallerDep
from auth.permissions import Caller, RunnerAction, require_runner
from domain.errors import NotFound
from domain.runners.matching import RunnerType
from models.repositories.runners import runners
from models.rows.runners import RunnerRow


@dataclass(frozen=True, slots=True)
class RunnerAccess:
    """A runner that the caller may read.

    `lowest` and `highest` are the caller's access levels in the projects that the runner works for.
    """

    row: RunnerRow
    caller: Caller
    lowest: int
    highest: int

    def require(self, action: RunnerAction) -> None:
        """Raise unless the caller may do it."""
        require_runner(self.caller, action, RunnerType(self.row.runner_type), self.lowest, self.highest)


async def access_to_runner(services: Services, caller: Caller, runner_id: int) -> RunnerAccess:
    """A runner that the caller may at least read. Raises `NotFound`."""
    async with services.database.read() as connection:
        row = await runners.get(connection, runner_id)
        if row is None:
            raise NotFound("Runner Not Found")
        lowest, highest = await runners.levels(connection, row, caller.user_id)
    access = RunnerAccess(row, caller, lowest, highest)
    access.require(RunnerAction.READ)
    return access


async def runner_of(runner_id: Id, services: ServicesDep, caller: KnownCallerDep) -> RunnerAccess:
    """The runner of a path. Raises `NotFound`."""
    return await access_to_runner(services, caller, runner_id)


RunnerDep = Annotated[RunnerAccess, Depends(runner_of)]
