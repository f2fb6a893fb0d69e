"""The form of a pipeline schedule: a new one, or a change of one, with the ticks that it would have."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Final
from zoneinfo import available_timezones

from fastapi import Depends, Request
from fastapi.responses import RedirectResponse, Response

from api.deps import ServicesDep
from api.leaving_callers import EndsWithCaller
from api.pages.forms.filled import KINDS, Filled, require_keys
from api.pages.forms.refs import refs_of
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.frame.responses import page
from api.pages.schedules.given import (
    CATCH_UPS,
    OVERLAPS,
    GivenSchedule,
    fields_of,
    given_by,
    given_of,
    variables_of,
)
from api.pages.schedules.schedules import PageScheduleDep, address
from api.pages.schedules.shown import told
from api.routes import RouteList
from api.services import Services
from api.v4.origin import require_our_pages
from api.v4.parameters import nested, parameters
from application.access import ProjectAccess
from application.pipelines.run_form import Form, form_of
from application.schedules import changing
from application.schedules.schedule_access import ScheduleAccess
from auth.permissions import Action, ScheduleAction
from domain.errors import FieldsInvalid, Forbidden, Invalid, NotFound
from domain.schedules.ticks import SOURCE
from models.repositories.pipelines import schedules

EMPTY_ROWS: Final = 3
"""Rows for variables where no script adds more."""
PRESETS: Final = (
    ("0 * * * *", "every hour"),
    ("0 4 * * *", "every night"),
    ("0 4 * * 1-5", "on weekdays"),
    ("0 4 * * 0", "every week"),
    ("0 4 1 * *", "every month"),
)
"""Expressions that people ask for most, with words."""

router = RouteList(prefix=f"{PREFIX}/-/pipeline_schedules", kind=EndsWithCaller)


async def sent(request: Request, services: ServicesDep) -> GivenSchedule:
    """The form that somebody sent. Raises `Invalid`, `TooLarge`."""
    return given_by(await parameters(request, services.settings.sizes.json_bytes))


GivenDep = Annotated[GivenSchedule, Depends(sent)]


@router.get("/new")
async def new_page(request: Request, services: ServicesDep, project: PageProjectDep) -> Response:
    """The form of a new schedule; the address may say the ref."""
    project.require(Action.RUN)
    values = nested(request.query_params.multi_items())
    given = GivenSchedule(Filled(str(values.get("ref") or project.row.default_branch)))
    return await _page(services, project, given)


@router.post("/new", dependencies=[Depends(require_our_pages)])
async def new_shown(services: ServicesDep, project: PageProjectDep, given: GivenDep) -> Response:
    """The form as it is filled in, with what its ref asks for and the ticks that it would have."""
    project.require(Action.RUN)
    return await _page(services, project, given)


@router.post("", dependencies=[Depends(require_our_pages)])
async def create(services: ServicesDep, project: PageProjectDep, given: GivenDep) -> Response:
    """Make the schedule; what is wrong is told beside the form as it was filled in."""
    project.require(Action.RUN)
    form = await _form(services, project, given)
    try:
        require_keys(given.filled.variables)
        await changing.create(services, project, fields_of(given, form, {}), variables_of(given))
    except (Invalid, NotFound, Forbidden) as error:
        return await _page(services, project, given, form=form, error=error)
    return RedirectResponse(address(project), 303)


@router.get("/{schedule_id}/edit")
async def edit_page(services: ServicesDep, project: PageProjectDep, found: PageScheduleDep) -> Response:
    """The form of a schedule that there is."""
    _require_change(found)
    async with services.database.read() as connection:
        variables = await schedules.variables_of(connection, found.row.id)
    return await _page(services, project, given_of(services, found.row, variables), found)


def _require_change(found: ScheduleAccess) -> None:
    """Raise `Forbidden` with what to do for who may take the schedule over first."""
    if found.may(ScheduleAction.ADMINISTER) and not found.may(ScheduleAction.CHANGE):
        raise Forbidden("Forbidden: a schedule runs with its owner's rights, so only they change it; take it first.")
    found.require(ScheduleAction.CHANGE)


@router.post("/{schedule_id}/edit", dependencies=[Depends(require_our_pages)])
async def edit_shown(
    services: ServicesDep, project: PageProjectDep, found: PageScheduleDep, given: GivenDep
) -> Response:
    """The form as it is filled in, with what its ref asks for and the ticks that it would have."""
    _require_change(found)
    return await _page(services, project, given, found)


@router.post("/{schedule_id}", dependencies=[Depends(require_our_pages)])
async def change(services: ServicesDep, project: PageProjectDep, found: PageScheduleDep, given: GivenDep) -> Response:
    """Change the schedule; what is wrong is told beside the form as it was filled in."""
    _require_change(found)
    form = await _form(services, project, given)
    async with services.database.read() as connection:
        known = await schedules.variables_of(connection, found.row.id)
    try:
        require_keys(given.filled.variables)
        wanted = fields_of(given, form, found.row.inputs)
        await changing.change(services, found, wanted, variables_of(given, known))
    except (Invalid, NotFound, Forbidden) as error:
        return await _page(services, project, given, found, form=form, error=error)
    return RedirectResponse(address(project), 303)


async def _form(services: Services, project: ProjectAccess, given: GivenSchedule) -> Form:
    return await form_of(services, project, given.filled.ref, SOURCE, given.filled.inputs)


async def _page(
    services: Services,
    project: ProjectAccess,
    given: GivenSchedule,
    found: ScheduleAccess | None = None,
    *,
    form: Form | None = None,
    error: Exception | None = None,
) -> Response:
    if form is None:
        form = await _form(services, project, given)
        given = replace(given, filled=given.filled.settled(form.inputs))
    refs: Sequence[str] = ()
    try:
        refs = await refs_of(services, project)
    except NotFound:
        form = replace(form, faults=("The repository is empty; push a commit first.",))
    comes = told(given.cron, given.zone, services.clock())
    return page(
        "schedules/schedule_form.html",
        project.caller,
        200 if error is None else 400,
        project=project.row,
        section="schedules",
        schedule=None if found is None else found.row,
        given=given,
        form=form,
        told=comes,
        faults=_faults(error),
        empty=range(EMPTY_ROWS),
        kinds=KINDS,
        overlaps=OVERLAPS,
        catch_ups=CATCH_UPS,
        presets=PRESETS,
        refs=refs,
        zones=sorted(available_timezones()),
    )


def _faults(error: Exception | None) -> list[str]:
    """What is wrong with what was sent, a sentence each."""
    if error is None:
        return []
    if isinstance(error, FieldsInvalid):
        return [f"{_WORDS.get(name, name)} {text}" for name, text in error.faults.items()]
    return [str(error)]


_WORDS: Final = {
    "cron": "Interval pattern",
    "cron_timezone": "Time zone",
    "ref": "Branch or tag",
    "description": "Description",
    "key": "The name of a variable",
    "inputs": "Inputs",
    "variables": "Variables:",
}
"""Names of fields as the form shows them."""
