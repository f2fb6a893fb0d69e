"""Custom headers of webhooks, and variables of their addresses: set and deleted one by one."""

from typing import Annotated, Any, Final

from fastapi import Depends, Response
from pydantic import BaseModel

from api.deps import ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.hooks.hook_access import PLACES, HookAccess, hook_of, note
from api.v4.hooks.parameters import MAX_PAIRS, check_url, goes_elsewhere
from api.v4.owned_routes import mounted, of_one
from api.v4.parameters import given
from application.hooks.secrets import opened_map, sealed_map
from domain.errors import Invalid, NotFound, Unprocessable
from domain.hooks.requests import check_header, check_variable
from models.repositories.hooks import hooks

_GIVEN_AGAIN: Final = (
    "The hook would go elsewhere, and what is secret does not follow: tokens, custom headers and all url_variables are "
    "to be given again, with PUT /hooks/:hook_id."
)


class Value(BaseModel):
    """The parameter of both `PUT`."""

    value: str


ValueDep = Annotated[Value, Depends(given(Value))]


routes = RouteList()
"""The same four calls for the webhooks of one kind of owner."""


@routes.put("/{hook_id}/custom_headers/{key}", status_code=204)
async def set_header(key: str, new: ValueDep, services: ServicesDep, hook: HookAccess = Depends(of_one)) -> Response:
    """Set a custom header."""
    check_header(key, new.value)
    known = _known(services, hook, "custom_headers")
    return await _write(services, hook, "custom_headers", {**known, key: new.value})


@routes.delete("/{hook_id}/custom_headers/{key}", status_code=204)
async def delete_header(key: str, services: ServicesDep, hook: HookAccess = Depends(of_one)) -> Response:
    """Delete a custom header."""
    return await _write(services, hook, "custom_headers", _without(_known(services, hook, "custom_headers"), key))


@routes.put("/{hook_id}/url_variables/{key}", status_code=204)
async def set_variable(key: str, new: ValueDep, services: ServicesDep, hook: HookAccess = Depends(of_one)) -> Response:
    """Set a variable of the address."""
    check_variable(key, new.value)
    known = _known(services, hook, "url_variables")
    values = {**known, key: new.value}
    check_url(services, hook.row.url, values)
    row = hook.row
    is_secret = row.token or row.signing_token or row.custom_headers or known.keys() - {key}
    if is_secret and goes_elsewhere(row.url, known, values):
        raise Unprocessable(_GIVEN_AGAIN)
    return await _write(services, hook, "url_variables", values)


@routes.delete("/{hook_id}/url_variables/{key}", status_code=204)
async def delete_variable(key: str, services: ServicesDep, hook: HookAccess = Depends(of_one)) -> Response:
    """Delete a variable of the address, which must not name it any more."""
    return await _write(services, hook, "url_variables", _without(_known(services, hook, "url_variables"), key))


def _known(services: Services, hook: HookAccess, column: str) -> dict[str, str]:
    return opened_map(services, getattr(hook.row, column))


def _without(known: dict[str, str], key: str) -> dict[str, str]:
    if key not in known:
        raise NotFound("Not found")
    return {name: value for name, value in known.items() if name != key}


async def _write(services: Services, hook: HookAccess, column: str, values: dict[str, str]) -> Response:
    if len(values) > MAX_PAIRS:
        raise Invalid(f"{column} has {len(values)} entries; at most {MAX_PAIRS} are taken.")
    if column == "url_variables":
        check_url(services, hook.row.url, values)
    written: dict[str, Any] = {column: sealed_map(services, values)}
    async with services.database.write() as connection:
        await hooks.change(connection, hook.row.id, hook.owner, **written)
        await note(connection, services, hook.access, hook.row.id, "hook_changed")
    return Response(status_code=204)


router = RouteList()
for place, may in PLACES:
    router.include(mounted(routes, place, {of_one: hook_of(may)}))
