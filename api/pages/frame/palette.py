"""The palette under Ctrl-K: projects, what a number may mean, merge requests and sections, by a few letters."""

from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import Query
from fastapi.responses import HTMLResponse, Response

from api.deps import CallerDep, ServicesDep
from api.pages.frame.responses import SECURITY
from api.pages.frame.sections import SECTIONS
from api.pages.frame.templates import render
from api.routes import RouteList
from api.services import Services
from application.access import ProjectAccess, access_to, viewer_of
from auth.permissions import Caller
from domain.errors import Forbidden, NotFound, Unauthenticated
from models.repositories.paging import slice_of
from models.repositories.pipelines import jobs, pipelines
from models.repositories.projects.listings import ProjectFilter, projects

MAX_RESULTS: Final = 12
MAX_QUERY: Final = 200
"""Characters."""
_DIGITS: Final = 15
"""Of a number; all ids are shorter."""

router = RouteList()


@dataclass(frozen=True, slots=True)
class Result:
    """Something to go to."""

    text: str
    kind: str
    href: str


@router.get("/-/palette")
async def palette(
    services: ServicesDep,
    caller: CallerDep,
    q: Annotated[str, Query(max_length=MAX_QUERY)] = "",
    project: Annotated[int, Query(ge=0, le=2**53)] = 0,
) -> Response:
    """What there is for a query: within a project first, then the projects."""
    query = q.strip()
    found = await _within(services, caller, project, query) if project else []
    async with services.database.read() as connection:
        wanted = ProjectFilter(viewer_of(caller), search=query, readable=True)
        listed = await slice_of(connection, projects(wanted), 1, MAX_RESULTS)
    found += [Result(row.full_path, "project", f"/{row.full_path}") for row in listed.rows]
    return HTMLResponse(render("frame/palette.html", results=found[:MAX_RESULTS]), headers=SECURITY)


async def _within(services: Services, caller: Caller, project_id: int, query: str) -> list[Result]:
    try:
        project = await access_to(services, caller, project_id)
    except (NotFound, Forbidden, Unauthenticated):
        return []
    base = f"/{project.row.full_path}"
    sections = [
        Result(section.label, project.row.name, base + section.path)
        for section in SECTIONS
        if query.casefold() in section.label.casefold()
    ]
    number = query.lstrip("#!")
    if number.isascii() and number.isdecimal() and len(number) <= _DIGITS:
        return await _numbered(services, project, base, int(number)) + sections
    return sections


async def _numbered(services: Services, project: ProjectAccess, base: str, number: int) -> list[Result]:
    """The pipeline and the job of a number, as far as they are this project's."""
    found = []
    async with services.database.read() as connection:
        try:
            row = await pipelines.get(connection, number, project.row.id)
            found.append(Result(f"Pipeline {number}", row.ref, f"{base}/-/pipelines/{number}"))
        except NotFound:
            pass
        try:
            job = await jobs.get(connection, number, project.row.id)
            found.append(Result(f"Job {number}", job.name, f"{base}/-/jobs/{number}"))
        except NotFound:
            pass
    return found
