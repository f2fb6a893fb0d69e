"""What clients ask first: which GitLab this is like."""

from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.routes import RouteList
from api.v4.access import KnownCallerDep
from domain.variables.predefined_server import LIKE_GITLAB, REVISION

router = RouteList()


class InstalledVersionResponse(TypedDict):
    """The version, as clients compare it."""

    version: str
    revision: str


class AgentServerResponse(TypedDict):
    """GitLab's server of agents: there is none."""

    enabled: bool
    externalUrl: str | None
    externalK8sProxyUrl: str | None
    version: str | None


class MetadataResponse(InstalledVersionResponse):
    """Version and pod."""

    kas: AgentServerResponse
    enterprise: bool
    pod: str


@router.get("/version")
async def version(_caller: KnownCallerDep) -> InstalledVersionResponse:
    """The version, as clients compare it."""
    return {"version": LIKE_GITLAB, "revision": REVISION}


@router.get("/metadata")
async def metadata(_caller: KnownCallerDep, services: ServicesDep) -> MetadataResponse:
    """Version and pod."""
    return {
        "version": LIKE_GITLAB,
        "revision": REVISION,
        "kas": {"enabled": False, "externalUrl": None, "externalK8sProxyUrl": None, "version": None},
        "enterprise": False,
        "pod": services.settings.pod,
    }
