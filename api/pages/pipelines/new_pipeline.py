"""The form that starts a pipeline by hand, prefilled from the configuration at a ref, and the plan of it."""

from collections.abc import Sequence
from typing import Annotated, Any, Final

from fastapi import Depends, Request
from fastapi.responses import RedirectResponse, Response

from api.deps import ServicesDep
from api.leaving_callers import EndsWithCaller
from api.pages.forms.filled import KINDS, Filled, GivenVariable, filled_of, require_keys
from api.pages.forms.refs import refs_of
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.frame.responses import page
from api.routes import RouteList
from api.services import Services
from api.v4.origin import require_our_pages
from api.v4.parameters import nested, parameters
from application.access import ProjectAccess
from application.pipelines.creation import create_pipeline
from application.pipelines.plan_preview import Preview, preview_of
from application.pipelines.refs import find_ref
from application.pipelines.run_form import Form, faults_of, form_of, inputs_given
from auth.permissions import Action
from domain.errors import Forbidden, Invalid, NotFound
from git.repository import Repository
from models.repositories.pipelines.pipelines import PipelineRequest

WEB: Final = "web"
"""Source of a pipeline that somebody started with the form."""
EMPTY_ROWS: Final = 3
"""Rows for variables of one's own where no script adds more; more come with each response that has filled them."""

router = RouteList(prefix=f"{PREFIX}/-/pipelines", kind=EndsWithCaller)


@router.get("/new")
async def show_form(request: Request, services: ServicesDep, project: PageProjectDep) -> Response:
    """The form for a ref, the default branch without one; the address may fill it in with GitLab's names."""
    project.require(Action.RUN)
    filled = filled_of(nested(request.query_params.multi_items()), project.row.default_branch)
    form = await _form(services, project, filled)
    return await _page(services, project, form, filled)


async def sent(request: Request, services: ServicesDep) -> Filled:
    """The form that somebody sent. Raises `Invalid`, `TooLarge`."""
    return filled_of(await parameters(request, services.settings.sizes.json_bytes))


FilledDep = Annotated[Filled, Depends(sent)]


@router.post("/new", dependencies=[Depends(require_our_pages)])
async def show_plan(services: ServicesDep, project: PageProjectDep, filled: FilledDep) -> Response:
    """The form as it was filled in, with the plan of the pipeline that it would start."""
    project.require(Action.RUN)
    form = await _form(services, project, filled)
    filled = filled.settled(form.inputs)
    try:
        repository, request = await _request(services, project, form, filled)
        preview = await preview_of(services, request, repository)
    except (Invalid, NotFound, Forbidden) as error:
        preview = Preview(faults=faults_of(error))
    return await _page(services, project, form, filled, preview=preview)


@router.post("", dependencies=[Depends(require_our_pages)])
async def start(services: ServicesDep, project: PageProjectDep, filled: FilledDep) -> Response:
    """Start the pipeline and go to its page; what is wrong is told beside the form as it was filled in."""
    project.require(Action.RUN)
    try:
        # What an empty field means only the configuration knows; where there is none it is not compiled twice.
        form = await _form(services, project, filled) if "" in filled.inputs.values() else Form()
        repository, request = await _request(services, project, form, filled)
        pipeline_id = await create_pipeline(services, request, repository)
    except (Invalid, NotFound, Forbidden) as error:
        form = await _form(services, project, filled)
        return await _page(services, project, form, filled, faults_of(error), status=400)
    return RedirectResponse(f"/{project.row.full_path}/-/pipelines/{pipeline_id}", 303)


async def _form(services: Services, project: ProjectAccess, filled: Filled) -> Form:
    return await form_of(services, project, filled.ref, WEB, filled.inputs)


async def _request(
    services: Services, project: ProjectAccess, form: Form, filled: Filled
) -> tuple[Repository, PipelineRequest]:
    """What the form asks for. Raises `Invalid`, `NotFound`, `Forbidden`."""
    require_keys(filled.variables)
    repository = services.repositories.get(project.row.id)
    ref, tag, sha = await find_ref(repository, filled.ref)
    project.require_run(ref, tag=tag)
    return repository, PipelineRequest(
        project_id=project.row.id,
        user_id=project.caller.user_id,
        ref=ref,
        sha=sha,
        source=WEB,
        tag=tag,
        variables=tuple(map(_document, filled.variables)),
        inputs=inputs_given(form, filled.inputs),
    )


def _document(row: GivenVariable) -> dict[str, Any]:
    """A variable as a pipeline stores it."""
    kind = {"variable_type": row.kind} if row.kind == "file" else {}
    return {"key": row.key, "value": row.value, **kind}


async def _page(
    services: Services,
    project: ProjectAccess,
    form: Form,
    filled: Filled,
    errors: Sequence[str] = (),
    status: int = 200,
    preview: Preview | None = None,
) -> Response:
    try:
        refs = await refs_of(services, project)
    except NotFound:
        refs, errors = (), errors or ("The repository is empty; push a commit first.",)
    return page(
        "pipelines/new_pipeline.html",
        project.caller,
        status,
        project=project.row,
        form=form,
        filled=filled,
        own=filled.own(form.variables),
        empty=range(EMPTY_ROWS),
        kinds=KINDS,
        refs=refs,
        preview=preview,
        errors=list(dict.fromkeys((*errors, *form.faults))),
    )
