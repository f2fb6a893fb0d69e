"""Creating runners: the token of the response is what `gitlab-runner register` wants."""

from typing import Annotated

from fastapi import Depends
from pydantic import Field

from api.deps import ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.access import KnownCallerDep
from api.v4.namespaces.groups import group_by
from api.v4.parameters import given
from api.v4.representation.runners import NewRunnerResponse, issued_token
from application.access import access_to
from application.runners.parameters import RunnerWishes
from application.runners.tokens import add_runner
from auth.permissions import Action, Caller, GroupAction, require_admin
from domain.errors import Invalid
from domain.runners.matching import RunnerType
from models.repositories.runners.registration_tokens import RunnerScope, scope_of_group

router = RouteList()


class NewRunner(RunnerWishes):
    """Parameters of `POST /user/runners`."""

    runner_type: RunnerType
    group_id: int | None = Field(default=None, ge=1, le=2**53)
    project_id: int | None = Field(default=None, ge=1, le=2**53)
    as_server: bool | None = None


@router.post("/user/runners", status_code=201)
async def create_runner(
    new: Annotated[NewRunner, Depends(given(NewRunner))], caller: KnownCallerDep, services: ServicesDep
) -> NewRunnerResponse:
    """Add a runner; its token is shown only in this response.

    Whether its jobs run as the server's own user (`as_server`) is for administrators to say.
    """
    columns = new.columns()
    if new.as_server is not None:
        require_admin(caller)
        columns["as_server"] = new.as_server
    scope = await _scope(services, caller, new)
    runner_id, issued = await add_runner(services, scope, columns, by_registration=False)
    return {"id": runner_id, **issued_token(issued)}


async def _scope(services: Services, caller: Caller, new: NewRunner) -> RunnerScope:
    """Whose runner it is to be, if the caller may add one there. Raises `Invalid`, `Forbidden`, `NotFound`."""
    if new.runner_type is RunnerType.PROJECT:
        if new.project_id is None:
            raise Invalid("project_id is missing")
        project = await access_to(services, caller, new.project_id)
        project.require(Action.ADMINISTER)
        return RunnerScope(new.runner_type, project.row.organisation_id, project.row.id)
    if new.runner_type is RunnerType.INSTANCE:
        require_admin(caller)
        return RunnerScope()
    if new.group_id is None:
        raise Invalid("group_id is missing")
    group = await group_by(services, caller, str(new.group_id))
    group.require(GroupAction.OWN)
    return scope_of_group(group.row)
