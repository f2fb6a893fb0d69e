"""What clients ask first: which GitLab this is like."""

from typing import Any

from fastapi import APIRouter

from api.deps import ServicesDep
from api.v4.access import KnownCallerDep
from domain.variables.predefined_server import LIKE_GITLAB, REVISION

router = APIRouter()


@router.get("/version")
async def version(_caller: KnownCallerDep) -> dict[str, Any]:
    """The version, as clients compare it."""
    return {"version": LIKE_GITLAB, "revision": REVISION}


@router.get("/metadata")
async def metadata(_caller: KnownCallerDep, services: ServicesDep) -> dict[str, Any]:
    """Version and pod."""
    return {
        "version": LIKE_GITLAB,
        "revision": REVISION,
        "kas": {"enabled": False, "externalUrl": None, "externalK8sProxyUrl": None, "version": None},
        "enterprise": False,
        "pod": services.settings.pod,
    }
