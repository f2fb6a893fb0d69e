"""The lasting addresses of what releases link to: `/group/app/-/releases/v1/downloads/bin/app` leads on to the file."""

from fastapi.responses import RedirectResponse

from api.deps import ServicesDep
from api.pages.frame.access import PREFIX, PageProjectDep
from api.routes import RouteList
from api.v4.releases.links import asset_of

router = RouteList(prefix=f"{PREFIX}/-/releases")


@router.get("/{tag:path}/downloads/{asset:path}")
async def release_file(tag: str, asset: str, project: PageProjectDep, services: ServicesDep) -> RedirectResponse:
    """Lead to the file; `permalink/latest` as the tag is that of the newest release."""
    return await asset_of(services, project, tag, asset)
