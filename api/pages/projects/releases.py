"""The releases of a project, and the lasting addresses of their files: `-/releases/v1/downloads/bin/app` leads on."""

from collections.abc import Sequence
from typing import Annotated, Any, Final
from urllib.parse import quote

from fastapi import Query, Request
from fastapi.responses import RedirectResponse, Response

from api.deps import ServicesDep
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.frame.page_count import page_count
from api.pages.frame.responses import address_of_page, page
from api.pages.frame.shown_texts import shown_texts
from api.pages.projects.home import Number
from api.routes import RouteList
from api.services import Services
from api.v4.releases.links import LATEST, asset_of
from api.v4.releases.releases import shown_releases
from api.v4.representation.releases import sources
from application.access import ProjectAccess
from models.repositories.artifacts import releases
from models.repositories.paging import slice_of
from models.repositories.texts.rendered_texts import RELEASES
from models.rows.environments import ReleaseRow

PER_PAGE: Final = 20

router = RouteList(prefix=f"{PREFIX}/-/releases")


@router.get("")
async def list_page(
    request: Request, services: ServicesDep, project: PageProjectDep, number: Annotated[Number, Query(alias="page")] = 1
) -> Response:
    """The releases, the newest first."""
    statement = releases.of_project(project.row.id, order_by="released_at", ascending=False).without_texts()
    async with services.database.read() as connection:
        found = await slice_of(connection, statement, number, PER_PAGE)
    last = page_count(found.total, PER_PAGE)
    return await _page(request, services, project, found.rows, number=number, last=last)


@router.get("/{tag:path}/downloads/{asset:path}")
async def release_file(tag: str, asset: str, project: PageProjectDep, services: ServicesDep) -> RedirectResponse:
    """Lead to the file; `permalink/latest` as the tag is that of the newest release."""
    return await asset_of(services, project, tag, asset)


@router.get("/{tag:path}")
async def one_page(request: Request, tag: str, services: ServicesDep, project: PageProjectDep) -> Response:
    """A release; `permalink/latest` leads to the newest one."""
    async with services.database.read() as connection:
        if tag == LATEST:
            row = await releases.latest(connection, project.row.id, services.clock())
            return RedirectResponse(f"/{project.row.full_path}/-/releases/{quote(row.tag, safe='')}", 302)
        row = await releases.get(connection, project.row.id, tag)
    return await _page(request, services, project, [row])


async def _page(
    request: Request, services: Services, project: ProjectAccess, rows: Sequence[ReleaseRow], **values: Any
) -> Response:
    texts = await shown_texts(services, RELEASES, [row.id for row in rows])
    documents = await shown_releases(services, project.row, rows)
    return page(
        "projects/releases.html",
        project.caller,
        project=project.row,
        section="releases",
        here=address_of_page(request),
        shown=[
            {
                "row": row,
                "document": document,
                "description": texts.get(row.id),
                "sources": sources(row.tag, project.row, ""),
            }
            for row, document in zip(rows, documents, strict=True)
        ],
        **values,
    )
