"""Life of a runner: register, verify, new token, unregister (docs/reference/runner-protocol.md, "Registration")."""

from typing import Any

from fastapi import Request, Response
from fastapi.responses import JSONResponse

from api.runner.body import flag, json_limit, json_object, text
from api.runner.runner_access import authenticated_runner, note_contact, shown_token
from api.services import Services
from api.v4.parameters import validated
from application.runners.parameters import RunnerWishes
from application.runners.tokens import IssuedToken, add_runner, renew_token
from auth.secret_token import digest
from domain.errors import Forbidden, Invalid, NotFound
from models.notifications import RUNNERS
from models.repositories.runners import registration_tokens, runners

_GONE = (
    "410 Gone: registration tokens are switched off here (PERDURE_REGISTRATION_TOKENS); create the runner by "
    "POST /user/runners and register it with the token of the answer."
)


async def register(request: Request, services: Services) -> JSONResponse:
    """Register with the registration token of the installation, a project or an organisation.

    Answers 410 where registration tokens are switched off.
    """
    body = await _body(request, services)
    async with services.database.read() as connection:
        scope = await registration_tokens.scope_of(connection, digest(text(body, "token")))
    if scope is None:
        raise Forbidden("Forbidden: the registration token is not valid.")
    if not services.settings.registration_tokens:
        return JSONResponse({"message": _GONE}, 410)
    runner_id, issued = await add_runner(services, scope, _wishes(body).columns(), by_registration=True)
    return _registered(runner_id, issued, 201)


async def _body(request: Request, services: Services) -> dict[str, Any]:
    """The fields of a call; those of the body come before those of the query."""
    return {**request.query_params, **await json_object(request, json_limit(services.settings.sizes))}


def _wishes(body: dict[str, Any]) -> RunnerWishes:
    """What a runner asks to be. What is empty or 0 was not asked for; older ones say `active` instead of `paused`."""
    values: dict[str, Any] = {
        "description": text(body, "description"),
        "maintenance_note": text(body, "maintenance_note") or text(body, "maintainer_note"),
        "tag_list": body.get("tag_list") or [],
        "run_untagged": flag(body, "run_untagged", default=True),
        "locked": flag(body, "locked", default=False),
        "paused": flag(body, "paused", default=not flag(body, "active", default=True)),
        "access_level": text(body, "access_level") or "not_protected",
        "maximum_timeout": None if body.get("maximum_timeout") in ("", "0", 0) else body.get("maximum_timeout"),
    }
    return validated(RunnerWishes, values)


def _registered(runner_id: int, issued: IssuedToken, status: int) -> JSONResponse:
    return JSONResponse({"id": runner_id, **issued.document()}, status)


async def verify(request: Request, services: Services) -> JSONResponse:
    """Tell a runner that its token is good; it is the first sight of its process and its features."""
    body = await _body(request, services)
    runner = await authenticated_runner(services, request, body)
    await note_contact(services, request, runner.id, body, always=True)
    return _registered(runner.id, IssuedToken(shown_token(request, body), runner.token_expires_at), 200)


async def reset_token(request: Request, services: Services) -> JSONResponse:
    """A new token for the runner that shows its old one, which is good until the new one is used for the first time.

    So a server that is killed before this response has arrived leaves a runner that can ask again.
    """
    body = await _body(request, services)
    runner = await authenticated_runner(services, request, body)
    issued = await renew_token(services, runner, shown_token(request, body))
    return JSONResponse(issued.document(), 201)


async def unregister(request: Request, services: Services) -> Response:
    """Remove the runner that shows its token."""
    runner = await authenticated_runner(services, request, await _body(request, services))
    async with services.database.write() as connection:
        await runners.remove(connection, runner.id)
    await services.notifications.tell(RUNNERS)
    return Response(status_code=204)


async def unregister_manager(request: Request, services: Services) -> Response:
    """Forget one process of the runner that shows its token."""
    body = await _body(request, services)
    runner = await authenticated_runner(services, request, body)
    system_id = text(body, "system_id")
    if not system_id:
        raise Invalid("Bad request: system_id is missing")
    await services.contacts.flush()  # one that called a moment ago is forgotten for good
    async with services.database.write() as connection:
        known = await runners.remove_manager(connection, runner.id, system_id)
    if not known:
        raise NotFound("Runner manager Not Found")
    return Response(status_code=204)


async def discover_router(request: Request, services: Services) -> JSONResponse:
    """There is no job router: runners ask by HTTP."""
    await authenticated_runner(services, request, {})
    return JSONResponse({"message": "501 Not Implemented"}, 501)
