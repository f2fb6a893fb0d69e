"""The tags of a repository, each with its commit, its release and its archives."""

from collections.abc import Sequence
from typing import Annotated, Any, Final

from fastapi import Query, Request
from fastapi.responses import Response

from api.deps import ServicesDep
from api.leaving_callers import EndsWithCaller
from api.pages.frame.access import PREFIX, PageProjectDep
from api.pages.frame.page_count import page_count
from api.pages.frame.responses import address_of_page, page
from api.pages.projects.home import Number
from api.pages.repositories.commits import repository_of
from api.routes import RouteList
from api.services import Services
from api.v4.repositories.tags import TAGS
from api.v4.representation.releases import sources
from application.access import ProjectAccess
from git.reading.history import commits_by_sha
from git.reading.ref_listing import ListedRef, list_refs
from models.repositories.artifacts import releases

router = RouteList(prefix=f"{PREFIX}/-/tags", kind=EndsWithCaller)

PER_PAGE: Final = 40


@router.get("")
async def list_of_tags(
    request: Request,
    services: ServicesDep,
    project: PageProjectDep,
    number: Annotated[Number, Query(alias="page")] = 1,
) -> Response:
    """The tags, the newest first."""
    found = await list_refs(repository_of(services, project).git, "refs/tags", "-creatordate")
    shown = found[(number - 1) * PER_PAGE : number * PER_PAGE]
    last = page_count(len(found), PER_PAGE)
    return await _page(request, services, project, shown, number=number, last=last)


@router.get("/{tag:path}")
async def one_tag(request: Request, tag: str, services: ServicesDep, project: PageProjectDep) -> Response:
    """One tag."""
    return await _page(request, services, project, [await TAGS.existing(repository_of(services, project), tag)])


async def _page(
    request: Request, services: Services, project: ProjectAccess, tags: Sequence[ListedRef], **values: Any
) -> Response:
    repository = repository_of(services, project)
    async with services.database.read() as connection:
        released = await releases.by_tags(connection, project.row.id, [tag.name for tag in tags])
    return page(
        "repositories/tags.html",
        project.caller,
        project=project.row,
        section="releases",
        here=address_of_page(request),
        tags=tags,
        commits=await commits_by_sha(repository.git, (tag.ref.sha for tag in tags)),
        released=released,
        sources={tag.name: sources(tag.name, project.row, "") for tag in tags},
        **values,
    )
