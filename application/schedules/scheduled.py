"""Which pipeline a tick of a schedule wants: of which commit, for whom, with which variables and inputs.

Source: docs/reference/ci-yaml.md, "Variables"; docs/reference/pipelines.md, "Pipeline sources". Scheduled pipelines
ignore `[skip ci]`.
"""

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from application.access import access_to, caller_from
from application.pipelines.prepared import Prepared, prepared_by_itself
from application.pipelines.refs import find_ref
from application.services import Services
from domain.errors import (
    Forbidden,
    NotFound,
    PerdureError,
    StorageFull,
    Unauthenticated,
    Unavailable,
)
from domain.schedules.ticks import SOURCE, short_ref
from models.repositories.accounts import accounts
from models.repositories.pipelines import schedules
from models.repositories.pipelines.pipelines import PipelineRequest
from models.rows.accounts import UserRow
from models.rows.schedules import PipelineScheduleRow, ScheduleTickRow, ScheduleVariableRow

OWNER_GONE: Final = "The owner of the schedule is gone: somebody has to take ownership of it."
MAY_NOT_RUN: Final = "{name} may not run pipelines of this project on {ref}."
REF_GONE: Final = "Reference not found: {ref} does not exist."


@dataclass(frozen=True, slots=True)
class Failed:
    """No pipeline, and why. `request` is that of a pipeline that shall show the faults of the configuration."""

    reason: str
    request: PipelineRequest | None = None


Wish: TypeAlias = Prepared | Failed


async def wish_of(services: Services, tick: ScheduleTickRow, schedule: PipelineScheduleRow) -> Wish:
    """What a tick asks for. Raises `Unavailable` and `StorageFull`: try again later."""
    user_id = tick.user_id if tick.user_id is not None else schedule.owner_id
    try:
        async with services.database.read() as connection:
            user = await accounts.get(connection, user_id or 0)
            variables = await schedules.variables_of(connection, schedule.id)
    except NotFound:
        return Failed(OWNER_GONE)
    if not await _may_run(services, user, schedule):
        return Failed(MAY_NOT_RUN.format(name=user.username, ref=schedule.ref))
    try:
        repository = services.repositories.get(schedule.project_id)
        ref, tag, sha = await find_ref(repository, schedule.ref)
    except (Unavailable, StorageFull):
        raise
    except PerdureError:
        return Failed(REF_GONE.format(ref=schedule.ref))
    request = PipelineRequest(
        project_id=schedule.project_id,
        user_id=user.id,
        ref=ref,
        sha=sha,
        source=SOURCE,
        tag=tag,
        variables=tuple(_document(services, variable) for variable in variables),
        inputs=schedule.inputs,
        schedule_description=schedule.description,
    )
    made = await prepared_by_itself(services, request, repository)
    return made if made.error is None else Failed(made.fault, made.shown)


async def _may_run(services: Services, user: UserRow, schedule: PipelineScheduleRow) -> bool:
    """Whether a person may run pipelines on the ref now, which may have changed since they made the schedule."""
    if user.state != accounts.ACTIVE:
        return False
    try:
        project = await access_to(services, caller_from(user), schedule.project_id)
        ref, tag = short_ref(schedule.ref)
        project.require_run(ref, tag=tag)
    except (NotFound, Forbidden, Unauthenticated):
        return False
    return True


def _document(services: Services, variable: ScheduleVariableRow) -> dict[str, Any]:
    """A variable as a pipeline stores it."""
    value = services.sealer.open(variable.value, schedules.purpose_of(variable.schedule_id))
    kind = {"variable_type": variable.variable_type} if variable.variable_type != "env_var" else {}
    return {"key": variable.key, "value": value, **({"raw": True} if variable.raw else {}), **kind}
