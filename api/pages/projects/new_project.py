"""The form that makes a project."""

from typing import Annotated, Final, Literal

from fastapi import Depends, Form
from fastapi.responses import RedirectResponse, Response

from api.deps import CallerDep, ServicesDep
from api.pages.frame.responses import page
from api.routes import RouteList
from api.services import Services
from api.v4.origin import require_our_pages
from application.access import viewer_of
from application.projects.creation import NewProjectFacts, create, namespace_for
from auth.permissions import CREATION_LEVELS, Caller
from domain.errors import PerdureError
from domain.projects.path_names import checked_path, path_from
from models.repositories.paging import slice_of
from models.repositories.projects.listings import NamespaceFilter
from models.repositories.projects.listings import namespaces as listed

ADDRESS: Final = "/projects/new"
MAX_GROUPS: Final = 200
"""So many groups are offered; for others there is the API."""
_SIGN_IN: Final = f"/users/sign_in?next={ADDRESS}"

router = RouteList(dependencies=[Depends(require_our_pages)])

Text = Annotated[str, Form(max_length=255)]


async def _page(services: Services, caller: Caller, status: int = 200, error: str = "", **filled: str) -> Response:
    wanted = NamespaceFilter(viewer_of(caller), creation_levels=CREATION_LEVELS, kind="group")
    async with services.database.read() as connection:
        groups = (await slice_of(connection, listed(wanted), 1, MAX_GROUPS)).rows
    filled = {"name": "", "namespace": "", "visibility": "private"} | filled
    return page("projects/new_project.html", caller, status, groups=groups, error=error, filled=filled)


@router.get(ADDRESS)
async def form(caller: CallerDep, services: ServicesDep, namespace: str = "") -> Response:
    """The form."""
    if not caller.is_known:
        return RedirectResponse(_SIGN_IN, 303)
    return await _page(services, caller, namespace=namespace)


@router.post("/projects")
async def make(
    caller: CallerDep,
    services: ServicesDep,
    name: Text = "",
    namespace: Text = "",
    visibility: Annotated[Literal["private", "internal", "public"], Form()] = "private",
) -> Response:
    """Make the project and go to its page, which says how to push; what is wrong is told beside the form."""
    if not caller.is_known:
        return RedirectResponse(_SIGN_IN, 303)
    try:
        path = checked_path(path_from(name))
        owner = await namespace_for(services, caller, namespace or None)
        facts = NewProjectFacts(path=path, name=name.strip(), visibility=visibility)
        await create(services, caller, owner, facts)
    except (PerdureError, ValueError) as error:
        said = (
            str(error) if isinstance(error, PerdureError) else f"A project cannot be called that: its address {error}."
        )
        return await _page(services, caller, 400, said, name=name, namespace=namespace, visibility=visibility)
    return RedirectResponse(f"/{owner.full_path}/{path}", 303)
