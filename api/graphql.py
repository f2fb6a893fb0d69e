"""GitLab's GraphQL API is not part of Perdure: whoever asks is told so, as REST and as GraphQL clients show it."""

from typing import Final

from fastapi.responses import JSONResponse

from api.routes import RouteList
from api.v4.not_served import NO_ROUTE

router = RouteList(include_in_schema=False)

PAGE: Final = "docs/rest.md#graphql"
NO_GRAPHQL: Final = "GraphQL is not part of Perdure; use the REST API, /api/v4."


@router.get("/api/graphql")
@router.post("/api/graphql")
async def refuse_graphql() -> JSONResponse:
    """Whatever is asked."""
    document = {"message": "404 Not Found", "error": NO_GRAPHQL, "documentation": PAGE}
    return JSONResponse({**document, "errors": [{"message": NO_GRAPHQL}]}, NO_ROUTE)
