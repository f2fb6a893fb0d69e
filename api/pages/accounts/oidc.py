"""Signing in at the installation's OpenID Connect provider: away, and back again."""

from typing import Final

import structlog
from fastapi import Request
from fastapi.responses import RedirectResponse, Response

from api.deps import ServicesDep, address_of
from api.errors import status_of
from api.pages.accounts.sessions import sign_in_as
from api.pages.accounts.sign_in import inside, sign_in_page
from api.routes import RouteList
from api.services import Services
from application.accounts.provided_accounts import account_of
from auth.oidc.login_attempt import COOKIE, LIFETIME, LoginAttempt, issue_attempt, new_attempt, read_attempt
from auth.oidc.profile import profile_of
from auth.oidc.provider import CALLBACK, Provider
from domain.errors import NotFound, PerdureError, Unauthenticated
from domain.pods.credentials import cookie_name
from models.rows.accounts import UserRow

PATH: Final = "/users/auth/oidc"

router = RouteList()
log = structlog.get_logger()


def provider_of(services: Services) -> Provider:
    """The provider. Raises `NotFound` where none is set up."""
    if services.oidc is None:
        raise NotFound("Not Found")
    return services.oidc


@router.get(PATH)
async def away(services: ServicesDep, next: str = "/") -> Response:  # noqa: A002
    """Send the browser to the provider, with a cookie by which it is known when it comes back."""
    provider = provider_of(services)
    attempt = new_attempt(inside(next))
    try:
        response: Response = RedirectResponse(await provider.authorization_address(attempt), 303)
    except PerdureError as error:
        return _failed(services, error, attempt.then)
    response.set_cookie(
        _cookie_of(services),
        issue_attempt(services.key, attempt, services.clock()),
        max_age=int(LIFETIME.total_seconds()),
        path=PATH,
        httponly=True,
        samesite="lax",
        secure=services.settings.url.startswith("https:"),
    )
    response.headers["Cache-Control"] = "no-store"
    return response


@router.get(CALLBACK)
async def back(request: Request, services: ServicesDep) -> Response:
    """Begin a session for whoever signed in at the provider; what goes wrong is said on the sign-in page."""
    provider, then = provider_of(services), "/"
    try:
        attempt = read_attempt(services.key, request.cookies.get(_cookie_of(services), ""))
        then = inside(attempt.then)
        row = await _signed_in(request, services, provider, attempt)
    except PerdureError as error:
        response = _failed(services, error, then)
    else:
        response = RedirectResponse(then, 303)
        response.headers["Cache-Control"] = "no-store"
        await sign_in_as(response, services, row)
    secure = services.settings.url.startswith("https:")
    response.delete_cookie(_cookie_of(services), path=PATH, secure=secure, httponly=True, samesite="lax")
    return response


async def _signed_in(request: Request, services: Services, provider: Provider, attempt: LoginAttempt) -> UserRow:
    query = request.query_params
    attempt.require_state(query.get("state", ""))
    await provider.require_issuer(query.get("iss"))
    if "error" in query or not query.get("code"):
        raise Unauthenticated("The provider did not let you in, or you went back. Sign in again.")
    claims = await provider.claims(query["code"], attempt, services.clock())
    return await account_of(services, profile_of(services.settings.oidc, claims), address_of(request))


def _cookie_of(services: Services) -> str:
    return cookie_name(COOKIE, services.settings.url, everywhere=False)


def _failed(services: Services, error: PerdureError, then: str) -> Response:
    log.info("sign-in by provider failed", reason=str(error), cause=repr(error.__cause__) if error.__cause__ else "")
    return sign_in_page(services, status_of(error), then=then, error=str(error))
