"""What pages name in their addresses, and who reads them."""

from typing import Annotated, Final

from fastapi import Depends

from api.deps import CallerDep, ServicesDep
from api.pages.frame.project_paths import CONVERTOR
from application.access import ProjectAccess, access_to


async def project_of_page(path: str, services: ServicesDep, caller: CallerDep) -> ProjectAccess:
    """The project of `/{path}`. Raises `NotFound`, for strangers too."""
    return await access_to(services, caller, path)


PREFIX: Final = f"/{{path:{CONVERTOR}}}"
"""How the addresses of a project's pages begin."""

PageProjectDep = Annotated[ProjectAccess, Depends(project_of_page)]
