"""Creating runners: the token of the answer is what `gitlab-runner register` wants."""

from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Depends
from pydantic import BaseModel, BeforeValidator, Field

from api.deps import ServicesDep, access_to
from api.services import Services
from api.v4.access import KnownCallerDep
from api.v4.parameters import given
from auth.permissions import Action, Caller, require_admin
from auth.secret_token import RUNNER, digest, routable_token
from domain.errors import Invalid
from models.columns import Record
from models.repositories import runners

TYPE_NUMBER: Final = {"instance_type": 1, "group_type": 2, "project_type": 3}
"""What a runner's token says of its type."""

router = APIRouter()


def _tags(value: Any) -> Any:
    """A list of tags, also from a text with commas."""
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list):
        return items
    return list(dict.fromkeys(item.strip() for item in items if isinstance(item, str) and item.strip()))


Tags = Annotated[list[Annotated[str, Field(max_length=255)]], BeforeValidator(_tags), Field(max_length=50)]
AccessLevel = Literal["not_protected", "ref_protected"]
Timeout = Annotated[int, Field(ge=600, le=30 * 86_400)]


class NewRunner(BaseModel):
    """Parameters of `POST /user/runners`."""

    runner_type: Literal["instance_type", "group_type", "project_type"]
    project_id: int | None = Field(default=None, ge=1, le=2**53)
    description: str = Field(default="", max_length=1024)
    run_untagged: bool = True
    tag_list: Tags = []
    locked: bool = False
    paused: bool = False
    maximum_timeout: Timeout | None = None
    access_level: AccessLevel = "not_protected"
    maintenance_note: str = Field(default="", max_length=1024)


def check_tags(tags: list[str], *, run_untagged: bool) -> None:
    """Raise `Invalid` for a runner that could take no job at all."""
    if not tags and not run_untagged:
        raise Invalid("tag_list can not be empty when runner is not allowed to pick untagged jobs")


@router.post("/user/runners", status_code=201)
async def create_runner(
    new: Annotated[NewRunner, Depends(given(NewRunner))], caller: KnownCallerDep, services: ServicesDep
) -> dict[str, Any]:
    """Add a runner; its token is shown only in this answer."""
    check_tags(new.tag_list, run_untagged=new.run_untagged)
    project = await _scope(services, caller, new)
    token = routable_token(
        RUNNER,
        {
            "c": services.settings.pod_number + 1,
            "o": project.organisation_id if project is not None else 0,
            "t": TYPE_NUMBER[new.runner_type],
        },
    )
    async with services.database.write() as connection:
        runner_id = await runners.create(
            connection,
            digest(token),
            services.clock(),
            runner_type=new.runner_type,
            project_id=project.id if project is not None else None,
            description=new.description,
            tags=new.tag_list,
            run_untagged=new.run_untagged,
            locked=new.locked,
            paused=new.paused,
            ref_protected=new.access_level == "ref_protected",
            maximum_timeout=new.maximum_timeout,
            maintenance_note=new.maintenance_note,
        )
    return {"id": runner_id, "token": token, "token_expires_at": None}


async def _scope(services: Services, caller: Caller, new: NewRunner) -> Record | None:
    """The project of a project runner; None for an instance runner, which only administrators may add."""
    if new.runner_type == "instance_type":
        require_admin(caller)
        return None
    if new.runner_type == "group_type":
        raise Invalid("runner_type group_type is not supported: add a project_type runner, or an instance_type one.")
    if new.project_id is None:
        raise Invalid("project_id is missing")
    access = await access_to(services, caller, new.project_id)
    access.require(Action.ADMINISTER)
    return access.row
