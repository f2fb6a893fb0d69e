"""Badges of projects and of groups: the same routes below both. GitLab: "Project badges API", "Group badges API"."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

from fastapi import Depends, Response
from fastapi.responses import JSONResponse
from pydantic import Field
from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.access import Id, ProjectDep
from api.v4.merge_requests.planning_access import PlanningAccess, planning_of_group, planning_of_project
from api.v4.namespaces.groups import GroupDep
from api.v4.owned_routes import mounted, of_owner, of_owner_to_change
from api.v4.pagination import PagingDep
from api.v4.parameters import Optionals, given
from application.access import viewer_of
from auth.permissions import Action, GroupAction
from domain.errors import Forbidden, Invalid, NotFound
from domain.projects.badges import BadgeFacts, checked_address, names_in, rendered
from git.reading.ref_listing import list_refs
from models.repositories.paging import first_of, slice_of
from models.repositories.projects import badges
from models.repositories.projects.listings import readable
from models.rows.badges import BadgeRow
from models.rows.projects import ProjectRow

_FROM_GIT: Final = frozenset({"commit_sha", "latest_tag"})
_Name = Annotated[str | None, Field(default=None, max_length=255)]


class NewBadge(Optionals):
    """Parameters of `POST`; the addresses may hold placeholders as `%{project_path}`."""

    link_url: str
    image_url: str
    name: _Name


class BadgeChanges(Optionals):
    """Parameters of `PUT`; what is not given stays."""

    link_url: str | None = None
    image_url: str | None = None
    name: _Name


class BadgeAddressesResponse(TypedDict):
    """The addresses of a badge as they are written, and with what their placeholders stand for."""

    link_url: str
    image_url: str
    rendered_link_url: str
    rendered_image_url: str


class _BadgePart(TypedDict):
    """What it is called, and whose it is."""

    id: int
    name: str | None
    kind: str


class BadgeResponse(_BadgePart, BadgeAddressesResponse):
    """A badge; `kind` is whose it is, `project` or `group`."""


def _checked(values: dict[str, Any]) -> dict[str, Any]:
    for field in ("link_url", "image_url"):
        if field in values:
            checked_address(values[field], field)
    if not values:
        raise Invalid("name, link_url, image_url are missing, at least one parameter must be provided")
    return values


async def _project_of(services: Services, planning: PlanningAccess) -> ProjectRow | None:
    """The project that placeholders are about: for a group the oldest in it whose code the caller may read."""
    if isinstance(planning.row, ProjectRow):
        return planning.row
    async with services.database.read() as connection:
        return await first_of(connection, readable(viewer_of(planning.caller), planning.row.trail))


async def _facts(services: Services, planning: PlanningAccess, addresses: Sequence[str]) -> BadgeFacts | None:
    """What the placeholders of these addresses stand for; git is asked only for what is named."""
    named = names_in(*addresses)
    row = await _project_of(services, planning) if named else None
    if row is None:
        return None
    of_git: dict[str, str | None] = {}
    if _FROM_GIT & named:
        try:
            repository = services.repositories.get(row.id)
        except NotFound:
            pass
        else:
            of_git["commit_sha"] = await repository.resolve(f"refs/heads/{row.default_branch}")
            tags = await list_refs(repository, "refs/tags", "-creatordate") if "latest_tag" in named else []
            of_git["latest_tag"] = tags[0].name if tags else None
    server = urlsplit(services.settings.url).netloc
    return BadgeFacts(row.full_path, row.name, row.path, row.id, row.default_branch, server, **of_git)


async def _shown(services: Services, planning: PlanningAccess, rows: Sequence[BadgeRow]) -> list[BadgeResponse]:
    facts = await _facts(services, planning, [text for row in rows for text in (row.link_url, row.image_url)])
    return [
        {
            "id": row.id,
            "name": row.name or None,
            "kind": "group" if row.project_id is None else "project",
            **_addresses(row.link_url, row.image_url, facts),
        }
        for row in rows
    ]


def _addresses(link_url: str, image_url: str, facts: BadgeFacts | None) -> BadgeAddressesResponse:
    return {
        "link_url": link_url,
        "image_url": image_url,
        "rendered_link_url": rendered(link_url, facts),
        "rendered_image_url": rendered(image_url, facts),
    }


async def _row_to_change(services: Services, planning: PlanningAccess, key: int) -> BadgeRow:
    async with services.database.read() as connection:
        row = await badges.find(connection, planning.owner, key)
    if (row.project_id, row.namespace_id) != (planning.owner.project_id, planning.owner.namespace_id):
        raise Forbidden("Forbidden: it is the badge of a group around the project; change it there.")
    return row


async def _project_to_change(
    project: ProjectDep, planning: Annotated[PlanningAccess, Depends(planning_of_project)]
) -> PlanningAccess:
    """The project of a path, whose maintainers change its badges."""
    project.require(Action.ADMINISTER)
    return planning


async def _group_to_change(
    group: GroupDep, planning: Annotated[PlanningAccess, Depends(planning_of_group)]
) -> PlanningAccess:
    """The group of a path, whose owners change its badges."""
    group.require(GroupAction.OWN)
    return planning


_Access = Callable[..., Awaitable[PlanningAccess]]


routes = RouteList()
"""The same calls for the badges of one kind of owner."""


@routes.get("", response_model=list[BadgeResponse])
async def list_badges(
    services: ServicesDep, paging: PagingDep, name: str = "", planning: PlanningAccess = Depends(of_owner)
) -> JSONResponse:
    """The badges, of a project with those of the groups around it."""
    async with services.database.read() as connection:
        statement = badges.listed(planning.owner, name)
        page = await slice_of(connection, statement, paging.number, paging.size)
    return paging.response(await _shown(services, planning, page.rows), page.total)


@routes.get("/render")
async def render_badge(
    link_url: str, image_url: str, services: ServicesDep, planning: PlanningAccess = Depends(of_owner)
) -> BadgeAddressesResponse:
    """What the addresses of a badge would be."""
    checked_address(link_url, "link_url")
    checked_address(image_url, "image_url")
    return _addresses(link_url, image_url, await _facts(services, planning, (link_url, image_url)))


@routes.get("/{badge_id}")
async def get_badge(badge_id: Id, services: ServicesDep, planning: PlanningAccess = Depends(of_owner)) -> BadgeResponse:
    """One badge."""
    async with services.database.read() as connection:
        row = await badges.find(connection, planning.owner, badge_id)
    return (await _shown(services, planning, [row]))[0]


@routes.post("", status_code=201)
async def create_badge(
    new: Annotated[NewBadge, Depends(given(NewBadge))],
    services: ServicesDep,
    planning: PlanningAccess = Depends(of_owner_to_change),
) -> BadgeResponse:
    """Add a badge: maintainers of a project and owners of a group may."""
    values = _checked({**new.model_dump(), "name": new.name or ""})
    async with services.database.write() as connection:
        row = await badges.add(connection, planning.owner, services.clock(), **values)
    return (await _shown(services, planning, [row]))[0]


@routes.put("/{badge_id}")
async def change_badge(
    badge_id: Id,
    changes: Annotated[BadgeChanges, Depends(given(BadgeChanges))],
    services: ServicesDep,
    planning: PlanningAccess = Depends(of_owner_to_change),
) -> BadgeResponse:
    """Change a badge."""
    values = _checked(changes.model_dump(exclude_none=True))
    row = await _row_to_change(services, planning, badge_id)
    async with services.database.write() as connection:
        row = await badges.change(connection, row.id, **values)
    return (await _shown(services, planning, [row]))[0]


@routes.delete("/{badge_id}", status_code=204)
async def remove_badge(
    badge_id: Id, services: ServicesDep, planning: PlanningAccess = Depends(of_owner_to_change)
) -> Response:
    """Remove a badge."""
    row = await _row_to_change(services, planning, badge_id)
    async with services.database.write() as connection:
        await badges.remove(connection, row.id)
    return Response(status_code=204)


router = RouteList()
router.include(
    mounted(
        routes, "/projects/{project}/badges", {of_owner: planning_of_project, of_owner_to_change: _project_to_change}
    )
)
router.include(
    mounted(routes, "/groups/{group}/badges", {of_owner: planning_of_group, of_owner_to_change: _group_to_change})
)
