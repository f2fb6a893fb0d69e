"""Files that people put beside a project, under the addresses that releases and notes link. They are always saved."""

from fastapi import Request, Response

from api.deps import ServicesDep
from api.routes import RouteList
from api.stored_file import stored_file
from api.v4.access import ProjectDep
from api.v4.projects.uploads import MEDIA_TYPE, upload_of_address

router = RouteList()


@router.get("/-/project/{project}/uploads/{secret}/{filename}")
async def uploaded_file(
    secret: str, filename: str, request: Request, project: ProjectDep, services: ServicesDep
) -> Response:
    """One file, for whoever may read the project."""
    row = await upload_of_address(services, project, secret, filename)
    return await stored_file(services.store, row, MEDIA_TYPE, request.headers.get("range", ""))
