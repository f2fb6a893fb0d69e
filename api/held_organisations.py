"""Requests for organisations that are on their way to another pod: they are to come again (docs/pods.md)."""

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from api.git_errors import readable_by_git
from api.pages.frame.errors import refusal_or_page
from api.raw_target import raw_path
from application.moves.away import Leaving, refusal
from domain.pods.routing import Head


class HeldOrganisations:
    """Middleware that lets everything on but what is for an organisation that is held."""

    def __init__(self, app: ASGIApp, leaving: Leaving) -> None:
        """`app` answers all others."""
        self._app = app
        self._leaving = leaving

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 503 with `Retry-After`."""
        if scope["type"] == "http":
            away = await self._leaving.now()
            if away.directory is not None and away.is_for_them(_head_of(scope)):
                request = Request(scope)
                await readable_by_git(request, refusal_or_page(request, refusal()))(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _head_of(scope: Scope) -> Head:
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    return Head(scope["method"], raw_path(scope), headers)
