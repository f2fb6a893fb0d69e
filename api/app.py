"""The web application of a pod: runner protocol, REST, git and pages over one set of services."""

from fastapi import FastAPI

from api import git_http, health
from api.errors import add_error_handlers
from api.pages.errors import add_page_errors
from api.pages.router import router as pages
from api.runner.router import routes as runner_protocol
from api.services import Services
from api.v4.encoded_paths import EncodedPaths
from api.v4.router import router as rest


def create_app(services: Services) -> FastAPI:
    """An application that uses these services; it opens and closes none of them."""
    app = FastAPI(title="Perdure", docs_url=None, redoc_url=None, openapi_url="/api/v4/openapi.json")
    app.router.redirect_slashes = False  # a redirect turns a runner's POST into a GET
    app.state.services = services
    add_error_handlers(app)
    add_page_errors(app)
    app.add_middleware(EncodedPaths)
    app.router.routes.extend(runner_protocol())
    app.include_router(health.router)
    app.include_router(rest)
    app.include_router(git_http.router)
    app.include_router(pages)
    return app
