"""What a call says of a pipeline schedule, checked: GitLab's fields, and our own policies."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final, Literal, TypeVar

from pydantic import BaseModel, Field

from application.pipelines.refs import find_ref
from domain.errors import AmbiguousRef, FieldsInvalid, Invalid, NotFound
from domain.projects.ref_names import full_ref
from domain.schedules.cron import parse
from domain.schedules.cron_ticks import next_tick
from domain.schedules.ticks import MAX_WINDOW, CatchUp, Overlap
from git.repository import Repositories
from models.time_zones import zone_of

Value = TypeVar("Value")

_NEVER: Final = "is invalid syntax: none of its months has such a day, so it would never run."
_MAX_INPUTS: Final = 20
"""Of one pipeline (GitLab's limit)."""


class Input(BaseModel):
    """A value for an input of the configuration; `destroy` takes it away."""

    name: str = Field(min_length=1, max_length=255)
    value: Any = None
    destroy: bool = False


class ScheduleFields(BaseModel):
    """What may be given of a schedule; what is not given stays as it is."""

    description: str | None = Field(default=None, max_length=1_000)
    ref: str | None = Field(default=None, max_length=1_000)
    cron: str | None = None
    cron_timezone: str | None = None
    active: bool | None = None
    inputs: list[Input] | None = None
    overlap_policy: Overlap | None = None
    catch_up: CatchUp | None = None
    catch_up_window: int | None = Field(default=None, ge=0, le=MAX_WINDOW)


class NewSchedule(ScheduleFields):
    """Parameters of `POST /projects/:id/pipeline_schedules`."""

    description: str = Field(max_length=1_000)
    ref: str = Field(max_length=1_000)
    cron: str


class NewScheduleVariable(BaseModel):
    """Parameters of `POST .../variables`."""

    key: str
    value: str
    variable_type: Literal["env_var", "file"] = "env_var"
    raw: bool = False


class ScheduleVariableChanges(BaseModel):
    """Parameters of `PUT .../variables/:key`."""

    value: str | None = None
    variable_type: Literal["env_var", "file"] | None = None
    raw: bool | None = None


def when_checked(cron: str, zone: str, now: datetime) -> None:
    """Raise `FieldsInvalid` unless the schedule ticks some day."""
    faults: dict[str, str] = {}
    rule = _read("cron", parse, cron, faults)
    known = _read("cron_timezone", zone_of, zone, faults)
    if rule is not None and rule.zone:
        known = _read("cron", zone_of, rule.zone, faults)
    if rule is not None and known is not None and next_tick(rule, known, now) is None:
        faults["cron"] = _NEVER
    if faults:
        raise FieldsInvalid(**faults)


def _read(name: str, read: Callable[[str], Value], text: str, faults: dict[str, str]) -> Value | None:
    """What a text says; where it is wrong, the fault without the field's name before it."""
    try:
        return read(text)
    except Invalid as error:
        faults[name] = str(error).removeprefix(f"{name} ")
        return None


async def found_ref(repositories: Repositories, project_id: int, name: str) -> str:
    """`refs/heads/...` or `refs/tags/...` of a branch or tag. Raises `FieldsInvalid`.

    A short name that is both a branch and a tag is refused, as in GitLab.
    """
    if not name.strip():
        raise FieldsInvalid(ref="can't be blank")
    try:
        repository = repositories.get(project_id)
        short, tag, _ = await find_ref(repository, name)
    except AmbiguousRef as error:
        raise FieldsInvalid(ref=f"is ambiguous: {error}") from error
    except (NotFound, Invalid) as error:
        raise FieldsInvalid(ref="Reference not found") from error
    return full_ref(short, tag=tag)


def columns_of(given: ScheduleFields, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The columns that a call writes, all but the ref; `inputs` are those that there are. Raises `FieldsInvalid`."""
    plain: dict[str, Any] = {
        "description": given.description,
        "active": given.active,
        "catch_up_window": given.catch_up_window,
    }
    plain |= {"cron": given.cron and given.cron.strip(), "cron_timezone": given.cron_timezone}
    values = {name: value for name, value in plain.items() if value is not None}
    if not str(values.get("description", "there")).strip():
        raise FieldsInvalid(description="can't be blank")
    if given.overlap_policy is not None:
        values["overlap"] = given.overlap_policy.value
    if given.catch_up is not None:
        values["catch_up"] = given.catch_up.value
    if given.inputs is not None:
        values["inputs"] = _merged(given.inputs, inputs)
    return values


def _merged(given: list[Input], known: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(known)
    for item in given:
        if item.destroy:
            merged.pop(item.name, None)
        else:
            merged[item.name] = item.value
    if len(merged) > _MAX_INPUTS:
        raise FieldsInvalid(inputs=f"exceeds the limit of {_MAX_INPUTS}.")
    return merged
