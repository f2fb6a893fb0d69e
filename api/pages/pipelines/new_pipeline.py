"""The form that starts a pipeline by hand, prefilled from the configuration at a ref."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Final

from fastapi import Depends, Request
from fastapi.responses import RedirectResponse, Response

from api.deps import ServicesDep
from api.leaving_callers import EndsWithCaller
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.frame.responses import page
from api.routes import RouteList
from api.services import Services
from api.v4.origin import require_our_pages
from api.v4.parameters import parameters
from application.access import ProjectAccess
from application.configurations.compiling import Compilation
from application.configurations.config_sources import ConfigSources
from application.configurations.project_config import configuration_of
from application.pipelines.ci_variables import reaching
from application.pipelines.creation import create_pipeline, with_commit
from application.pipelines.event_context import event_context
from application.pipelines.refs import find_ref
from auth.permissions import Action
from domain.config.form import FormField, input_fields, variable_fields
from domain.errors import ConfigInvalid, Forbidden, Invalid, NotFound, PipelineFiltered
from domain.variables.ci_variables import KEY
from git.repository import Ref
from models.repositories.accounts import accounts
from models.repositories.pipelines.pipelines import PipelineRequest

WEB: Final = "web"
"""Source of a pipeline that somebody started with the form."""
EMPTY_ROWS: Final = 3
"""Rows for variables of one's own; more come with each response that has filled them."""
MAX_BRANCHES: Final = 500
"""So many refs are offered; any other can be typed."""

router = RouteList(prefix=f"{PREFIX}/-/pipelines", kind=EndsWithCaller)


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a ref, and what is wrong with its configuration."""

    inputs: tuple[FormField, ...] = ()
    variables: tuple[FormField, ...] = ()
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Filled:
    """A form as it was sent: fields of inputs by name, and variables."""

    ref: str
    inputs: dict[str, str]
    variables: tuple[tuple[str, str], ...]


@router.get("/new")
async def show_form(services: ServicesDep, project: PageProjectDep, ref: str = "") -> Response:
    """The form for a ref, the default branch without one."""
    project.require(Action.RUN)
    wanted = ref or project.row.default_branch
    form = await _form_of(services, project, wanted)
    filled = Filled(wanted, {field.name: field.value for field in form.inputs}, ())
    return await _page(services, project, form, filled)


async def sent(request: Request, services: ServicesDep) -> Filled:
    """The form that somebody sent. Raises `Invalid`, `TooLarge`."""
    values = await parameters(request, services.settings.sizes.json_bytes)
    keys, texts = (_texts(values.get(name)) for name in ("keys", "values"))
    inputs = values.get("inputs")
    return Filled(
        str(values.get("ref", "")),
        {name: str(text) for name, text in inputs.items()} if isinstance(inputs, dict) else {},
        tuple((key.strip(), text) for key, text in zip(keys, texts, strict=False) if key.strip()),
    )


def _texts(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []


@router.post("", dependencies=[Depends(require_our_pages)])
async def start(services: ServicesDep, project: PageProjectDep, filled: Annotated[Filled, Depends(sent)]) -> Response:
    """Start the pipeline and go to its page; what is wrong is told beside the form as it was filled in."""
    project.require(Action.RUN)
    try:
        pipeline_id = await _started(services, project, filled)
    except (Invalid, NotFound, Forbidden) as error:
        form = await _form_of(services, project, filled.ref)
        return await _page(services, project, form, filled, _faults(error), status=400)
    return RedirectResponse(f"/{project.row.full_path}/-/pipelines/{pipeline_id}", 303)


async def _started(services: Services, project: ProjectAccess, filled: Filled) -> int:
    wrong = next((key for key, _ in filled.variables if not KEY.fullmatch(key)), None)
    if wrong is not None:
        raise Invalid(f"The variable {wrong[:100]!r} has no fit name: use letters, digits and '_', 255 at most.")
    repository = services.repositories.get(project.row.id)
    ref, tag, sha = await find_ref(repository, filled.ref)
    project.require_run(ref, tag=tag)
    request = PipelineRequest(
        project_id=project.row.id,
        user_id=project.caller.user_id,
        ref=ref,
        sha=sha,
        source=WEB,
        tag=tag,
        variables=tuple({"key": key, "value": value} for key, value in filled.variables),
        inputs=filled.inputs,
    )
    return await create_pipeline(services, request, repository)


async def _form_of(services: Services, project: ProjectAccess, name: str) -> Form:
    """What a ref's configuration asks for; with every rule left open, so that it does not depend on values."""
    try:
        repository = services.repositories.get(project.row.id)
        ref, tag, sha = await find_ref(repository, name)
        request = PipelineRequest(project.row.id, project.caller.user_id, ref, sha, WEB, tag)
        request = await with_commit(request, repository)
        config = await configuration_of(services, project.row, sha, repository, {})
        async with services.database.read() as connection:
            user = await accounts.get(connection, project.caller.user_id)
            ours = await reaching(services, connection, project.row.id)
        context = event_context(services.settings, request, project.row, user, services.clock(), ours)
        sources = ConfigSources.of_event(services, request, project.row, user, repository)
        compilation = Compilation(services, config.text, context, sources, config.file)
        inputs, values = await compilation.compute(partial(input_fields, config.text, config.file))
        compilation.context = replace(context, inputs=values)
        try:
            return Form(inputs, variable_fields(await compilation.plan(every_job=True)))
        except ConfigInvalid as error:
            return Form(inputs, faults=_faults(error))
    except (Invalid, NotFound) as error:
        return Form(faults=_faults(error))


def _faults(error: Exception) -> tuple[str, ...]:
    if isinstance(error, ConfigInvalid):
        return tuple(map(str, error.issues))
    if isinstance(error, PipelineFiltered):
        return (str(error), "Give variables that let a job in, choose another ref, or change the rules.")
    if str(error) == "Reference not found":
        return ("There is no such branch or tag; choose one of the list.",)
    return (str(error),)


async def _page(
    services: Services,
    project: ProjectAccess,
    form: Form,
    filled: Filled,
    errors: Sequence[str] = (),
    status: int = 200,
) -> Response:
    refs: Sequence[Ref] = ()
    try:
        repository = services.repositories.get(project.row.id)
        refs = (*await repository.branches(), *await repository.tags())[:MAX_BRANCHES]
    except NotFound:
        errors = errors or ("The repository is empty; push a commit first.",)
    known = {field.name for field in form.variables}
    given = dict(filled.variables)
    return page(
        "pipelines/new_pipeline.html",
        project.caller,
        status,
        project=project.row,
        form=form,
        filled=filled,
        given=given,
        own=[(key, value) for key, value in filled.variables if key not in known],
        empty=range(EMPTY_ROWS),
        refs=refs,
        errors=list(dict.fromkeys((*errors, *form.faults))),
    )
