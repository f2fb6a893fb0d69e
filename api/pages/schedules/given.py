"""The form of a pipeline schedule: as it was sent, as a schedule fills it in, and as a change of one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from api.pages.forms.filled import Filled, GivenVariable, filled_of
from api.services import Services
from api.v4.parameters import validated
from application.pipelines.run_form import Form, inputs_given
from application.schedules.schedule_input import NewSchedule, NewScheduleVariable
from application.schedules.variables import opened_value
from domain.config.inputs.input_types import text_of
from domain.schedules.ticks import CATCH_UP_WINDOW, CatchUp, Overlap, short_ref
from models.rows.schedules import PipelineScheduleRow, ScheduleVariableRow

OVERLAPS: Final[Mapping[str, str]] = {
    Overlap.ALLOW_ALL: "start the next one beside it",
    Overlap.SKIP: "leave the next one out",
    Overlap.BUFFER_ONE: "let the next one wait for its end",
    Overlap.CANCEL_OTHER: "cancel it, and start when it has ended",
    Overlap.TERMINATE_OTHER: "cancel it, and start at once",
}
"""What happens when a pipeline of the schedule still runs, in words."""
CATCH_UPS: Final[Mapping[str, str]] = {CatchUp.LAST: "only the last one", CatchUp.ALL: "each one"}
_MINUTE: Final = 60


@dataclass(frozen=True, slots=True)
class GivenSchedule:
    """The fields as texts. `window` is minutes."""

    filled: Filled
    description: str = ""
    cron: str = "0 4 * * *"
    zone: str = "UTC"
    active: bool = True
    overlap: str = Overlap.ALLOW_ALL.value
    catch_up: str = CatchUp.LAST.value
    window: str = str(CATCH_UP_WINDOW // _MINUTE)
    faults: Mapping[str, str] = field(default_factory=dict)


def given_by(values: Mapping[str, Any]) -> GivenSchedule:
    """What somebody sent."""
    fresh = GivenSchedule(filled_of(values))
    return GivenSchedule(
        filled=fresh.filled,
        description=str(values.get("description", "")),
        cron=str(values.get("cron", "")),
        zone=str(values.get("cron_timezone", "")) or "UTC",
        active=str(values.get("active", "")) in {"1", "true", "on"},
        overlap=str(values.get("overlap", fresh.overlap)),
        catch_up=str(values.get("catch_up", fresh.catch_up)),
        window=str(values.get("window", fresh.window)),
    )


def given_of(services: Services, row: PipelineScheduleRow, variables: Sequence[ScheduleVariableRow]) -> GivenSchedule:
    """What a schedule is."""
    rows = [
        GivenVariable(one.key, opened_value(services, one), "file" if one.variable_type == "file" else "env_var")
        for one in variables
    ]
    inputs = {name: text_of(value, 1024 * 1024) or "" for name, value in row.inputs.items()}
    return GivenSchedule(
        filled=Filled(short_ref(row.ref)[0], inputs, tuple(rows)),
        description=row.description,
        cron=row.cron,
        zone=row.cron_timezone,
        active=row.active,
        overlap=row.overlap,
        catch_up=row.catch_up,
        window=f"{row.catch_up_window / _MINUTE:g}",
    )


def fields_of(given: GivenSchedule, form: Form, known: Mapping[str, Any]) -> NewSchedule:
    """The same as a call would give it. Raises `Invalid`.

    An input that has its default is not kept: it follows the configuration. Of those that are `known`, the ones that
    the form does not give are taken away.
    """
    defaults = {one.name: one.value for one in form.inputs if not one.required}
    asked = inputs_given(form, given.filled.inputs)
    wanted = {name: value for name, value in asked.items() if defaults.get(name) != value}
    inputs: list[dict[str, Any]] = [{"name": name, "value": value} for name, value in wanted.items()]
    inputs += [{"name": name, "destroy": True} for name in known.keys() - wanted.keys()]
    values = {
        "description": given.description,
        "ref": given.filled.ref,
        "cron": given.cron,
        "cron_timezone": given.zone,
        "active": given.active,
        "inputs": inputs,
        "overlap_policy": given.overlap,
        "catch_up": given.catch_up,
        "catch_up_window": _seconds(given.window),
    }
    return validated(NewSchedule, values)


def _seconds(minutes: str) -> int | str:
    """Seconds of a text of minutes; the text itself where it is no number, for whoever says so."""
    try:
        return round(float(minutes) * _MINUTE)
    except (ValueError, OverflowError):
        return minutes


def variables_of(given: GivenSchedule, known: Sequence[ScheduleVariableRow] = ()) -> list[NewScheduleVariable]:
    """The variables that a form gives; whether one is raw, which no form says, stays as it was."""
    raw = {row.key for row in known if row.raw}
    return [
        NewScheduleVariable(key=one.key, value=one.value, variable_type=one.kind, raw=one.key in raw)
        for one in given.filled.variables
    ]
