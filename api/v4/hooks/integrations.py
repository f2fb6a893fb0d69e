"""Links to other forges, which hear of the statuses of a project's pipelines, as GitLab's integrations."""

from typing import Annotated, Any, Final

from fastapi import Depends, Response
from pydantic import BaseModel, Field
from sqlalchemy.ext.asyncio import AsyncConnection

from api.deps import ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.access import ProjectDep
from api.v4.hooks.parameters import fault_of_url
from api.v4.parameters import given
from api.v4.representation.hooks import (
    IntegrationDetailsResponse,
    IntegrationResponse,
    integration,
    integration_in_full,
)
from api.v4.representation.notifications import ToldIntegrationResponse
from api.v4.representation.notifications import integration as told_integration
from application.audit import record
from application.hooks.secrets import sealed
from auth.permissions import Action
from domain.errors import FieldsInvalid, Invalid, NotFound
from domain.hooks.commit_statuses import Forge, api_of
from domain.hooks.requests import NOT_IN_HEADERS
from domain.sealed_for import FORGE
from models.repositories.hooks import commit_reports, forge_links
from models.repositories.installation.audit import Happened
from models.repositories.notifications import chat_integrations
from models.rows.hooks import ForgeLinkRow

_SHOWN: Final = 20
"""Failed reports that are shown."""

router = RouteList(prefix="/projects/{project}/integrations")


class Link(BaseModel):
    """Parameters of `PUT /projects/:id/integrations/:slug`.

    `repository_url` is the page of the repository; `api_url` is for a forge whose API is not where its kind has it.
    """

    repository_url: str | None = Field(default=None, max_length=2000)
    api_url: str | None = Field(default=None, max_length=2000)
    token: str | None = Field(default=None, min_length=1, max_length=4096)
    context_prefix: str | None = Field(default=None, min_length=1, max_length=100)
    enable_ssl_verification: bool | None = None
    active: bool = True


@router.get("")
async def list_integrations(
    project: ProjectDep, services: ServicesDep
) -> list[IntegrationResponse | ToldIntegrationResponse]:
    """The links of a project to other forges, and the integrations that are told what happens."""
    project.require(Action.ADMINISTER)
    async with services.database.read() as connection:
        links = await forge_links.of_project(connection, project.row.id)
        told = await chat_integrations.of_project(connection, project.row.id)
    return [*(integration(row) for row in links), *(told_integration(row) for row in told)]


@router.get("/{slug}")
async def get_integration(slug: str, project: ProjectDep, services: ServicesDep) -> IntegrationDetailsResponse:
    """One link, with its settings but without its token."""
    project.require(Action.ADMINISTER)
    async with services.database.read() as connection:
        row = await _link(connection, project.row.id, _kind(slug))
        trouble = await commit_reports.of_link(connection, row.id, commit_reports.FAILED, _SHOWN)
    return integration_in_full(row, trouble)


@router.put("/{slug}")
async def set_integration(
    slug: str, new: Annotated[Link, Depends(given(Link))], project: ProjectDep, services: ServicesDep
) -> IntegrationDetailsResponse:
    """Make or change a link; pipelines are reported from their next status on."""
    project.require(Action.ADMINISTER)
    kind = _kind(slug)
    async with services.database.read() as connection:
        before = await forge_links.find(connection, project.row.id, kind)
    values = _values(services, new, kind, before)
    async with services.database.write() as connection:
        await forge_links.put(connection, project.row.id, kind, services.clock(), **values)
        happened = Happened("integration_changed", {"slug": slug, "active": new.active})
        await record(connection, project.caller, project.entity, happened, services.clock())
        row = await _link(connection, project.row.id, kind)
    return integration_in_full(row, ())


@router.delete("/{slug}", status_code=204)
async def delete_integration(slug: str, project: ProjectDep, services: ServicesDep) -> Response:
    """Delete a link; what was not reported yet is not reported any more."""
    project.require(Action.ADMINISTER)
    async with services.database.write() as connection:
        row = await _link(connection, project.row.id, _kind(slug))
        await forge_links.remove(connection, row)
        happened = Happened("integration_removed", {"slug": slug})
        await record(connection, project.caller, project.entity, happened, services.clock())
    return Response(status_code=204)


async def _link(connection: AsyncConnection, project_id: int, kind: Forge) -> ForgeLinkRow:
    """The link of a project to a kind of forge. Raises `NotFound`."""
    row = await forge_links.find(connection, project_id, kind)
    if row is None:
        raise NotFound("Integration Not Found")
    return row


def _values(services: Services, new: Link, kind: Forge, before: ForgeLinkRow | None) -> dict[str, Any]:
    """The columns to be written. A token goes nowhere but where it was given for. Raises `Invalid`."""
    page = new.repository_url or ("" if before is None else before.repository_url)
    if not page:
        raise Invalid("repository_url is missing")
    api_url, repository = api_of(kind, page)
    if new.api_url is not None:
        api_url = new.api_url.rstrip("/")
    elif before is not None and new.repository_url is None:
        api_url = before.api_url
    if fault := fault_of_url(services, api_url):
        raise FieldsInvalid(api_url=f"is invalid: it {fault}.")
    values: dict[str, Any] = {
        "repository_url": page,
        "api_url": api_url,
        "repository": repository,
        "active": new.active,
    }
    if new.token is not None:
        if not (new.token.isascii() and new.token.isprintable()):
            raise FieldsInvalid(token=NOT_IN_HEADERS)
        values["token"] = sealed(services, new.token, FORGE)
    elif before is None or before.api_url != api_url:
        raise Invalid("token is missing")
    optional = {"context_prefix": new.context_prefix, "verify_tls": new.enable_ssl_verification}
    return values | {name: value for name, value in optional.items() if value is not None}


def _kind(slug: str) -> Forge:
    try:
        return Forge(slug)
    except ValueError:
        raise NotFound("Integration Not Found") from None
