"""The web application of a pod: runner protocol, REST, git and pages over one set of services."""

import asyncio
from collections.abc import Sequence
from functools import cache
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp

from api import git_http, graphql, health, identity, registry_auth
from api.addresses import ReadableAddresses
from api.call_turns import CallsInTurn
from api.errors import add_error_handlers
from api.git_errors import add_git_errors
from api.head_as_get import HeadAsGet
from api.held_organisations import HeldOrganisations
from api.hooks import calls
from api.http_metrics import HttpMetrics
from api.idempotency import IdempotentCalls
from api.openapi.document import described
from api.pages.api_document import DOCUMENT
from api.pages.frame.compression import CompressedPages
from api.pages.frame.copies import PagesOfCopy
from api.pages.frame.errors import add_page_errors, refusal_or_page
from api.pages.frame.form_tokens import FormTokens
from api.pages.router import router as pages
from api.pods.calls_of_jobs import CallsOfJobs
from api.pods.doors import router as pods
from api.pods.job_calls_elsewhere import JobCallsElsewhere
from api.rate_limits import RateLimited, Throttle
from api.refusals import LateRefusals
from api.request_ids import RequestIds
from api.routes import RouteOnDemand
from api.runner.openapi import merged
from api.runner.router import RunnerProtocol
from api.runner.router import routes as runner_routes
from api.services import Services
from api.v4.encoded_paths import EncodedPaths
from api.v4.router import router as rest


def create_app(services: Services) -> ASGIApp:
    """An application that uses these services; it opens and closes none of them."""
    answering: ASGIApp = RunnerProtocol(create_framework(services), services)
    answering = CallsOfJobs(answering, services)
    if services.leaving is not None:
        answering = HeldOrganisations(answering, services.leaving)
    return HttpMetrics(RequestIds(ReadableAddresses(LateRefusals(answering, services.refusals))), services.metrics)


def create_framework(services: Services) -> FastAPI:
    """The part of it that runners do not call, with all that is known of its routes."""
    app = FastAPI(title="Perdure", docs_url=None, redoc_url=None, openapi_url=None)
    app.router.redirect_slashes = False  # a redirect turns a runner's POST into a GET
    app.state.services = services
    _describe(app)
    add_error_handlers(app)
    add_git_errors(app)
    add_page_errors(app)
    app.add_middleware(HeadAsGet, router=app.router)
    app.add_middleware(FormTokens, url=services.settings.url)
    app.add_middleware(CompressedPages)
    app.add_middleware(IdempotentCalls, services=services)
    app.add_middleware(JobCallsElsewhere, services=services)
    app.add_middleware(EncodedPaths)
    app.add_middleware(CallsInTurn, refusal=refusal_or_page)
    app.add_middleware(RateLimited, throttle=Throttle(services.settings.rates), clock=services.clock)
    if services.mine.is_copy:
        app.add_middleware(PagesOfCopy, original=services.mine.restored_from)
    app.router.routes.extend(runner_routes())
    app.router.routes.extend(framework_routes())
    return app


def _describe(app: FastAPI) -> None:
    """Let the OpenAPI document tell all, the runner protocol too; it is made when somebody asks for it first."""

    def whole() -> dict[str, Any]:
        if app.openapi_schema is None:
            routes = [route.made for route in framework_routes()]
            told = get_openapi(title=app.title, version=app.version, routes=routes)
            app.openapi_schema = merged(described(told, routes))
        return app.openapi_schema

    async def document(_: Request) -> JSONResponse:
        """Making it takes two seconds, which FastAPI's own route would take from the event loop."""
        return JSONResponse(await asyncio.to_thread(app.openapi))

    app.openapi = whole  # type: ignore[method-assign]  # FastAPI's own way to extend it
    app.add_route(DOCUMENT, document, include_in_schema=False)


@cache
def framework_routes() -> Sequence[RouteOnDemand]:
    """What FastAPI carries out, for all applications of the process."""
    lists = (
        health.router,
        rest,
        graphql.router,
        calls.router,
        git_http.router,
        identity.router,
        registry_auth.router,
        pods,
        pages,
    )
    return tuple(RouteOnDemand(route) for routes in lists for route in routes)
