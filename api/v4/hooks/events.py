"""What webhooks were told: the log of their deliveries, sending one again, and tests."""

import base64
import zlib
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

import orjson
from fastapi import Depends
from fastapi.responses import JSONResponse
from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.access import Id
from api.v4.hooks.hook_access import PLACES, HookAccess, hook_of
from api.v4.owned_routes import mounted, of_one
from api.v4.owner_access import of_instance
from api.v4.pagination import PagingDep
from api.v4.representation.hooks import HookEventResponse
from api.v4.representation.hooks import hook_event as shown
from application.hooks.hook_tests import sample_of_owner, sample_of_system, send
from application.limits.actions import Limited
from domain.decimal_number import decimal_number
from domain.errors import Invalid
from domain.hooks.webhooks import Event, flags_of
from domain.sealed_for import HOOK_BODY
from models.repositories.hooks import hook_deliveries, hooks
from models.repositories.hooks.webhook_events import Happening
from models.repositories.paging import slice_of
from models.rows.hooks import HookDeliveryRow

_GROUPS: Final = {
    "successful": range(200, 300),
    "client_failure": range(400, 500),
    "server_failure": range(500, 600),
}
_CODES: Final = range(100, 600)
_STILL: Final = "202 Accepted: it is still on its way; the webhook's events tell what becomes of it."


class ResentResponse(TypedDict):
    """What the receiver answered when it was told again."""

    response_status: int


class HookMessageResponse(TypedDict):
    """What has become of a delivery."""

    message: str


class SampleProjectResponse(TypedDict):
    """The project that does not exist, of which a system hook is told when it is tried out."""

    event_name: str
    name: str
    path: str
    project_id: int
    owner_name: str
    owner_email: str


_STILL_OPEN: Final[dict[int | str, dict[str, Any]]] = {202: {"model": HookMessageResponse}}
"""The response where a delivery takes too long."""


routes = RouteList()
"""The same three calls for the webhooks of one kind of owner."""


@routes.get("/{hook_id}/events", response_model=list[HookEventResponse])
async def list_events(
    services: ServicesDep, paging: PagingDep, status: str = "", hook: HookAccess = Depends(of_one)
) -> JSONResponse:
    """What the webhook was told in the last days, the newest first; `status` is a code or a group of codes."""
    since = services.clock() - timedelta(seconds=services.settings.times.hook_log)
    wanted = hook_deliveries.of_hook(hook.row.id, since, _codes(status))
    async with services.database.read() as connection:
        found = await slice_of(connection, wanted, paging.number, paging.size)
    return paging.response(
        [shown(row, Event(row.kind), hook.row, _body(services, row)) for row in found.rows], found.total
    )


@routes.post(
    "/{hook_id}/events/{event_id}/resend", status_code=201, response_model=ResentResponse, responses=_STILL_OPEN
)
async def resend_event(event_id: Id, services: ServicesDep, hook: HookAccess = Depends(of_one)) -> JSONResponse:
    """Send the same again, once, under the same `Idempotency-Key`; the response is the receiver's status."""
    services.limits.note(Limited.HOOK_RESEND, hook.row.id, hook.access.caller.user_id)
    async with services.database.read() as connection:
        row = await hook_deliveries.get(connection, event_id, hook.row.id)
    sent = await send(services, hook.row.id, row.event_id, body=row.body, uuid=row.uuid)
    if sent.state == hook_deliveries.OPEN:
        return JSONResponse({"message": _STILL}, status_code=202)
    if sent.response_status is None:
        return JSONResponse({"message": sent.error}, status_code=422)
    return JSONResponse({"response_status": sent.response_status}, status_code=201)


@routes.post("/{hook_id}/test/{trigger}", status_code=201, response_model=HookMessageResponse, responses=_STILL_OPEN)
async def test_hook(  # a route, no test
    trigger: str,
    services: ServicesDep,
    hook: HookAccess = Depends(of_one),  # noqa: PT028
) -> JSONResponse:
    """Tell the webhook of the newest thing of a kind; a success switches one on again that had failed too often."""
    flags = flags_of(hooks.scope_of(hook.owner))
    if trigger not in flags:
        raise Invalid(f"trigger does not have a valid value: give one of {', '.join(flags)}.")
    _note_test(services, hook)
    happened = await _sample(services, hook, flags[trigger])
    return _tested(await send(services, hook.row.id, happened), {"message": "201 Created"})


def _codes(status: str) -> range | None:
    if not status:
        return None
    if status in _GROUPS:
        return _GROUPS[status]
    code = decimal_number(status)
    if code is not None and code in _CODES:
        return range(code, code + 1)
    raise Invalid(f"status does not have a valid value: give a code of HTTP, or one of {', '.join(_GROUPS)}.")


def _body(services: Services, row: HookDeliveryRow) -> Any:
    """What was sent; nothing before the first attempt."""
    if not row.body:
        return None
    return orjson.loads(zlib.decompress(base64.b64decode(services.sealer.open(row.body, HOOK_BODY))))


def _note_test(services: Services, hook: HookAccess) -> None:
    """Count a test. Raises `TooMany`."""
    entity = hook.access.entity
    services.limits.note(Limited.HOOK_TEST, entity.kind, entity.id, hook.access.caller.user_id)


async def _sample(services: Services, hook: HookAccess, event: Event) -> Happening:
    return await sample_of_owner(services, hook.owner, hook.access.caller.user_id, event)


def _tested(sent: HookDeliveryRow, response: Mapping[str, Any]) -> JSONResponse:
    if sent.state == hook_deliveries.DELIVERED:
        return JSONResponse(dict(response), status_code=201)
    if sent.state == hook_deliveries.OPEN:
        return JSONResponse({"message": _STILL}, status_code=202)
    reason = sent.error or f"The receiver answered {sent.response_status}: {sent.response_body}"
    return JSONResponse({"message": reason}, status_code=422)


router = RouteList()
for place, may in PLACES:
    router.include(mounted(routes, place, {of_one: hook_of(may)}))


@router.post("/hooks/{hook_id}", status_code=201, response_model=SampleProjectResponse, responses=_STILL_OPEN)
async def try_system_hook(services: ServicesDep, hook: HookAccess = Depends(hook_of(of_instance))) -> JSONResponse:
    """Tell a system hook of a project that does not exist; the response is what it was told."""
    _note_test(services, hook)
    happened = sample_of_system()
    return _tested(await send(services, hook.row.id, happened), happened.facts)
