"""The form of an environment: a new one, or a change of one."""

from typing import Annotated, Final

from fastapi import Depends, Form
from fastapi.responses import RedirectResponse, Response

from api.deps import ServicesDep
from api.pages.environments.environment import address_of
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.frame.responses import page
from api.routes import RouteList
from api.services import Services
from api.v4.access import Id
from api.v4.origin import require_our_pages
from application.access import ProjectAccess
from application.environments import changing
from application.environments.deploying import require_deploy
from auth.permissions import Action
from domain.config.readers.environment import TIERS
from domain.environments.places import MAX_NAME, MAX_URL
from domain.errors import Invalid
from models.repositories.environments import environments
from models.rows.environments import EnvironmentRow

_BY_NAME: Final = ""
"""The choice of a tier that lets the name tell."""

Name = Annotated[str, Form(max_length=MAX_NAME)]
Url = Annotated[str, Form(max_length=MAX_URL)]
Tier = Annotated[str, Form(max_length=20)]

router = RouteList(prefix=f"{PREFIX}/-/environments")


def _page(project: ProjectAccess, row: EnvironmentRow | None, error: str = "", **filled: str) -> Response:
    return page(
        "environments/environment_form.html",
        project.caller,
        400 if error else 200,
        project=project.row,
        section="environments",
        environment=row,
        error=error,
        filled=filled,
        tiers=TIERS,
        most={"name": MAX_NAME, "url": MAX_URL},
    )


@router.get("/new")
async def new_page(project: PageProjectDep) -> Response:
    """The form of a new environment."""
    project.require(Action.RUN)
    return _page(project, None, name="", url="", tier=_BY_NAME)


@router.post("", dependencies=[Depends(require_our_pages)])
async def create(
    services: ServicesDep, project: PageProjectDep, name: Name = "", url: Url = "", tier: Tier = _BY_NAME
) -> Response:
    """Make the environment and go to its page; what is wrong is told beside the form."""
    try:
        made = await changing.create(services, project, name.strip(), tier=tier, external_url=url.strip())
    except Invalid as error:
        return _page(project, None, str(error), name=name, url=url, tier=tier)
    return RedirectResponse(address_of(project, made.id), 303)


@router.get("/{environment_id}/edit")
async def edit_page(environment_id: Id, services: ServicesDep, project: PageProjectDep) -> Response:
    """The form of an environment that there is."""
    row = await _changeable(services, project, environment_id)
    return _page(project, row, name=row.name, url=row.external_url, tier=row.tier)


@router.post("/{environment_id}", dependencies=[Depends(require_our_pages)])
async def change(
    environment_id: Id, services: ServicesDep, project: PageProjectDep, url: Url = "", tier: Tier = _BY_NAME
) -> Response:
    """Change the environment and go to its page; what is wrong is told beside the form."""
    try:
        await changing.change(services, project, environment_id, tier=tier, external_url=url.strip())
    except Invalid as error:
        row = await _changeable(services, project, environment_id)
        return _page(project, row, str(error), name=row.name, url=url, tier=tier)
    return RedirectResponse(address_of(project, environment_id), 303)


async def _changeable(services: Services, project: ProjectAccess, environment_id: int) -> EnvironmentRow:
    """The environment, if the caller may change it. Raises `NotFound`, `Forbidden`."""
    project.require(Action.RUN)
    async with services.database.read() as connection:
        row = await environments.get(connection, environment_id, project.row.id)
        await require_deploy(connection, project, row)
    return row
