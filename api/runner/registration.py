"""Life of a runner: register, verify, new token, unregister (reference: runner protocol, section 2)."""

import hmac
from typing import Any, Final

from fastapi import Request, Response
from fastapi.responses import JSONResponse

from api.runner.body import flag, json_object, text
from api.runner.runner_access import authenticated_runner, note_contact
from api.services import Services
from auth.secret_token import RUNNER, RUNNER_BY_REGISTRATION, digest, routable_token
from domain.errors import Forbidden, Invalid, NotFound
from models.repositories import installations, runners

_INSTANCE_TYPE: Final = 1
_MOST_TAGS: Final = 50
_SHORTEST_TIMEOUT: Final = 600


async def register(request: Request, services: Services) -> JSONResponse:
    """Register with the installation's registration token."""
    body = await json_object(request, services.settings.sizes.json_bytes)
    async with services.database.read() as connection:
        expected = await installations.registration_token_hash(connection)
    if not expected or not hmac.compare_digest(expected, digest(text(body, "token"))):
        raise Forbidden("403 Forbidden: the registration token is not valid.")
    values = _wishes(body)
    token = routable_token(RUNNER_BY_REGISTRATION, {"c": services.settings.pod_number, "o": 0, "t": _INSTANCE_TYPE})
    async with services.database.write() as connection:
        runner_id = await runners.create(connection, digest(token), services.clock(), **values)
    return _registered(runner_id, token, 201)


def _wishes(body: dict[str, Any]) -> dict[str, Any]:
    """What a runner asks to be, checked."""
    raw = body.get("tag_list") or ""
    tags = raw if isinstance(raw, list) else str(raw).split(",")
    tags = sorted({str(tag).strip() for tag in tags if str(tag).strip()})
    run_untagged = flag(body, "run_untagged", default=True)
    if not run_untagged and not tags:
        raise Invalid("400 Bad request: tags list can not be empty when runner is not allowed to pick untagged jobs")
    if len(tags) > _MOST_TAGS:
        raise Invalid(f"400 Bad request: too many tags specified, at most {_MOST_TAGS} are allowed")
    timeout = body.get("maximum_timeout") or None
    if isinstance(timeout, str) and timeout.isdecimal():
        timeout = int(timeout)
    if timeout is not None and (not isinstance(timeout, int) or timeout < _SHORTEST_TIMEOUT):
        raise Invalid("400 Bad request: maximum_timeout needs to be at least 10 minutes")
    return {
        "description": text(body, "description"),
        "maintenance_note": text(body, "maintenance_note"),
        "tags": tags,
        "run_untagged": run_untagged,
        "locked": flag(body, "locked", default=False),
        "paused": flag(body, "paused", default=False),
        "ref_protected": text(body, "access_level") == "ref_protected",
        "maximum_timeout": timeout,
    }


def _registered(runner_id: int, token: str, status: int) -> JSONResponse:
    return JSONResponse({"id": runner_id, "token": token, "token_expires_at": None}, status)


async def verify(request: Request, services: Services) -> JSONResponse:
    """Tell a runner that its token is good; it is the first sight of its features."""
    body = await json_object(request, services.settings.sizes.json_bytes)
    runner = await authenticated_runner(services, request, body)
    await note_contact(services, request, runner, body)
    return _registered(runner.id, text(body, "token") or request.headers["runner-token"], 200)


async def reset_token(request: Request, services: Services) -> JSONResponse:
    """A new token for the runner that shows its old one."""
    body = await json_object(request, services.settings.sizes.json_bytes)
    runner = await authenticated_runner(services, request, body)
    token = routable_token(RUNNER, {"c": services.settings.pod_number, "o": 0, "t": _INSTANCE_TYPE})
    async with services.database.write() as connection:
        await runners.set_token(connection, runner.id, digest(token))
    return JSONResponse({"token": token, "token_expires_at": None}, 201)


async def unregister(request: Request, services: Services) -> Response:
    """Remove the runner that shows its token."""
    runner = await authenticated_runner(services, request, await json_object(request, 65536))
    async with services.database.write() as connection:
        await runners.remove(connection, runner.id)
    return Response(status_code=204)


async def unregister_manager(request: Request, services: Services) -> Response:
    """Forget one process of the runner that shows its token."""
    body = await json_object(request, 65536)
    runner = await authenticated_runner(services, request, body)
    system_id = text(body, "system_id")
    if not system_id:
        raise Invalid("400 Bad request: system_id is missing")
    async with services.database.write() as connection:
        known = await runners.remove_manager(connection, runner.id, system_id)
    if not known:
        raise NotFound("404 Runner manager Not Found")
    return Response(status_code=204)


async def discover_router(request: Request, services: Services) -> JSONResponse:
    """There is no job router: runners ask by HTTP."""
    await authenticated_runner(services, request, {})
    return JSONResponse({"message": "501 Not Implemented"}, 501)
