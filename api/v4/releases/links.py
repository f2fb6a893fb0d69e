"""Links of a release under GitLab's addresses, and the lasting addresses at which their files are found.

Source: GitLab: "Release links API"; "Releases", "Permanent links to release assets".
"""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Depends
from fastapi.responses import JSONResponse, RedirectResponse
from pydantic import Field

from api.deps import ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.access import Id, ProjectDep
from api.v4.encoded_paths import decoded
from api.v4.pagination import PagingDep
from api.v4.parameters import Optionals, given
from api.v4.releases.releases import Link, LinkType
from api.v4.representation.releases import ReleaseLinkResponse, release_link, release_page
from application.access import ProjectAccess
from application.releases.releasing import require_release
from domain.errors import Invalid
from domain.projects.release_links import link_at, link_of, links_of, with_changed_link, with_link, without_link
from models.repositories.artifacts import releases
from models.rows.environments import ReleaseRow

LATEST = "permalink/latest"
"""Stands for the tag of the release that was released last."""

router = RouteList(prefix="/projects/{project}/releases")


class LinkChanges(Optionals):
    """Parameters of `PUT /projects/:id/releases/:tag_name/assets/links/:link_id`."""

    name: str | None = Field(default=None, min_length=1, max_length=255)
    url: str | None = Field(default=None, min_length=1, max_length=4096)
    link_type: LinkType | None = None
    direct_asset_path: str | None = Field(default=None, max_length=128)
    filepath: str | None = Field(default=None, max_length=128)

    def document(self) -> dict[str, str]:
        """What is changed of what is kept. Raises `Invalid` for nothing."""
        found = self.model_dump(exclude_none=True, exclude={"direct_asset_path"})
        if self.direct_asset_path is not None:
            found["filepath"] = self.direct_asset_path
        if not found:
            raise Invalid(
                "name, url, link_type, direct_asset_path are missing, at least one parameter must be provided"
            )
        return found


def _shown(link: Mapping[str, Any], row: ReleaseRow, access: ProjectAccess, services: Services) -> ReleaseLinkResponse:
    return release_link(link, release_page(row, access.row, services.settings.url))


@router.get("/{tag}/assets/links", response_model=list[ReleaseLinkResponse])
async def list_links(tag: str, access: ProjectDep, services: ServicesDep, paging: PagingDep) -> JSONResponse:
    """The links of a release."""
    async with services.database.read() as connection:
        row = await releases.get(connection, access.row.id, decoded(tag))
    links = links_of(row.assets)
    return paging.response([_shown(link, row, access, services) for link in paging.of(links)], len(links))


@router.post("/{tag}/assets/links", status_code=201)
async def add_link(
    tag: str, new: Annotated[Link, Depends(given(Link))], access: ProjectDep, services: ServicesDep
) -> ReleaseLinkResponse:
    """Add a link; no other of the release has its name, address or path."""
    require_release(access, decoded(tag))
    async with services.database.write() as connection:
        row = await releases.hold(connection, access.row.id, decoded(tag))
        assets, link = with_link(row.assets, new.document())
        await releases.change(connection, row, services.clock(), assets=assets)
    return _shown(link, row, access, services)


@router.get("/{tag}/assets/links/{link_id}")
async def get_link(tag: str, link_id: Id, access: ProjectDep, services: ServicesDep) -> ReleaseLinkResponse:
    """One link."""
    async with services.database.read() as connection:
        row = await releases.get(connection, access.row.id, decoded(tag))
    return _shown(link_of(row.assets, link_id), row, access, services)


@router.put("/{tag}/assets/links/{link_id}")
async def change_link(
    tag: str,
    link_id: Id,
    new: Annotated[LinkChanges, Depends(given(LinkChanges))],
    access: ProjectDep,
    services: ServicesDep,
) -> ReleaseLinkResponse:
    """Change a link."""
    require_release(access, decoded(tag))
    changes = new.document()
    async with services.database.write() as connection:
        row = await releases.hold(connection, access.row.id, decoded(tag))
        assets, link = with_changed_link(row.assets, link_id, changes)
        await releases.change(connection, row, services.clock(), assets=assets)
    return _shown(link, row, access, services)


@router.delete("/{tag}/assets/links/{link_id}")
async def remove_link(tag: str, link_id: Id, access: ProjectDep, services: ServicesDep) -> ReleaseLinkResponse:
    """Take a link away; the response is the link as it was."""
    require_release(access, decoded(tag))
    async with services.database.write() as connection:
        row = await releases.hold(connection, access.row.id, decoded(tag))
        assets, link = without_link(row.assets, link_id)
        await releases.change(connection, row, services.clock(), assets=assets)
    return _shown(link, row, access, services)


@router.get("/permalink/latest/downloads/{asset:path}", status_code=302)
async def find_latest_asset(asset: str, access: ProjectDep, services: ServicesDep) -> RedirectResponse:
    """Where the file at a path of the newest release is."""
    return await asset_of(services, access, LATEST, decoded(asset))


@router.get("/{tag}/downloads/{asset:path}", status_code=302)
async def find_asset(tag: str, asset: str, access: ProjectDep, services: ServicesDep) -> RedirectResponse:
    """Where the file at a path of a release is."""
    return await asset_of(services, access, decoded(tag), decoded(asset))


async def asset_of(services: Services, access: ProjectAccess, tag: str, path: str) -> RedirectResponse:
    """A redirect to the address of the link with this path, which has no slash at its beginning. Raises `NotFound`."""
    async with services.database.read() as connection:
        if tag == LATEST:
            row = await releases.latest(connection, access.row.id, services.clock())
        else:
            row = await releases.get(connection, access.row.id, tag)
    return RedirectResponse(link_at(row.assets, f"/{path}")["url"], 302)
