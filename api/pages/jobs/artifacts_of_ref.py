"""GitLab's addresses of the artifacts of the latest successful job of a ref, as READMEs and badges have them.

`/group/project/-/jobs/artifacts/REF/browse?job=NAME`, likewise `download`, `file/PATH` and `raw/PATH`.
"""

from typing import Annotated, Final
from urllib.parse import quote

from fastapi import Query
from fastapi.responses import RedirectResponse

from api.deps import ServicesDep
from api.pages.frame.access import PREFIX, PageProjectDep
from api.routes import RouteList
from application.pipelines.refs import ref_of_pipelines
from domain.errors import NotFound
from models.repositories.artifacts.foreign_archives import of_project

_VIEWS: Final = ("browse", "download", "file", "raw")
_MAX_NAME: Final = 255
_NONE: Final = "No successful pipeline of that ref has a job of that name with artifacts."

router = RouteList(prefix=f"{PREFIX}/-/jobs/artifacts")


@router.get("/{place:path}")
async def latest_artifacts(
    place: str, job: Annotated[str, Query(max_length=_MAX_NAME)], services: ServicesDep, project: PageProjectDep
) -> RedirectResponse:
    """Lead to the job that is the latest now. A ref may hold slashes: the first word of a view ends it."""
    parts = place.split("/")
    at = next((number for number, part in enumerate(parts) if number and part in _VIEWS), 0)
    if not at:
        raise NotFound(_NONE)
    meant = await ref_of_pipelines(services.repositories, project.row.id, "/".join(parts[:at]))
    async with services.database.read() as connection:
        found = await of_project(connection, project.row.id, *meant, job)
    if found is None:
        raise NotFound(_NONE)
    rest = "/".join(quote(part, safe="") for part in parts[at:])
    return RedirectResponse(f"/{quote(project.row.full_path)}/-/jobs/{found.id}/artifacts/{rest}", 302)
