"""What pages name in their addresses, and who reads them."""

from typing import Annotated

from fastapi import Depends

from api.deps import CallerDep, ProjectAccess, ServicesDep, access_to
from api.v4.names import RESERVED
from domain.errors import NotFound


async def project_of_page(org: str, project: str, services: ServicesDep, caller: CallerDep) -> ProjectAccess:
    """The project of `/{org}/{project}`. Raises `NotFound`, for strangers too."""
    if org.lower() in RESERVED:
        raise NotFound("404 Not Found")
    return await access_to(services, caller, f"{org}/{project}")


PageProjectDep = Annotated[ProjectAccess, Depends(project_of_page)]
