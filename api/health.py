"""Whether this process serves: `/-/health` (it answers and has its database), `/-/ready` (Temporal too)."""

from fastapi.responses import JSONResponse

from api.deps import ServicesDep
from api.routes import RouteList
from models.repositories import database_time

router = RouteList(prefix="/-")


@router.get("/liveness")
async def liveness() -> JSONResponse:
    """The process answers."""
    return JSONResponse({"status": "ok"})


@router.get("/health")
async def health(services: ServicesDep) -> JSONResponse:
    """The process answers and reaches its database; Temporal may be away.

    `installation_id` is by what whoever keeps this address sees that it still leads to the same installation.
    """
    async with services.database.read() as connection:
        await database_time.moment(connection)
    is_connected = services.temporal.connected is not None
    return JSONResponse({"status": "ok", "temporal": is_connected, "installation_id": services.mine.installation_id})


@router.get("/ready")
async def ready(services: ServicesDep) -> JSONResponse:
    """Everything that a pipeline needs is there."""
    async with services.database.read() as connection:
        await database_time.moment(connection)
    services.temporal.pipelines  # noqa: B018  # raises while Temporal is away
    return JSONResponse({"status": "ready"})
